package toolport

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A CallOption configures one Execute or Stream.
type CallOption interface {
	applyCall(*toolportv1.ExecuteRequest)
}

// A RunOption configures [Client.Run].
type RunOption interface {
	applyRun(*runConfig)
}

// A CallOrRunOption configures one call, or all that a [Run] makes.
type CallOrRunOption interface {
	CallOption
	RunOption
}

type callOption func(*toolportv1.ExecuteRequest)

func (o callOption) applyCall(r *toolportv1.ExecuteRequest) { o(r) }

type runOption func(*runConfig)

func (o runOption) applyRun(c *runConfig) { o(c) }

type callOrRunOption struct {
	callOption
	runOption
}

// WithToolTimeout bounds how long the tool may run from its start, to the
// millisecond; the tool's own limit holds where it is shorter. When it runs out
// the outcome is [TimedOut]. It is not the deadline of the context: when that
// passes the call is a [*Fault].
func WithToolTimeout(timeout time.Duration) CallOption {
	ms := wholeMilliseconds(timeout)
	return callOption(func(r *toolportv1.ExecuteRequest) { r.TimeoutMs = &ms })
}

// WithExpectedDigest runs the call, or opens the run, only if this is the
// digest of the set that is served; otherwise there is a [*Fault] with
// [ReasonDigestMismatch].
func WithExpectedDigest(digest string) CallOrRunOption {
	return callOrRunOption{
		func(r *toolportv1.ExecuteRequest) { r.ExpectedDigest = digest },
		func(c *runConfig) { c.open.ExpectedDigest = digest },
	}
}

// WithMetadata reaches the tool's context. A `traceparent` is honoured. On a
// run it reaches every call; a call's own entries win.
func WithMetadata(metadata map[string]string) CallOrRunOption {
	return callOrRunOption{
		func(r *toolportv1.ExecuteRequest) { r.Metadata = metadata },
		func(c *runConfig) { c.open.Metadata = metadata },
	}
}

// WithContinueOnDisconnect lets the tool go on for the server's grace when the
// connection is lost, so that asking the same call again joins it. It needs a
// run id and a journal. A cancelled context always aborts. On a run it holds
// for all its calls, whatever they say themselves; see [WithResume] too.
func WithContinueOnDisconnect() CallOrRunOption {
	return callOrRunOption{
		func(r *toolportv1.ExecuteRequest) {
			r.OnDisconnect = toolportv1.OnDisconnect_ON_DISCONNECT_CONTINUE
		},
		func(c *runConfig) { c.open.OnDisconnect = toolportv1.OnDisconnect_ON_DISCONNECT_CONTINUE },
	}
}

// WithLargeResults takes a result over the message limit in parts, which the
// client joins. Without it such a result is [ResultTooLarge].
func WithLargeResults() CallOption {
	return callOption(func(r *toolportv1.ExecuteRequest) { r.AcceptChunks = true })
}

func wholeMilliseconds(d time.Duration) uint32 {
	return uint32(min(max(0, math.Ceil(float64(d)/float64(time.Millisecond))), math.MaxUint32))
}

// executeRequest checks what protobuf would refuse without naming the field.
func executeRequest(request Request, options []CallOption) (*toolportv1.ExecuteRequest, error) {
	call, err := toolRequest(request)
	if err != nil {
		return nil, err
	}
	message := &toolportv1.ExecuteRequest{Request: call}
	for _, o := range options {
		o.applyCall(message)
	}
	if err := checkTexts(message.GetExpectedDigest(), message.GetMetadata()); err != nil {
		return nil, &ArgumentsError{CallID: request.CallID, Tool: request.Name, Err: err}
	}
	return message, nil
}

func checkTexts(digest string, metadata map[string]string) error {
	if !utf8.ValidString(digest) {
		return fmt.Errorf("the expected digest is not UTF-8")
	}
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("the metadata entry %q is not UTF-8", key)
		}
	}
	return nil
}
