package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

var errUnplugged = status.Error(codes.Unavailable, "the plug was pulled")

// inTurn serves one script after another, each stream of a run its own.
func inTurn(scripts ...*runScript) func(runStream) error {
	var mu sync.Mutex
	return func(stream runStream) error {
		mu.Lock()
		if len(scripts) == 0 {
			mu.Unlock()
			return errUnplugged
		}
		script := scripts[0]
		scripts = scripts[1:]
		mu.Unlock()
		return script.serve(stream)
	}
}

func unplugged(*runPeer, *toolportv1.RunCall) error { return errUnplugged }

func opened(resumed bool, features ...string) *toolportv1.RunOpened {
	return &toolportv1.RunOpened{Digest: "sha256:1", Resumed: resumed, Server: &toolportv1.ServerInfo{Features: features}}
}

func TestALostRunIsOpenedAgainAndAsksForTheSameCalls(t *testing.T) {
	for name, again := range map[string]*toolportv1.RunOpened{
		"the server took the calls over":   opened(true),
		"the server has a durable journal": opened(false, "run", "journal"),
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			second := &runScript{opened: again, execute: func(p *runPeer, call *toolportv1.RunCall) error {
				if p.open.GetExpectedDigest() != "sha256:1" || p.open.GetOnDisconnect() != toolportv1.OnDisconnect_ON_DISCONNECT_CONTINUE {
					t.Errorf("opened again with %v", p.open)
				}
				mu.Lock()
				seen = append(seen, call.GetRequest().GetRequest().GetCallId())
				mu.Unlock()
				return p.succeed(call, call.GetRequest().GetRequest().GetArgumentsJson())
			}}
			count := 0
			first := &runScript{execute: func(*runPeer, *toolportv1.RunCall) error {
				if count++; count == 3 {
					return errUnplugged
				}
				return nil
			}}
			client := connect(t, &fakeServer{run: inTurn(first, &runScript{opened: again, execute: unplugged}, second)})
			run, err := client.Run(t.Context(), "run-7", toolport.WithResume(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			// A second loss comes before anything has ended.
			var running sync.WaitGroup
			for _, id := range []string{"a", "b", "c"} {
				running.Go(func() {
					call, err := run.Execute(t.Context(), toolport.Request{CallID: id, Name: "t", Arguments: map[string]string{"id": id}})
					if err != nil || call.Text() != `{"id":"`+id+`"}` {
						t.Errorf("got %+v (%v)", call, err)
					}
				})
			}
			running.Wait()
			closeRun(t, run)
			slices.Sort(seen)
			if got := strings.Join(seen, ""); got != "abc" {
				t.Errorf("asked again for %s", got)
			}
		})
	}
}

