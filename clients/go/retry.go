package toolport

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// Bounds of the wait before asking again; the server's own word goes before.
const (
	minRetryDelay = 50 * time.Millisecond
	maxRetryDelay = 2 * time.Second
)

// WithRetry asks again for up to this long, counted from the first failure,
// where that is safe and may help:
//
//   - what has no effect of its own (Manifest, Select, Refuse, the opening of a
//     run): while the sidecar is overloaded or can't be reached
//   - a call that did not start ([StartedNo]): the same
//   - a call with a run id that may have started: once the sidecar is there
//     again and says that its journal is durable, so that the call gets its
//     recorded outcome or is joined, and never starts twice
//
// A call with a run id that the lost connection aborted is [Indeterminate] when
// it is asked again, unless its tool is idempotent; [WithContinueOnDisconnect]
// keeps it running. A stream goes on with what is streamed from then on. The
// default is never to ask again.
func WithRetry(within time.Duration) Option {
	return option(func(c *dialConfig) error {
		if within < 0 {
			return fmt.Errorf("toolport: WithRetry(%s): the time must not be negative", within)
		}
		c.retryFor = within
		return nil
	})
}

// A retrier holds the retries of one request.
type retrier struct {
	client *Client
	until  time.Time
	delay  time.Duration
	// mayHaveStarted is true once an attempt may have.
	mayHaveStarted bool
}

// again waits, and gives nil to ask again, else the fault to end with.
// isRecorded says that the call has a run id, so that a journal may know it.
func (r *retrier) again(ctx context.Context, fault *Fault, isRecorded bool) *Fault {
	if fault.Started != StartedNo {
		r.mayHaveStarted = true
	} else if r.mayHaveStarted {
		copied := *fault
		fault, copied.Started = &copied, StartedUnknown
	}
	if r.client.retryFor <= 0 || !isTransient(fault) || r.mayHaveStarted && !isRecorded {
		return fault
	}
	if r.wait(ctx, r.client.retryFor, fault) && (!r.mayHaveStarted || r.isDurable(ctx)) {
		return nil
	}
	if ctx.Err() != nil {
		return contextFault(ctx, fault.Started)
	}
	return fault
}

// wait is false where the time has run out.
func (r *retrier) wait(ctx context.Context, within time.Duration, fault *Fault) bool {
	if r.until.IsZero() {
		r.until = time.Now().Add(within)
	}
	r.delay = min(max(2*r.delay, minRetryDelay), maxRetryDelay)
	delay := max(fault.RetryAfter, r.delay/2+rand.N(r.delay))
	if time.Now().Add(delay).After(r.until) {
		return false
	}
	r.client.logger.LogAttrs(ctx, slog.LevelInfo, "asking the sidecar again", slog.Duration("after", delay), slog.Any("fault", fault))
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// isDurable waits for the sidecar and reports whether its journal outlives it.
func (r *retrier) isDurable(ctx context.Context) bool {
	for {
		answer, err := r.client.service.Manifest(ctx, &toolportv1.ManifestRequest{Names: &toolportv1.ToolNames{}})
		if err == nil {
			return hasDurableJournal(answer.GetServer())
		}
		fault := r.client.fault(ctx, err, StartedNo)
		if !isTransient(fault) || !r.wait(ctx, r.client.retryFor, fault) {
			return false
		}
	}
}

func hasDurableJournal(server *toolportv1.ServerInfo) bool {
	return slices.Contains(server.GetFeatures(), "journal")
}

// isTransient is true for what may pass with time.
func isTransient(fault *Fault) bool {
	return !fault.isFinal && (fault.Code == codes.Unavailable || fault.Reason == ReasonOverloaded)
}

// retrying asks what has no effect of its own, and so may be asked again.
func retrying[T any](ctx context.Context, c *Client, ask func() (T, error)) (T, error) {
	retry := retrier{client: c}
	for {
		answer, err := ask()
		if err == nil {
			return answer, nil
		}
		fault := c.fault(ctx, err, StartedNo)
		if fault := retry.again(ctx, fault, false); fault != nil {
			return answer, fault
		}
	}
}
