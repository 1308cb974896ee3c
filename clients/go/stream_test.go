package toolport_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

type executeStream = grpc.ServerStreamingServer[toolportv1.ExecuteResponse]

func TestStreamGivesEventsInOrderAndTheOutcomeLast(t *testing.T) {
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		if r.GetTimeoutMs() != 2 || r.GetExpectedDigest() != "sha256:1" || r.GetMetadata()["k"] != "v" ||
			r.GetOnDisconnect() != toolportv1.OnDisconnect_ON_DISCONNECT_CONTINUE {
			t.Errorf("the options arrived as %v", r)
		}
		for _, event := range []*toolportv1.ExecuteResponse{
			progress(1, 2, "half"),
			{Event: &toolportv1.ExecuteResponse_Output{Output: &toolportv1.ToolOutput{Output: &toolportv1.ToolOutput_Text{Text: "a"}}}},
			{Event: &toolportv1.ExecuteResponse_Output{Output: &toolportv1.ToolOutput{Output: &toolportv1.ToolOutput_Json{Json: "[1]"}}}},
			{Event: &toolportv1.ExecuteResponse_Output{Output: &toolportv1.ToolOutput{Output: &toolportv1.ToolOutput_Content{
				Content: &toolportv1.Content{MimeType: "image/png", Source: &toolportv1.Content_Data{Data: []byte{1}}},
			}}}},
			{}, // an event of a newer contract
			outcome(succeeded(r, "done")),
		} {
			if err := stream.Send(event); err != nil {
				return err
			}
		}
		return nil
	}})
	stream, err := client.Stream(t.Context(), toolport.Request{CallID: "c", Name: "t"},
		toolport.WithToolTimeout(1500*time.Microsecond), toolport.WithExpectedDigest("sha256:1"),
		toolport.WithMetadata(map[string]string{"k": "v"}), toolport.WithContinueOnDisconnect())
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for event, err := range stream.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case *toolport.Progress:
			if e.Done != 1 || *e.Total != 2 {
				t.Errorf("got %+v", e)
			}
			seen = append(seen, e.Message)
		case *toolport.Output:
			switch {
			case e.Text != nil:
				seen = append(seen, *e.Text)
			case e.JSON != nil:
				seen = append(seen, string(e.JSON))
			default:
				seen = append(seen, e.Content.MIMEType)
			}
		case *toolport.ToolCall:
			seen = append(seen, e.Text())
		}
	}
	if got := strings.Join(seen, " "); got != "half a [1] image/png done" {
		t.Errorf("got %s", got)
	}
	if call, err := stream.Result(); err != nil || call.Text() != "done" || call.Duration != 1500*time.Microsecond {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestAResultInPartsIsJoined(t *testing.T) {
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		if !r.GetAcceptChunks() {
			t.Error("the client does not take parts")
		}
		for part, data := range []string{"caf\xc3", "\xa9"} {
			if r.GetRequest().GetName() == "gap" {
				part++
			}
			chunk := &toolportv1.ResultChunk{Part: uint32(part), Data: []byte(data)}
			if err := stream.Send(&toolportv1.ExecuteResponse{Event: &toolportv1.ExecuteResponse_Chunk{Chunk: chunk}}); err != nil {
				return err
			}
		}
		return stream.Send(outcome(succeeded(r, "")))
	}})
	call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"}, toolport.WithLargeResults())
	if err != nil || call.Text() != "café" {
		t.Errorf("got %+v (%v)", call, err)
	}
	_, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "gap"}, toolport.WithLargeResults())
	if fault := asFault(t, err); fault.Reason != toolport.ReasonInternal {
		t.Errorf("got %v", err)
	}
}

