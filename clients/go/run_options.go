package toolport

import (
	"context"
	"encoding/json"
	"time"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A HostFunc answers a run-aware tool that asks the kernel for something: a
// sub-agent, human input, an approval. Its payload is JSON text, `null` where
// the tool gave none. What it returns is marshalled as JSON; its error's text
// is what the tool sees as an exception.
//
// ctx is done when nobody waits for the answer any more: the call that asked
// has ended, or the run has. [HostCallID] says which call asks. Several run at
// once. A function that panics answers with an error, and the panic is logged.
type HostFunc func(ctx context.Context, payload json.RawMessage) (any, error)

type runConfig struct {
	open      *toolportv1.OpenRun
	functions map[string]HostFunc
	resumeFor time.Duration
}

// WithHost registers a function that the run's tools can ask for by name. A
// later one of the same name replaces it.
func WithHost(name string, function HostFunc) RunOption {
	return runOption(func(c *runConfig) { c.functions[name] = function })
}

// WithResume opens the run again when its connection is lost, for up to this
// long, and asks again under the same ids for the calls that were in flight, so
// that they are joined or get their recorded outcome. It implies
// [WithContinueOnDisconnect].
//
// A call that may have started is asked again only where the server took the
// running calls over or its journal is durable; otherwise it ends as a fault
// with [ReasonConnectionLost]. A host function that was at work goes on, and
// its answer is given once. What was streamed in between is missing.
func WithResume(within time.Duration) RunOption {
	return runOption(func(c *runConfig) {
		c.resumeFor = within
		c.open.OnDisconnect = toolportv1.OnDisconnect_ON_DISCONNECT_CONTINUE
	})
}
