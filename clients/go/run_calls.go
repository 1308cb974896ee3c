package toolport

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// start never waits.
func (r *Run) start(ctx context.Context, request *toolportv1.ExecuteRequest) (source, error) {
	call := newRunCall(ctx, request)
	if size, limit := proto.Size(request), r.messageLimit(); size > limit {
		return nil, &Fault{
			Code: codes.ResourceExhausted, Reason: ReasonMessageTooLarge, Started: StartedNo,
			Message: fmt.Sprintf("call %q of %q has %d bytes, more than the %d that a message may have", request.GetRequest().GetCallId(), request.GetRequest().GetName(), size, limit),
		}
	}
	if ctx.Err() != nil {
		return nil, contextFault(ctx, StartedNo)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.closing {
		return nil, r.ended()
	}
	r.lastTag++
	call.tag = r.lastTag
	r.calls[call.tag] = call
	if r.link != nil {
		r.link.send(r.asking(call))
	}
	call.stop = context.AfterFunc(ctx, func() { r.leave(call) })
	return call, nil
}

// asking is the call's message, unless nobody waits for it by then.
func (r *Run) asking(call *runCall) outgoing {
	return func() *toolportv1.RunRequest {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls[call.tag] != call {
			return nil
		}
		call.isSent = true
		return call.message()
	}
}

// leave ends a call whose caller has gone. It stays in flight until the server
// says that it has ended.
func (r *Run) leave(call *runCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[call.tag] != call {
		return
	}
	if !call.isSent {
		r.remove(call)
		call.leave(contextFault(call.ctx, StartedNo))
		// Its message may wait for its turn much longer.
		call.request = nil
		return
	}
	call.isLeft = true
	if r.link != nil {
		r.link.send(cancelling(call))
	}
	call.leave(contextFault(call.ctx, StartedUnknown))
}

func cancelling(call *runCall) outgoing {
	return func() *toolportv1.RunRequest {
		return &toolportv1.RunRequest{Message: &toolportv1.RunRequest_Cancel{Cancel: &toolportv1.CancelCall{Tag: call.tag}}}
	}
}

func (r *Run) remove(call *runCall) {
	delete(r.calls, call.tag)
	r.closeIfIdle()
}

// end ends a call because of what ended the run.
func (r *Run) end(call *runCall, fault *Fault) {
	call.stop()
	started := StartedUnknown
	if !call.isSent {
		started = StartedNo
	}
	call.end(&Fault{
		Code: fault.Code, Reason: fault.Reason, Started: started, cause: fault, isFinal: true,
		Message: fmt.Sprintf("run %q ended before its call %q: %s", r.ID(), call.request.GetRequest().GetCallId(), fault.Message),
	})
}

// ended is the fault of a call on a run that is over.
func (r *Run) ended() *Fault {
	fault := &Fault{
		Code: codes.FailedPrecondition, Reason: ReasonRunEnded, Started: StartedNo,
		Message: fmt.Sprintf("run %q is no longer live", r.ID()),
	}
	if r.fault != nil {
		fault.Message += ": " + r.fault.Message
		fault.cause = r.fault
	}
	return fault
}

// messageLimit is how many bytes a message's content may have.
func (r *Run) messageLimit() int {
	const envelope = 1024
	limit := r.client.maxMessageBytes
	if server := int(r.opened.GetServer().GetMaxMessageBytes()); server > 0 {
		limit = min(limit, server)
	}
	return max(0, limit-envelope)
}

func inOrder(calls map[uint64]*runCall) []*runCall {
	return slices.SortedFunc(maps.Values(calls), func(a, b *runCall) int { return int(a.tag) - int(b.tag) })
}
