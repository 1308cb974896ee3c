package toolport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/status"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A Run is a live run: any number of calls at once on one stream, with
// functions of the kernel that run-aware tools can ask for. It is safe for
// concurrent use. End it with [Run.Close], or by cancelling its context.
type Run struct {
	client *Client
	config runConfig
	ctx    context.Context
	cancel context.CancelFunc
	opened *toolportv1.RunOpened
	host   *host
	done   chan struct{}

	mu      sync.Mutex
	link    *link // nil while the run is lost, and once it is over
	calls   map[uint64]*runCall
	lastTag uint64
	closing bool
	over    bool
	fault   *Fault
}

// Run opens a live run. Its id scopes call ids, budgets and the journal; a
// request's own is left empty. ctx is the run's: cancelling it cancels every
// call.
//
// A run that another stream has open is taken over: that stream ends with
// [ReasonRunTakenOver].
func (c *Client) Run(ctx context.Context, id string, options ...RunOption) (*Run, error) {
	config := runConfig{open: &toolportv1.OpenRun{RunId: id}, functions: make(map[string]HostFunc)}
	for _, o := range options {
		o.applyRun(&config)
	}
	if err := checkTexts(config.open.GetExpectedDigest(), config.open.GetMetadata()); err != nil {
		return nil, fmt.Errorf("toolport: run %q can't be opened: %w", id, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	first, err := retrying(ctx, c, func() (*link, error) { return openLink(ctx, c.service, config.open) })
	if err != nil {
		cancel()
		return nil, err
	}
	r := &Run{
		client: c, config: config, ctx: ctx, cancel: cancel, opened: first.opened,
		done: make(chan struct{}), link: first, calls: make(map[uint64]*runCall),
	}
	r.host = &host{
		ctx: ctx, functions: config.functions, logger: c.logger, keeps: config.resumeFor > 0,
		limit: r.messageLimit, send: func(m *toolportv1.RunRequest) { r.send(m) }, asked: make(map[string]*question),
	}
	go r.serve(first)
	return r, nil
}

// ID is the run's id.
func (r *Run) ID() string { return r.config.open.GetRunId() }

// Digest names the set of tools that the run uses.
func (r *Run) Digest() string { return r.opened.GetDigest() }

// Resumed is true where opening took over calls that were still running; ask
// for them again under the same ids to join them.
func (r *Run) Resumed() bool { return r.opened.GetResumed() }

// Done is closed when the run is over, whoever ended it.
func (r *Run) Done() <-chan struct{} { return r.done }

// Err says why the run is over: nil while it is live, and after it has ended in
// order.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over || r.fault == nil {
		return nil
	}
	return r.fault
}

// Execute runs one call to its end, as [Client.Execute] does. A fault ends this
// call and no other; what ends the run ends all of them.
func (r *Run) Execute(ctx context.Context, request Request, options ...CallOption) (*ToolCall, error) {
	return result(r.Stream(ctx, request, options...))
}

// Stream starts one call, as [Client.Stream] does.
//
// A stream that is read slowly holds up no other call: what waits for its
// reader is bounded to 1,024 events and 8 MiB, beyond which the oldest are
// dropped and a [*Skipped] stands in their place. The outcome is never dropped.
func (r *Run) Stream(ctx context.Context, request Request, options ...CallOption) (*Stream, error) {
	message, err := executeRequest(request, options)
	if err == nil && request.RunID != "" && request.RunID != r.ID() {
		err = &ArgumentsError{CallID: request.CallID, Tool: request.Name, Err: fmt.Errorf("it names the run %q on the run %q; leave RunID empty", request.RunID, r.ID())}
	}
	if err != nil {
		return nil, err
	}
	return startStream(ctx, r.client, message.GetRequest(), r.ID(), func(ctx context.Context) (source, error) {
		return r.start(ctx, message)
	})
}

// Close ends the run in order: it takes no new calls, waits for those in flight
// and for the host functions, and then ends the stream. Its error is how the
// run ended, if not so. Closing again waits for the same end.
func (r *Run) Close() error {
	r.mu.Lock()
	r.closing = true
	r.closeIfIdle()
	r.mu.Unlock()
	<-r.done
	r.host.running.Wait()
	return r.Err()
}

// send drops what has no stream to go over.
func (r *Run) send(message *toolportv1.RunRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.link != nil {
		r.link.send(func() *toolportv1.RunRequest { return message })
	}
}

func (r *Run) closeIfIdle() {
	if r.closing && len(r.calls) == 0 && r.link != nil {
		r.link.halfClose()
	}
}

// serve owns the run: it reads one link after another until the run is over.
func (r *Run) serve(l *link) {
	for {
		err := r.read(l)
		l.close()
		fault := r.lose(err)
		if fault == nil || !r.resumes(fault) {
			r.finish(fault)
			return
		}
		r.client.logger.WarnContext(r.ctx, "a run is lost; opening it again", "run", r.ID(), "fault", fault)
		if l = r.reopen(fault); l == nil {
			return
		}
	}
}

// read gives what ended the link.
func (r *Run) read(l *link) error {
	for {
		message, err := l.rpc.Recv()
		if err != nil {
			return err
		}
		switch m := message.GetMessage().(type) {
		case *toolportv1.RunResponse_Event:
			r.take(m.Event)
		case *toolportv1.RunResponse_HostRequest:
			r.host.ask(m.HostRequest)
		case *toolportv1.RunResponse_HostCancel:
			r.host.cancel(m.HostCancel.GetRequestId())
		case *toolportv1.RunResponse_Opened:
			return brokenContract("run %q was opened twice on one stream", r.ID())
		}
	}
}

func (r *Run) take(event *toolportv1.CallEvent) {
	fault := event.GetFault()
	isEnd := fault != nil || event.GetCall() != nil
	r.mu.Lock()
	call := r.calls[event.GetTag()]
	if call != nil && isEnd {
		r.remove(call)
	}
	r.mu.Unlock()
	if call == nil {
		return
	}
	if fault != nil {
		call.end(newFault(call.ctx, status.FromProto(fault).Err(), StartedUnknown))
	} else if message := eventOf(event); message != nil {
		call.push(message)
	}
	if isEnd {
		call.stop()
		r.host.forget(event.GetCallId())
	}
}

// lose takes the link away, and gives the fault that ended it; nil where the
// run has ended in order.
func (r *Run) lose(err error) *Fault {
	r.mu.Lock()
	r.link = nil
	isIdle := r.closing && len(r.calls) == 0
	r.mu.Unlock()
	if isIdle {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return brokenContract("the stream of run %q ended though it was not closed", r.ID())
	}
	return r.client.fault(r.ctx, err, StartedUnknown)
}

// finish ends every call that is left.
func (r *Run) finish(fault *Fault) {
	r.mu.Lock()
	r.over = true
	r.fault = fault
	left := r.calls
	r.calls = make(map[uint64]*runCall)
	r.mu.Unlock()
	for _, call := range left {
		r.end(call, fault)
	}
	r.host.close()
	r.cancel()
	close(r.done)
}
