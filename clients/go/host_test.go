package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// asking has every call ask the host function that its tool is named after, and
// gives the answer as the result.
func asking(limit uint32) *runScript {
	calls := make(map[string]*toolportv1.RunCall)
	return &runScript{
		opened: &toolportv1.RunOpened{Server: &toolportv1.ServerInfo{MaxMessageBytes: limit}},
		execute: func(p *runPeer, call *toolportv1.RunCall) error {
			request := call.GetRequest().GetRequest()
			id := fmt.Sprint("q", call.GetTag())
			calls[id] = call
			return p.ask(id, request.GetCallId(), request.GetName(), request.GetArgumentsJson())
		},
		reply: func(p *runPeer, reply *toolportv1.HostReply) error {
			call := calls[reply.GetRequestId()]
			if _, failed := reply.GetReply().(*toolportv1.HostReply_Error); failed {
				return p.succeed(call, "error: "+reply.GetError())
			}
			return p.succeed(call, reply.GetResultJson())
		},
	}
}

// unspeakable is an error that has no text where it is nil.
type unspeakable struct{ text string }

func (u *unspeakable) Error() string { return u.text }

func TestAHostFunctionsAnswerReachesTheTool(t *testing.T) {
	run := openRun(t, asking(20_000),
		toolport.WithHost("echo", func(_ context.Context, payload json.RawMessage) (any, error) { return payload, nil }),
		toolport.WithHost("who", func(ctx context.Context, _ json.RawMessage) (any, error) {
			id, ok := toolport.HostCallID(ctx)
			return map[string]any{"id": id, "ok": ok}, nil
		}),
		toolport.WithHost("nothing", func(context.Context, json.RawMessage) (any, error) { return nil, nil }),
		toolport.WithHost("fail", func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("nobody is there\xff") }),
		toolport.WithHost("panic", func(context.Context, json.RawMessage) (any, error) { panic("oh") }),
		toolport.WithHost("channel", func(context.Context, json.RawMessage) (any, error) { return make(chan int), nil }),
		toolport.WithHost("exit", func(context.Context, json.RawMessage) (any, error) { runtime.Goexit(); return nil, nil }),
		toolport.WithHost("nil", func(context.Context, json.RawMessage) (any, error) {
			var err *unspeakable
			return nil, err
		}),
		toolport.WithHost("shout", func(context.Context, json.RawMessage) (any, error) {
			return nil, errors.New(strings.Repeat("é", 20_000))
		}),
		toolport.WithHost("large", func(context.Context, json.RawMessage) (any, error) { return strings.Repeat("x", 20_000), nil }),
	)
	defer closeRun(t, run)
	for name, want := range map[string]string{
		"echo":    `{"id":9107199254740993}`,
		"who":     `{"id":"call-who","ok":true}`,
		"nothing": `null`,
		"fail":    "error: nobody is there\uFFFD",
		"panic":   `error: the host function "panic" panicked: oh`,
		"channel": `no JSON form`,
		"exit":    `error: the host function "exit" ended its goroutine`,
		"nil":     `error: the host function "nil" panicked: `,
		"shout":   `é … (40000 bytes in all)`,
		"large":   `20002 bytes`,
		"ghost":   `error: the kernel has no host function named "ghost"; it has channel, echo, exit, fail, large, nil, nothing, panic, shout, who`,
	} {
		call, err := run.Execute(t.Context(), toolport.Request{
			CallID: "call-" + name, Name: name, Arguments: map[string]any{"id": int64(9107199254740993)},
		})
		if err != nil || !strings.Contains(call.Text(), want) {
			t.Errorf("%s: got %+v (%v), want %s", name, call, err, want)
		}
	}
	if _, ok := toolport.HostCallID(t.Context()); ok {
		t.Error("a context of our own has a host's call")
	}
}

func TestAHostFunctionsContextEndsWhenNobodyWaitsForTheAnswer(t *testing.T) {
	entered, left := make(chan string, 1), make(chan string, 1)
	var asked *toolportv1.RunCall
	script := &runScript{
		execute: func(p *runPeer, call *toolportv1.RunCall) error {
			request := call.GetRequest().GetRequest()
			switch request.GetName() {
			case "cancel":
				return p.send(&toolportv1.RunResponse{Message: &toolportv1.RunResponse_HostCancel{HostCancel: &toolportv1.HostCancel{RequestId: "q1"}}})
			case "end":
				return p.succeed(asked, "")
			}
			asked = call
			return p.ask(request.GetName(), request.GetCallId(), "wait", "")
		},
		reply: func(_ *runPeer, reply *toolportv1.HostReply) error {
			t.Errorf("an answer came for %s, which nobody waits for", reply.GetRequestId())
			return nil
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	run, err := connect(t, &fakeServer{run: script.serve}).Run(ctx, "run-7", toolport.WithHost("wait", func(ctx context.Context, payload json.RawMessage) (any, error) {
		if string(payload) != "null" {
			t.Errorf("the payload is %s", payload)
		}
		id, _ := toolport.HostCallID(ctx)
		entered <- id
		<-ctx.Done()
		left <- id
		return "too late", nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	start := func(callID, name string) {
		t.Helper()
		if _, err := run.Stream(t.Context(), toolport.Request{CallID: callID, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(events chan string, want string) {
		t.Helper()
		if got := <-events; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	start("a", "q1")
	expect(entered, "a")
	start("b", "cancel")
	expect(left, "a")

	start("c", "q2")
	expect(entered, "c")
	start("d", "end")
	expect(left, "c")

	start("e", "q3")
	expect(entered, "e")
	cancel()
	expect(left, "e")
	if err := run.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
