package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

func TestARunCarriesAThousandCallsAtOnce(t *testing.T) {
	const inFlight = 1000
	var mu sync.Mutex
	var waiting []*toolportv1.RunCall
	tags := make(map[uint64]bool)
	script := &runScript{execute: func(p *runPeer, call *toolportv1.RunCall) error {
		mu.Lock()
		defer mu.Unlock()
		if tags[call.GetTag()] || call.GetTag() == 0 {
			t.Errorf("tag %d is 0 or was used before", call.GetTag())
		}
		tags[call.GetTag()] = true
		if waiting = append(waiting, call); len(waiting) < inFlight {
			return nil
		}
		// In another order than they came.
		for i := len(waiting) - 1; i >= 0; i-- {
			if err := p.succeed(waiting[i], waiting[i].GetRequest().GetRequest().GetArgumentsJson()); err != nil {
				return err
			}
		}
		waiting = nil
		return nil
	}}
	run := openRun(t, script)
	for range 3 {
		var running sync.WaitGroup
		for i := range inFlight {
			running.Go(func() {
				call, err := run.Execute(t.Context(), toolport.Request{CallID: fmt.Sprint(i), Name: "t", Arguments: map[string]int{"i": i}})
				if want := fmt.Sprintf(`{"i":%d}`, i); err != nil || call.ID != fmt.Sprint(i) || call.Text() != want {
					t.Errorf("got %+v (%v), want %s", call, err, want)
				}
			})
		}
		running.Wait()
	}
	if run.ID() != "run-7" || run.Digest() != "sha256:1" || run.Resumed() {
		t.Errorf("got %s, %s, %t", run.ID(), run.Digest(), run.Resumed())
	}
	closeRun(t, run)
	closeRun(t, run)
	<-run.Done()
}

func TestARunIsOpenedWithItsOptions(t *testing.T) {
	opened := make(chan *toolportv1.OpenRun, 1)
	calls := make(chan *toolportv1.RunCall, 1)
	run := openRun(t, &runScript{execute: func(p *runPeer, call *toolportv1.RunCall) error {
		opened <- p.open
		calls <- call
		return p.succeed(call, "")
	}}, toolport.WithExpectedDigest("sha256:1"), toolport.WithMetadata(map[string]string{"k": "v"}), toolport.WithContinueOnDisconnect())
	defer closeRun(t, run)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := run.Execute(ctx, toolport.Request{CallID: "c", Name: "t"}, toolport.WithToolTimeout(time.Second)); err != nil {
		t.Fatal(err)
	}
	open, call := <-opened, <-calls
	if open.GetRunId() != "run-7" || open.GetExpectedDigest() != "sha256:1" || open.GetMetadata()["k"] != "v" ||
		open.GetOnDisconnect() != toolportv1.OnDisconnect_ON_DISCONNECT_CONTINUE {
		t.Errorf("opened with %v", open)
	}
	if ms := call.GetDeadlineMs(); ms == 0 || ms > 3_600_000 || call.GetRequest().GetTimeoutMs() != 1000 || call.GetRequest().GetRequest().GetRunId() != "" {
		t.Errorf("called with %v", call)
	}
}

func TestAFaultOfOneCallEndsNoOther(t *testing.T) {
	run := openRun(t, &runScript{execute: func(p *runPeer, call *toolportv1.RunCall) error {
		if call.GetRequest().GetRequest().GetName() == "good" {
			return p.succeed(call, "fine")
		}
		s, err := status.New(codes.AlreadyExists, "the id was used before").WithDetails(
			&errdetails.ErrorInfo{Domain: "toolport", Reason: "CALL_ID_REUSED", Metadata: map[string]string{"started": "no"}})
		return errors.Join(err, p.fault(call, s))
	}})
	defer closeRun(t, run)
	_, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "bad"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonCallIDReused || fault.Code != codes.AlreadyExists || fault.Started != toolport.StartedNo {
		t.Errorf("got %+v", fault)
	}
	if call, err := run.Execute(t.Context(), toolport.Request{CallID: "d", Name: "good"}); err != nil || call.Text() != "fine" {
		t.Errorf("got %+v (%v)", call, err)
	}
	if run.Err() != nil {
		t.Error(run.Err())
	}
}

