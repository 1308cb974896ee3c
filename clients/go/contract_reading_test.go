package toolport_test

import (
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A contractReading holds what the package reads in the messages and faults of
// one RPC to what they say, so that every case tries it.
type contractReading struct {
	calls map[string]func(*toolportv1.ExecuteResponse) (toolport.Event, error)
	found []string
}

func (r *contractReading) message(message proto.Message) {
	switch m := message.(type) {
	case *toolportv1.ExecuteResponse:
		r.event("", m)
	case *toolportv1.RunResponse:
		event := m.GetEvent()
		if event == nil {
			return
		}
		if fault := event.GetFault(); fault != nil {
			r.fault(status.FromProto(fault).Err())
		} else if read := toolport.EventOf(event); read != nil {
			r.event(fmt.Sprint(event.GetTag()), read)
		}
	}
}

func (r *contractReading) event(of string, message *toolportv1.ExecuteResponse) {
	if r.calls == nil {
		r.calls = make(map[string]func(*toolportv1.ExecuteResponse) (toolport.Event, error))
	}
	if r.calls[of] == nil {
		r.calls[of] = toolport.EventsOf(of)
	}
	event, err := r.calls[of](message)
	if err != nil {
		r.found = append(r.found, fmt.Sprintf("the client can't read %v: %v", message, err))
	}
	switch e := event.(type) {
	case *toolport.Progress:
		r.same("done", e.Done, message.GetProgress().GetDone())
	case *toolport.Output:
		r.same("whether the output is text", e.Text != nil, message.GetOutput().GetContent() == nil && e.JSON == nil)
	case *toolport.ToolCall:
		delete(r.calls, of)
		said := message.GetCall()
		r.same("id", e.ID, said.GetId())
		r.same("failed", e.Failed(), said.Error != nil)
		r.same("arguments", e.ArgumentsJSON, said.GetArgumentsJson())
		r.same("replayed", e.Replayed, said.GetReplayed())
		r.same("attempt", e.Attempt, int(said.GetAttempt()))
		r.same("structured", string(e.Structured), said.GetStructuredJson())
		// A result that came in parts is joined, and the message's own is empty.
		if text := said.GetResult() + said.GetError(); text != "" {
			r.same("text", e.Text(), text)
		}
	}
}

// fault compares with what the status says, where the server gave its details.
func (r *contractReading) fault(err error) {
	if err == nil {
		return
	}
	fault := toolport.AsFault(err)
	said := status.Convert(err).Proto()
	r.same("code", int32(fault.Code), said.GetCode())
	if info := detail(said, &errdetails.ErrorInfo{}); info != nil {
		r.same("reason", fault.Reason, info.GetReason())
		r.same("started", string(fault.Started), info.GetMetadata()["started"])
		r.same("message", fault.Message, said.GetMessage())
	}
	if retry := detail(said, &errdetails.RetryInfo{}); retry != nil {
		r.same("retry after", fault.RetryAfter, retry.GetRetryDelay().AsDuration())
	}
	if found := new(toolport.Fault); !errors.As(error(fault), &found) {
		r.found = append(r.found, "the fault is not found by errors.As")
	}
}

func (r *contractReading) same(what string, read, said any) {
	if read != said {
		r.found = append(r.found, fmt.Sprintf("the client reads %s as %v, the message has %v", what, read, said))
	}
}

// detail is the detail of a status that has into's type; nil where there is none.
func detail[M proto.Message](of *spb.Status, into M) (found M) {
	for _, each := range of.GetDetails() {
		if each.MessageIs(into) && each.UnmarshalTo(into) == nil {
			return into
		}
	}
	return found
}
