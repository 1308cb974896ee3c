package toolport

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A link is one stream of a run. A run that is opened again has another.
type link struct {
	rpc    grpc.BidiStreamingClient[toolportv1.RunRequest, toolportv1.RunResponse]
	opened *toolportv1.RunOpened
	cancel context.CancelFunc

	mu    sync.Mutex
	queue []outgoing
	ended bool
	// ready has a token when there is something to send.
	ready  chan struct{}
	closed chan struct{}
}

// An outgoing message is made when it is its turn; nil: it is not wanted any
// more.
type outgoing func() *toolportv1.RunRequest

// openLink waits until the run is open.
func openLink(ctx context.Context, service toolportv1.ToolPortServiceClient, open *toolportv1.OpenRun) (*link, error) {
	ctx, cancel := context.WithCancel(ctx)
	l := &link{cancel: cancel, ready: make(chan struct{}, 1), closed: make(chan struct{})}
	if err := l.open(ctx, service, open); err != nil {
		cancel()
		return nil, err
	}
	go l.write(ctx)
	return l, nil
}

func (l *link) open(ctx context.Context, service toolportv1.ToolPortServiceClient, open *toolportv1.OpenRun) (err error) {
	if l.rpc, err = service.Run(ctx); err != nil {
		return err
	}
	// What went wrong while sending is what receiving says.
	err = l.rpc.Send(&toolportv1.RunRequest{Message: &toolportv1.RunRequest_Open{Open: open}})
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	message, err := l.rpc.Recv()
	if errors.Is(err, io.EOF) {
		return brokenContract("the stream of run %q ended before it was open", open.GetRunId())
	}
	if err != nil {
		return err
	}
	if l.opened = message.GetOpened(); l.opened == nil {
		return brokenContract("the stream of run %q does not begin with `opened`", open.GetRunId())
	}
	return nil
}

// send never waits.
func (l *link) send(message outgoing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, message)
	l.wake()
}

// halfClose says that nothing more will be sent.
func (l *link) halfClose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.wake()
}

// close ends the stream, and waits for what sends on it.
func (l *link) close() {
	l.cancel()
	<-l.closed
}

func (l *link) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

func (l *link) write(ctx context.Context) {
	defer close(l.closed)
	for {
		batch, ended := l.take()
		for _, next := range batch {
			message := next()
			if message == nil {
				continue
			}
			if l.rpc.Send(message) != nil {
				// Receiving says why.
				return
			}
		}
		if ended {
			_ = l.rpc.CloseSend()
			return
		}
		select {
		case <-l.ready:
		case <-ctx.Done():
			return
		}
	}
}

func (l *link) take() ([]outgoing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.queue
	l.queue = nil
	return batch, l.ended && len(batch) == 0
}
