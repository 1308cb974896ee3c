package toolport_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

func fault(code codes.Code, reason, started string, retryAfter time.Duration) error {
	s, err := status.New(code, reason).WithDetails(
		&errdetails.ErrorInfo{Domain: "toolport", Reason: reason, Metadata: map[string]string{"started": started}},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)},
	)
	if err != nil {
		return err
	}
	return s.Err()
}

func TestACallIsAskedAgainOnlyWhereThatIsSafe(t *testing.T) {
	overloaded := fault(codes.ResourceExhausted, "OVERLOADED", "no", time.Millisecond)
	for name, c := range map[string]struct {
		fails    error
		runID    string
		features []string
		asks     int
	}{
		"overloaded, not started":             {fails: overloaded, asks: 2},
		"draining, not started":               {fails: fault(codes.Unavailable, "DRAINING", "no", 0), asks: 2},
		"lost, without a run id":              {fails: errUnplugged, features: []string{"journal"}, asks: 1},
		"lost, recorded in a durable journal": {fails: errUnplugged, runID: "r", features: []string{"journal"}, asks: 2},
		"lost, recorded in memory":            {fails: errUnplugged, runID: "r", features: []string{"journal-memory"}, asks: 1},
		"the outcome is not durable yet":      {fails: fault(codes.Unavailable, "JOURNAL_UNAVAILABLE", "yes", 0), runID: "r", features: []string{"journal"}, asks: 2},
		"a fault that stays":                  {fails: fault(codes.FailedPrecondition, "DIGEST_MISMATCH", "no", 0), asks: 1},
		"a message that is too large":         {fails: fault(codes.ResourceExhausted, "MESSAGE_TOO_LARGE", "no", 0), asks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			asks := 0
			client := connect(t, &fakeServer{
				execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
					if asks++; asks == 1 {
						return c.fails
					}
					return echo(r, stream)
				},
				manifest: func(context.Context, *toolportv1.ManifestRequest) (*toolportv1.ManifestResponse, error) {
					return &toolportv1.ManifestResponse{Server: &toolportv1.ServerInfo{Features: c.features}}, nil
				},
			}, toolport.WithRetry(10*time.Second))
			_, err := client.Execute(t.Context(), toolport.Request{RunID: c.runID, CallID: "c", Name: "t"})
			if (err == nil) != (c.asks == 2) || asks != c.asks {
				t.Errorf("asked %d times (%v), want %d", asks, err, c.asks)
			}
		})
	}
}

func TestACallOfARunIsAskedAgainUnderAnotherTag(t *testing.T) {
	var tags []uint64
	client := connect(t, &fakeServer{run: (&runScript{execute: func(p *runPeer, call *toolportv1.RunCall) error {
		if tags = append(tags, call.GetTag()); len(tags) == 1 {
			return p.fault(call, status.Convert(fault(codes.ResourceExhausted, "OVERLOADED", "no", time.Millisecond)))
		}
		return p.succeed(call, "fine")
	}}).serve}, toolport.WithRetry(10*time.Second))
	run, err := client.Run(t.Context(), "run-7")
	if err != nil {
		t.Fatal(err)
	}
	defer closeRun(t, run)
	call, err := run.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	if err != nil || call.Text() != "fine" || len(tags) != 2 || tags[0] == tags[1] {
		t.Errorf("got %+v (%v) with the tags %v", call, err, tags)
	}
}

func TestNothingIsAskedAgainUnlessToldTo(t *testing.T) {
	asks := 0
	client := connect(t, &fakeServer{execute: func(*toolportv1.ExecuteRequest, executeStream) error {
		asks++
		return fault(codes.ResourceExhausted, "OVERLOADED", "no", 0)
	}})
	_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	if asFault(t, err).Reason != toolport.ReasonOverloaded || asks != 1 {
		t.Errorf("asked %d times (%v)", asks, err)
	}
}

func TestAFailedRetryDoesNotHideThatTheCallMayHaveStarted(t *testing.T) {
	client := connect(t, &fakeServer{
		execute: func(*toolportv1.ExecuteRequest, executeStream) error { return errUnplugged },
		manifest: func(context.Context, *toolportv1.ManifestRequest) (*toolportv1.ManifestResponse, error) {
			return nil, fault(codes.Unavailable, "DRAINING", "no", 0)
		},
	}, toolport.WithRetry(200*time.Millisecond))
	_, err := client.Execute(t.Context(), toolport.Request{RunID: "r", CallID: "c", Name: "t"})
	if fault := asFault(t, err); fault.Started != toolport.StartedUnknown {
		t.Errorf("got %v, started %s", err, fault.Started)
	}
}

func TestRetriesWaitForASidecarThatIsNotThereYet(t *testing.T) {
	checkGoroutines(t)
	socket := filepath.Join(t.TempDir(), "s")
	client, err := toolport.Dial("unix:"+socket, toolport.WithRetry(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	time.AfterFunc(100*time.Millisecond, func() { listenAt(t, &fakeServer{execute: echo}, socket) })
	if call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"}); err != nil || call.Failed() {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestCancellingEndsTheWaitForARetry(t *testing.T) {
	checkGoroutines(t)
	client, err := toolport.Dial("unix:"+filepath.Join(t.TempDir(), "s"), toolport.WithRetry(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = client.Manifest(ctx, toolport.ManifestRequest{})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := toolport.Dial("unix:/s", toolport.WithRetry(-1)); err == nil {
		t.Error("a negative time is taken")
	}
}
