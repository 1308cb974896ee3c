package toolport_test

import (
	"errors"
	"io"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

type runStream = grpc.BidiStreamingServer[toolportv1.RunRequest, toolportv1.RunResponse]

// A runScript is a run's server, as far as a test needs one: what each message
// brings is up to the test.
type runScript struct {
	opened  *toolportv1.RunOpened
	execute func(*runPeer, *toolportv1.RunCall) error
	cancel  func(*runPeer, uint64) error
	reply   func(*runPeer, *toolportv1.HostReply) error
}

// A runPeer is one stream of a run on the server.
type runPeer struct {
	stream runStream
	open   *toolportv1.OpenRun
	mu     sync.Mutex
}

func (p *runPeer) send(m *toolportv1.RunResponse) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stream.Send(m)
}

func (p *runPeer) event(call *toolportv1.RunCall, set func(*toolportv1.CallEvent)) error {
	e := &toolportv1.CallEvent{Tag: call.GetTag(), CallId: call.GetRequest().GetRequest().GetCallId()}
	set(e)
	return p.send(&toolportv1.RunResponse{Message: &toolportv1.RunResponse_Event{Event: e}})
}

func (p *runPeer) succeed(call *toolportv1.RunCall, result string) error {
	return p.event(call, func(e *toolportv1.CallEvent) {
		e.Event = &toolportv1.CallEvent_Call{Call: succeeded(call.GetRequest(), result)}
	})
}

func (p *runPeer) say(call *toolportv1.RunCall, text string) error {
	return p.event(call, func(e *toolportv1.CallEvent) {
		e.Event = &toolportv1.CallEvent_Output{Output: &toolportv1.ToolOutput{Output: &toolportv1.ToolOutput_Text{Text: text}}}
	})
}

func (p *runPeer) fault(call *toolportv1.RunCall, s *status.Status) error {
	return p.event(call, func(e *toolportv1.CallEvent) { e.Event = &toolportv1.CallEvent_Fault{Fault: s.Proto()} })
}

func (p *runPeer) ask(id, callID, name, payload string) error {
	return p.send(&toolportv1.RunResponse{Message: &toolportv1.RunResponse_HostRequest{HostRequest: &toolportv1.HostRequest{
		RequestId: id, CallId: callID, Name: name, PayloadJson: payload,
	}}})
}

// serve is the RPC. It ends when the client half-closes or a function returns
// an error.
func (s *runScript) serve(stream runStream) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	p := &runPeer{stream: stream, open: first.GetOpen()}
	if p.open == nil {
		return status.Error(codes.InvalidArgument, "the first message does not open")
	}
	opened := s.opened
	if opened == nil {
		opened = &toolportv1.RunOpened{Digest: "sha256:1"}
	}
	if err := p.send(&toolportv1.RunResponse{Message: &toolportv1.RunResponse_Opened{Opened: opened}}); err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch m := message.GetMessage().(type) {
		case *toolportv1.RunRequest_Execute:
			err = s.execute(p, m.Execute)
		case *toolportv1.RunRequest_Cancel:
			if s.cancel != nil {
				err = s.cancel(p, m.Cancel.GetTag())
			}
		case *toolportv1.RunRequest_HostReply:
			err = s.reply(p, m.HostReply)
		default:
			err = status.Error(codes.InvalidArgument, "a message of no kind")
		}
		if err != nil {
			return err
		}
	}
}

// openRun opens a run on a server that follows the script.
func openRun(t testing.TB, script *runScript, options ...toolport.RunOption) *toolport.Run {
	t.Helper()
	run, err := connect(t, &fakeServer{run: script.serve}).Run(t.Context(), "run-7", options...)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func closeRun(t testing.TB, run *toolport.Run) {
	t.Helper()
	if err := run.Close(); err != nil {
		t.Error(err)
	}
}