func TestACallThatNoJournalKnowsIsNotAskedAgain(t *testing.T) {
	second := &runScript{opened: opened(false, "journal-memory"), execute: func(p *runPeer, call *toolportv1.RunCall) error {
		if id := call.GetRequest().GetRequest().GetCallId(); id != "new" {
			t.Errorf("%s was asked again", id)
		}
		return p.succeed(call, "fine")
	}}
	client := connect(t, &fakeServer{run: inTurn(&runScript{execute: unplugged}, second)})
	run, err := client.Run(t.Context(), "run-7", toolport.WithResume(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer closeRun(t, run)
	_, err = run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonConnectionLost || fault.Started != toolport.StartedUnknown || !strings.Contains(err.Error(), "durable journal") {
		t.Errorf("got %v", err)
	}
	if call, err := run.Execute(t.Context(), toolport.Request{CallID: "new", Name: "t"}); err != nil || call.Text() != "fine" {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestACallCancelledWhileTheRunIsLostIsCancelledOnTheServer(t *testing.T) {
	lost := make(chan struct{})
	cancelled := make(chan uint64, 1)
	holding := make(chan struct{})
	second := &runScript{
		opened:  opened(true),
		execute: func(p *runPeer, call *toolportv1.RunCall) error { return nil },
		cancel: func(p *runPeer, tag uint64) error {
			cancelled <- tag
			return p.fault(&toolportv1.RunCall{Tag: tag}, status.New(codes.Canceled, "cancelled"))
		},
	}
	turns := inTurn(&runScript{execute: unplugged}, second)
	first := true
	client := connect(t, &fakeServer{run: func(s runStream) error {
		if !first {
			close(lost)
			<-holding
		}
		first = false
		return turns(s)
	}})
	run, err := client.Run(t.Context(), "run-7", toolport.WithResume(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := run.Execute(ctx, toolport.Request{CallID: "c", Name: "t"})
		ended <- err
	}()
	<-lost
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(holding)
	if tag := <-cancelled; tag != 1 {
		t.Errorf("tag %d was cancelled", tag)
	}
	closeRun(t, run)
}

func TestAHostFunctionOutlastsTheLossOfItsRun(t *testing.T) {
	release := make(chan struct{})
	calls := 0
	ask := func(p *runPeer, call *toolportv1.RunCall) error {
		return p.ask("q1", call.GetRequest().GetRequest().GetCallId(), "approve", "")
	}
	first := &runScript{
		execute: func(p *runPeer, call *toolportv1.RunCall) error {
			return errors.Join(ask(p, call), errUnplugged)
		},
	}
	// Its answer is lost with the second stream, and given again on the third.
	second := &runScript{opened: opened(true), execute: func(p *runPeer, call *toolportv1.RunCall) error {
		close(release)
		return ask(p, call)
	}, reply: func(*runPeer, *toolportv1.HostReply) error { return errUnplugged }}
	var asked *toolportv1.RunCall
	third := &runScript{opened: opened(true), execute: func(p *runPeer, call *toolportv1.RunCall) error {
		asked = call
		return ask(p, call)
	}, reply: func(p *runPeer, reply *toolportv1.HostReply) error {
		return p.succeed(asked, reply.GetResultJson())
	}}
	client := connect(t, &fakeServer{run: inTurn(first, second, third)})
	run, err := client.Run(t.Context(), "run-7", toolport.WithResume(time.Minute),
		toolport.WithHost("approve", func(ctx context.Context, _ json.RawMessage) (any, error) {
			calls++
			<-release
			return "yes", ctx.Err()
		}))
	if err != nil {
		t.Fatal(err)
	}
	call, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	if err != nil || call.Text() != `"yes"` {
		t.Errorf("got %+v (%v)", call, err)
	}
	closeRun(t, run)
	if calls != 1 {
		t.Errorf("the function ran %d times", calls)
	}
}

func TestARunThatCanNotBeOpenedAgainEndsItsCalls(t *testing.T) {
	t.Run("the time has run out", func(t *testing.T) {
		client := connect(t, &fakeServer{run: inTurn(&runScript{execute: unplugged})})
		run, err := client.Run(t.Context(), "run-7", toolport.WithResume(200*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		_, err = run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
		if fault := asFault(t, err); fault.Reason != toolport.ReasonConnectionLost {
			t.Errorf("got %v", err)
		}
		if run.Close() == nil {
			t.Error("it closed as if in order")
		}
	})
	t.Run("the set is another", func(t *testing.T) {
		refusal := func(runStream) error { return status.Error(codes.FailedPrecondition, "the set is another") }
		turns := inTurn(&runScript{execute: unplugged})
		first := true
		client := connect(t, &fakeServer{run: func(s runStream) error {
			if first {
				first = false
				return turns(s)
			}
			return refusal(s)
		}})
		run, err := client.Run(t.Context(), "run-7", toolport.WithResume(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		_, err = run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
		if fault := asFault(t, err); fault.Code != codes.FailedPrecondition {
			t.Errorf("got %v", err)
		}
		<-run.Done()
	})
	t.Run("its context is cancelled", func(t *testing.T) {
		client := connect(t, &fakeServer{run: inTurn(&runScript{execute: unplugged})})
		ctx, cancel := context.WithCancel(t.Context())
		run, err := client.Run(ctx, "run-7", toolport.WithResume(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err = run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-run.Done()
	})
}
