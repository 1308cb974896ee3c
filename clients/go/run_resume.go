package toolport

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// resumes is true for a loss that opening the run again may mend.
func (r *Run) resumes(fault *Fault) bool {
	return r.config.resumeFor > 0 && fault.Reason == ReasonConnectionLost && r.ctx.Err() == nil
}

// reopen opens the run again and asks for its calls again; nil once the run is
// over instead.
func (r *Run) reopen(lost *Fault) *link {
	open := proto.CloneOf(r.config.open)
	// The calls belong to the set that the run began with.
	open.ExpectedDigest = r.opened.GetDigest()
	retry := retrier{client: r.client}
	for {
		if r.isIdle() {
			r.finish(nil)
			return nil
		}
		if !retry.wait(r.ctx, r.config.resumeFor, lost) {
			if r.ctx.Err() != nil {
				lost = contextFault(r.ctx, StartedUnknown)
			}
			r.finish(lost)
			return nil
		}
		l, err := openLink(r.ctx, r.client.service, open)
		if err == nil {
			r.resume(l, lost)
			return l
		}
		lost = r.client.fault(r.ctx, err, StartedUnknown)
		if !isTransient(lost) {
			r.finish(lost)
			return nil
		}
	}
}

// resume asks for everything in flight again, on a new link.
func (r *Run) resume(l *link, lost *Fault) {
	isSame := l.opened.GetResumed()
	if !isSame {
		// Its questions have ended with the calls that asked them.
		r.host.close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.link = l
	for _, call := range inOrder(r.calls) {
		if call.isSent && !isSame && !hasDurableJournal(l.opened.GetServer()) {
			delete(r.calls, call.tag)
			r.forget(call, lost)
			continue
		}
		call.rewind()
		l.send(r.asking(call))
		if call.isLeft {
			l.send(cancelling(call))
		}
	}
	r.closeIfIdle()
}

func (r *Run) isIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing && len(r.calls) == 0
}

// forget ends a call that asking again could start a second time.
func (r *Run) forget(call *runCall, lost *Fault) {
	call.stop()
	call.end(&Fault{
		Code: codes.Unavailable, Reason: ReasonConnectionLost, Started: StartedUnknown, cause: lost, isFinal: true,
		Message: fmt.Sprintf("call %q may have run: its run %q was lost and opened again, but the server has no durable journal to ask (%s)",
			call.request.GetRequest().GetCallId(), r.ID(), lost.Message),
	})
}