func TestWhatCanNotBeSentEndsNoOtherCall(t *testing.T) {
	run := openRun(t, &runScript{
		opened: &toolportv1.RunOpened{Server: &toolportv1.ServerInfo{MaxMessageBytes: 10_000}},
		execute: func(p *runPeer, call *toolportv1.RunCall) error {
			return p.succeed(call, "fine")
		},
	})
	defer closeRun(t, run)
	_, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t", Arguments: map[string]any{"text": strings.Repeat("x", 10_000)}})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonMessageTooLarge || fault.Started != toolport.StartedNo {
		t.Errorf("got %+v", fault)
	}
	var refused *toolport.ArgumentsError
	for name, call := range map[string]func() error{
		"another run": func() error {
			_, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t", RunID: "run-8"})
			return err
		},
		"metadata": func() error {
			_, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"}, toolport.WithMetadata(map[string]string{"k": "\xff"}))
			return err
		},
		"NaN": func() error {
			_, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t", Arguments: map[string]any{"n": math.NaN()}})
			return err
		},
	} {
		if err := call(); !errors.As(err, &refused) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if call, err := run.Execute(t.Context(), toolport.Request{CallID: "d", Name: "t", RunID: "run-7"}); err != nil || call.Text() != "fine" {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestCancellingACallOfARunSendsItsTagAndEndsItAtOnce(t *testing.T) {
	cancelled := make(chan uint64, 10)
	run := openRun(t, &runScript{
		execute: func(p *runPeer, call *toolportv1.RunCall) error {
			if call.GetRequest().GetRequest().GetName() == "quick" {
				return p.succeed(call, "fine")
			}
			return p.say(call, "started")
		},
		cancel: func(p *runPeer, tag uint64) error {
			cancelled <- tag
			// Its end comes late; nobody waits for it.
			return p.fault(&toolportv1.RunCall{Tag: tag}, status.New(codes.Canceled, "cancelled"))
		},
	})
	defer closeRun(t, run)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := run.Stream(ctx, toolport.Request{CallID: "c", Name: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = stream.Result()
	if fault := asFault(t, err); fault.Reason != toolport.ReasonCancelled || fault.Started != toolport.StartedUnknown || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v", fault)
	}
	if tag := <-cancelled; tag != 1 {
		t.Errorf("tag %d was cancelled", tag)
	}

	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = run.Execute(ctx, toolport.Request{CallID: "d", Name: "slow"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonDeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %+v", fault)
	}
	<-cancelled

	_, err = run.Execute(ctx, toolport.Request{CallID: "e", Name: "slow"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonDeadlineExceeded || fault.Started != toolport.StartedNo {
		t.Errorf("got %+v for a context that was done", fault)
	}
	if call, err := run.Execute(t.Context(), toolport.Request{CallID: "f", Name: "quick"}); err != nil || call.Text() != "fine" {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestAbandonedStreamsOfARunLeaveNothingBehind(t *testing.T) {
	var inFlight atomic.Int64
	run := openRun(t, &runScript{
		execute: func(p *runPeer, call *toolportv1.RunCall) error {
			inFlight.Add(1)
			return p.say(call, "started")
		},
		cancel: func(p *runPeer, tag uint64) error {
			inFlight.Add(-1)
			return p.fault(&toolportv1.RunCall{Tag: tag}, status.New(codes.Canceled, "cancelled"))
		},
	})
	for i := range 500 {
		stream, err := run.Stream(t.Context(), toolport.Request{CallID: fmt.Sprint(i), Name: "t"})
		if err != nil {
			t.Fatal(err)
		}
		for range stream.Events() {
			break
		}
	}
	closeRun(t, run)
	if n := inFlight.Load(); n != 0 {
		t.Errorf("%d calls were left in flight", n)
	}
}

func TestASlowReaderHoldsNobodyUp(t *testing.T) {
	const events = 5000
	run := openRun(t, &runScript{execute: func(p *runPeer, call *toolportv1.RunCall) error {
		if call.GetRequest().GetRequest().GetName() == "quick" {
			return p.succeed(call, "fine")
		}
		for i := range events {
			if err := p.say(call, fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return p.succeed(call, "done")
	}})
	defer closeRun(t, run)
	slow, err := run.Stream(t.Context(), toolport.Request{CallID: "c", Name: "chatty"})
	if err != nil {
		t.Fatal(err)
	}
	// Answered after all that the other one said.
	if call, err := run.Execute(t.Context(), toolport.Request{CallID: "d", Name: "quick"}); err != nil || call.Text() != "fine" {
		t.Errorf("got %+v (%v)", call, err)
	}
	seen, skipped, last := 0, 0, ""
	for event, err := range slow.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case *toolport.Skipped:
			skipped += e.Events
		case *toolport.Output:
			seen++
			last = *e.Text
		case *toolport.ToolCall:
			if e.Text() != "done" {
				t.Errorf("got %+v", e)
			}
		}
	}
	if seen+skipped != events || skipped < events-1024 || last != fmt.Sprint(events-1) {
		t.Errorf("saw %d up to %s and skipped %d of %d", seen, last, skipped, events)
	}
}

func TestLargeEventsAreBoundedByTheirBytes(t *testing.T) {
	const events, size = 40, 1 << 20
	run := openRun(t, &runScript{execute: func(p *runPeer, call *toolportv1.RunCall) error {
		if call.GetRequest().GetRequest().GetName() == "quick" {
			return p.succeed(call, "fine")
		}
		for range events {
			if err := p.say(call, strings.Repeat("x", size)); err != nil {
				return err
			}
		}
		return p.succeed(call, "done")
	}})
	defer closeRun(t, run)
	slow, err := run.Stream(t.Context(), toolport.Request{CallID: "c", Name: "chatty"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Execute(t.Context(), toolport.Request{CallID: "d", Name: "quick"}); err != nil {
		t.Fatal(err)
	}
	event, err := slow.Recv()
	if skipped, ok := event.(*toolport.Skipped); !ok || skipped.Events < events-8 {
		t.Errorf("got %+v (%v)", event, err)
	}
	if call, err := slow.Result(); err != nil || call.Text() != "done" {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestAResultInPartsIsJoinedOnARun(t *testing.T) {
	run := openRun(t, &runScript{execute: func(p *runPeer, call *toolportv1.RunCall) error {
		for part, data := range []string{"caf\xc3", "\xa9"} {
			err := p.event(call, func(e *toolportv1.CallEvent) {
				e.Event = &toolportv1.CallEvent_Chunk{Chunk: &toolportv1.ResultChunk{Part: uint32(part), Data: []byte(data)}}
			})
			if err != nil {
				return err
			}
		}
		return p.succeed(call, "")
	}})
	defer closeRun(t, run)
	call, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"}, toolport.WithLargeResults())
	if err != nil || call.Text() != "café" {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestCloseWaitsForTheCallsInFlightAndTakesNoMore(t *testing.T) {
	asked := make(chan struct{})
	run := openRun(t, &runScript{
		execute: func(p *runPeer, call *toolportv1.RunCall) error {
			return p.ask("q1", call.GetRequest().GetRequest().GetCallId(), "approve", `{"cents":5}`)
		},
		reply: func(p *runPeer, reply *toolportv1.HostReply) error {
			call := &toolportv1.RunCall{Tag: 1, Request: &toolportv1.ExecuteRequest{Request: &toolportv1.ToolRequest{CallId: "c"}}}
			return p.succeed(call, reply.GetResultJson())
		},
	}, toolport.WithHost("approve", func(context.Context, json.RawMessage) (any, error) {
		close(asked)
		time.Sleep(50 * time.Millisecond)
		return map[string]bool{"ok": true}, nil
	}))
	answered := make(chan error, 1)
	go func() {
		call, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
		if err == nil && call.Text() != `{"ok":true}` {
			err = fmt.Errorf("got %q", call.Text())
		}
		answered <- err
	}()
	<-asked
	closed := make(chan error, 1)
	go func() { closed <- run.Close() }()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	_, err := run.Execute(t.Context(), toolport.Request{CallID: "d", Name: "t"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonRunEnded || fault.Code != codes.FailedPrecondition || fault.Started != toolport.StartedNo {
		t.Errorf("got %+v", fault)
	}
}

func TestCancellingTheRunsContextEndsAllOfIt(t *testing.T) {
	client := connect(t, &fakeServer{run: (&runScript{execute: func(p *runPeer, call *toolportv1.RunCall) error {
		return p.say(call, "started")
	}}).serve})
	ctx, cancel := context.WithCancel(t.Context())
	run, err := client.Run(ctx, "run-7")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := run.Stream(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = stream.Result()
	if fault := asFault(t, err); fault.Reason != toolport.ReasonCancelled || fault.Started != toolport.StartedUnknown || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v", fault)
	}
	<-run.Done()
	if err := run.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheLossOfARunEndsItsCallsWithAClearFault(t *testing.T) {
	run := openRun(t, &runScript{execute: func(*runPeer, *toolportv1.RunCall) error {
		return status.Error(codes.Unavailable, "the plug was pulled")
	}})
	_, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	fault := asFault(t, err)
	if fault.Reason != toolport.ReasonConnectionLost || fault.Started != toolport.StartedUnknown ||
		!strings.Contains(err.Error(), `run "run-7"`) || !strings.Contains(err.Error(), "the plug was pulled") {
		t.Errorf("got %v, started %s", err, fault.Started)
	}
	_, err = run.Execute(t.Context(), toolport.Request{CallID: "d", Name: "t"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonRunEnded || fault.Started != toolport.StartedNo || !strings.Contains(err.Error(), "the plug was pulled") {
		t.Errorf("got %v", err)
	}
	if err := run.Close(); asFault(t, err).Reason != toolport.ReasonConnectionLost || asFault(t, run.Err()) == nil {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatBreaksTheContractOfARunIsAFault(t *testing.T) {
	for name, serve := range map[string]func(runStream) error{
		"no opened": func(s runStream) error { return s.Send(&toolportv1.RunResponse{}) },
		"nothing":   func(runStream) error { return nil },
	} {
		_, err := connect(t, &fakeServer{run: serve}).Run(t.Context(), "run-7")
		if fault := asFault(t, err); fault.Reason != toolport.ReasonInternal {
			t.Errorf("%s: got %v", name, err)
		}
	}
	client := connect(t, &fakeServer{run: func(s runStream) error {
		return s.Send(&toolportv1.RunResponse{Message: &toolportv1.RunResponse_Opened{Opened: &toolportv1.RunOpened{}}})
	}})
	run, err := client.Run(t.Context(), "run-7")
	if err != nil {
		t.Fatal(err)
	}
	<-run.Done()
	if fault := asFault(t, run.Err()); fault.Reason != toolport.ReasonInternal {
		t.Errorf("got %v", fault)
	}
}