func TestCancellingReachesTheToolAndIsAFault(t *testing.T) {
	aborted := make(chan struct{}, 1)
	client := connect(t, &fakeServer{execute: func(_ *toolportv1.ExecuteRequest, stream executeStream) error {
		if err := stream.Send(progress(0, 1, "")); err != nil {
			return err
		}
		<-stream.Context().Done()
		aborted <- struct{}{}
		return status.FromContextError(stream.Context().Err()).Err()
	}})
	request := toolport.Request{CallID: "c", Name: "t"}
	run := func(name string, ctx context.Context, stop func(*toolport.Stream), code codes.Code, reason string, cause error) {
		stream, err := client.Stream(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		stop(stream)
		_, err = stream.Result()
		<-aborted
		fault := asFault(t, err)
		if fault.Code != code || fault.Reason != reason || fault.Started != toolport.StartedUnknown || !errors.Is(err, cause) {
			t.Errorf("%s: got %v, started %s", name, err, fault.Started)
		}
		if _, again := stream.Recv(); again != err {
			t.Errorf("%s: the fault does not stay: %v", name, again)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	run("cancel", ctx, func(*toolport.Stream) { cancel() }, codes.Canceled, toolport.ReasonCancelled, context.Canceled)
	run("close", t.Context(), (*toolport.Stream).Close, codes.Canceled, toolport.ReasonCancelled, context.Canceled)
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	run("deadline", ctx, func(*toolport.Stream) {}, codes.DeadlineExceeded, toolport.ReasonDeadlineExceeded, context.DeadlineExceeded)
}

func TestAbandonedStreamsLeaveNothingBehind(t *testing.T) {
	var running sync.WaitGroup
	client := connect(t, &fakeServer{execute: func(_ *toolportv1.ExecuteRequest, stream executeStream) error {
		running.Add(1)
		defer running.Done()
		if err := stream.Send(progress(0, 1, "")); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}})
	for range 500 {
		stream, err := client.Stream(t.Context(), toolport.Request{CallID: "c", Name: "t"})
		if err != nil {
			t.Fatal(err)
		}
		for range stream.Events() {
			break
		}
	}
	running.Wait()
}

func TestAFaultCarriesReasonStartedAndRetryAfter(t *testing.T) {
	calls := 0
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, _ executeStream) error {
		calls++
		if r.GetRequest().GetName() == "bare" {
			return status.Error(codes.Unavailable, "gone")
		}
		s, err := status.New(codes.ResourceExhausted, "the queue is full").WithDetails(
			&errdetails.ErrorInfo{Domain: "toolport", Reason: "OVERLOADED", Metadata: map[string]string{"started": "no"}},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)},
		)
		if err != nil {
			return err
		}
		return s.Err()
	}})
	_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	fault := asFault(t, err)
	if fault.Code != codes.ResourceExhausted || fault.Reason != toolport.ReasonOverloaded ||
		fault.Started != toolport.StartedNo || fault.RetryAfter != 1500*time.Millisecond {
		t.Errorf("got %+v", fault)
	}
	if want := "toolport: OVERLOADED (ResourceExhausted): the queue is full"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("grpc reads it as %s", status.Code(err))
	}
	_, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "bare"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonConnectionLost || fault.Started != toolport.StartedUnknown {
		t.Errorf("got %+v", fault)
	}
	if calls != 2 {
		t.Errorf("the server saw %d calls where 2 were made", calls)
	}
	if got := toolport.AsFault(status.Error(codes.Unavailable, "gone")); got.Reason != toolport.ReasonConnectionLost {
		t.Errorf("AsFault gave %+v", got)
	}
	if got := toolport.AsFault(nil); got != nil {
		t.Errorf("AsFault(nil) = %v", got)
	}
}

func TestAStreamThatEndsWithoutAnOutcomeIsAFault(t *testing.T) {
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		if r.GetRequest().GetName() == "twice" {
			return errors.Join(stream.Send(outcome(succeeded(r, ""))), stream.Send(outcome(succeeded(r, ""))))
		}
		return nil
	}})
	for _, name := range []string{"never", "twice"} {
		_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: name})
		if fault := asFault(t, err); fault.Reason != toolport.ReasonInternal || fault.Started != toolport.StartedUnknown {
			t.Errorf("%s: got %+v", name, fault)
		}
	}
}
