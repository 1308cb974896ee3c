package toolport

import (
	"context"
	"slices"
	"sync"
	"time"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// How much of what a call streams waits for its reader.
const (
	maxWaitingEvents = 1024
	maxWaitingBytes  = 8 << 20
)

// A runCall is one call on a run: on the one side the run's reader, which never
// waits for it, on the other the reader of its stream.
type runCall struct {
	tag     uint64
	ctx     context.Context
	request *toolportv1.ExecuteRequest
	// stop keeps the context's end from being noticed.
	stop func() bool

	// Guarded by the run's mutex.
	isSent bool
	isLeft bool

	mu      sync.Mutex
	reader  eventReader
	waiting []*toolportv1.ExecuteResponse
	bytes   int
	skipped int
	fault   *Fault
	// ready has a token when there is something to read.
	ready chan struct{}
}

func newRunCall(ctx context.Context, request *toolportv1.ExecuteRequest) *runCall {
	return &runCall{
		ctx:     ctx,
		request: request,
		ready:   make(chan struct{}, 1),
		reader:  eventReader{callID: request.GetRequest().GetCallId()},
	}
}

// message asks for the call as of now.
func (c *runCall) message() *toolportv1.RunRequest {
	call := &toolportv1.RunCall{Tag: c.tag, Request: c.request}
	if deadline, ok := c.ctx.Deadline(); ok && c.ctx.Err() == nil {
		ms := wholeMilliseconds(time.Until(deadline))
		call.DeadlineMs = &ms
	}
	return &toolportv1.RunRequest{Message: &toolportv1.RunRequest_Execute{Execute: call}}
}

// push never waits. What has become too much loses its oldest events; parts of
// the outcome stay.
func (c *runCall) push(event *toolportv1.ExecuteResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != nil {
		return
	}
	c.waiting = append(c.waiting, event)
	c.bytes += sizeOf(event)
	for len(c.waiting) > maxWaitingEvents || c.bytes > maxWaitingBytes && len(c.waiting) > 1 {
		if !isPartial(c.waiting[0]) {
			break
		}
		c.bytes -= sizeOf(c.waiting[0])
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		c.skipped++
	}
	c.wake()
}

// end gives the reader the fault after what waits.
func (c *runCall) end(fault *Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == nil {
		c.fault = fault
	}
	c.wake()
}

// leave gives the reader the fault at once.
func (c *runCall) leave(fault *Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
	c.waiting, c.bytes, c.skipped = nil, 0, 0
	c.wake()
}

func (c *runCall) wake() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// rewind forgets the parts of an outcome that did not come to its end.
func (c *runCall) rewind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(event *toolportv1.ExecuteResponse) bool { return !isPartial(event) })
	c.bytes = 0
	for _, event := range c.waiting {
		c.bytes += sizeOf(event)
	}
	c.reader = eventReader{callID: c.reader.callID}
}

func (c *runCall) recv() (Event, error) {
	for {
		if event, err, found := c.take(); found {
			return event, err
		}
		<-c.ready
	}
}

func (c *runCall) take() (event Event, err error, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.skipped > 0:
		event = &Skipped{Events: c.skipped}
		c.skipped = 0
	case len(c.waiting) > 0:
		message := c.waiting[0]
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		c.bytes -= sizeOf(message)
		event, err = c.reader.read(message)
	case c.fault != nil:
		err = c.fault
	default:
		return nil, nil, false
	}
	return event, err, true
}

// isPartial is true for what a call streams before its outcome.
func isPartial(event *toolportv1.ExecuteResponse) bool {
	return event.GetProgress() != nil || event.GetOutput() != nil
}

// sizeOf is about how many bytes an event takes.
func sizeOf(event *toolportv1.ExecuteResponse) int {
	const fixed = 64
	switch e := event.GetEvent().(type) {
	case *toolportv1.ExecuteResponse_Progress:
		return fixed + len(e.Progress.GetMessage())
	case *toolportv1.ExecuteResponse_Output:
		content := e.Output.GetContent()
		return fixed + len(e.Output.GetText()) + len(e.Output.GetJson()) + len(content.GetData()) + len(content.GetUri())
	default:
		return fixed
	}
}

// eventOf is an event of a run as one of Execute; nil for a fault, and for what
// a newer contract has.
func eventOf(e *toolportv1.CallEvent) *toolportv1.ExecuteResponse {
	switch e := e.GetEvent().(type) {
	case *toolportv1.CallEvent_Progress:
		return &toolportv1.ExecuteResponse{Event: &toolportv1.ExecuteResponse_Progress{Progress: e.Progress}}
	case *toolportv1.CallEvent_Output:
		return &toolportv1.ExecuteResponse{Event: &toolportv1.ExecuteResponse_Output{Output: e.Output}}
	case *toolportv1.CallEvent_Chunk:
		return &toolportv1.ExecuteResponse{Event: &toolportv1.ExecuteResponse_Chunk{Chunk: e.Chunk}}
	case *toolportv1.CallEvent_Call:
		return &toolportv1.ExecuteResponse{Event: &toolportv1.ExecuteResponse_Call{Call: e.Call}}
	default:
		return nil
	}
}
