package toolport

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// An Event is what happens during a call: [*Progress], [*Output], [*Skipped],
// and last, once, the [*ToolCall].
type Event interface{ event() }

// Progress says how far a tool has come.
type Progress struct {
	// Done is how much is done, in the tool's own unit.
	Done float64
	// Total is of how much, in the same unit; nil where it is not known.
	Total *float64
	// Message is a line for people; may be empty.
	Message string
}

// Output is partial output of a tool, in order. Exactly one field is not nil.
type Output struct {
	// Text is text, as the tool wrote it.
	Text *string
	// JSON is any other value, as JSON text.
	JSON []byte
	// Content is bytes.
	Content *Content
}

// Skipped says that events are missing here, because a stream of a [Run] was
// read too slowly; see [Run.Stream].
type Skipped struct {
	// Events is how many.
	Events int
}

func (*Progress) event() {}
func (*Output) event()   {}
func (*Skipped) event()  {}
func (*ToolCall) event() {}

// A source gives the events of one attempt at a call.
type source interface {
	// recv waits for the next event; nil is a part of one. After the outcome it
	// is not asked again.
	recv() (Event, error)
}

// A Stream gives the events of one call as they happen. Read it from one
// goroutine. It ends when the call ends, when its context is done, or with
// [Stream.Close]; do one of the three, so that the call does not linger.
type Stream struct {
	ctx     context.Context
	cancel  context.CancelFunc
	client  *Client
	request *toolportv1.ToolRequest
	runID   string
	open    func(context.Context) (source, error)
	retry   retrier
	source  source
	call    *ToolCall
	err     error
}

// startStream asks for the call. The errors of open are faults.
func startStream(ctx context.Context, client *Client, request *toolportv1.ToolRequest, runID string,
	open func(context.Context) (source, error),
) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Stream{
		ctx: ctx, cancel: cancel, client: client, request: request, runID: runID,
		open: open, retry: retrier{client: client},
	}
	if err := s.connect(); err != nil {
		return nil, s.end(err)
	}
	return s, nil
}

// connect asks until somebody has heard it.
func (s *Stream) connect() error {
	for {
		source, err := s.open(s.ctx)
		if err == nil {
			s.source = source
			return nil
		}
		fault := s.client.fault(s.ctx, err, StartedNo)
		if fault := s.retry.again(s.ctx, fault, s.runID != ""); fault != nil {
			return fault
		}
	}
}

// Recv waits for the next event. After the [*ToolCall] the error is [io.EOF];
// any other error is a [*Fault], and stays.
func (s *Stream) Recv() (Event, error) {
	for s.err == nil {
		event, err := s.source.recv()
		if err != nil {
			fault := s.client.fault(s.ctx, err, StartedUnknown)
			if fault := s.retry.again(s.ctx, fault, s.runID != ""); fault != nil {
				return nil, s.end(fault)
			}
			if err := s.connect(); err != nil {
				return nil, s.end(err)
			}
			continue
		}
		if call, ok := event.(*ToolCall); ok {
			s.finish(call)
		}
		if event != nil {
			return event, nil
		}
	}
	return nil, s.err
}

// Events gives every event, the [*ToolCall] last; a fault comes as the last
// pair's error. Leaving the loop early closes the stream, which aborts the
// tool.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer s.Close()
		for {
			event, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Result reads what is left of the stream and gives the outcome. It may be
// called again, and after [Stream.Events].
func (s *Stream) Result() (*ToolCall, error) {
	for {
		_, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.call, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Close ends the call if it is still running: the tool is aborted, and reading
// gives a fault with [ReasonCancelled]. It does not wait. Closing again does
// nothing.
func (s *Stream) Close() { s.cancel() }

func (s *Stream) finish(call *ToolCall) {
	s.call = call
	s.err = io.EOF
	s.cancel()
	s.log("tool call ended", slog.Duration("duration", call.Duration), slog.String("error_kind", string(call.ErrorKind)))
}

func (s *Stream) end(err error) error {
	s.err = err
	s.cancel()
	s.log("tool call faulted", slog.Any("fault", err))
	return err
}

func (s *Stream) log(message string, attrs ...slog.Attr) {
	if !s.client.logger.Enabled(s.ctx, slog.LevelDebug) {
		return
	}
	s.client.logger.LogAttrs(s.ctx, slog.LevelDebug, message, append([]slog.Attr{
		slog.String("tool", s.request.GetName()), slog.String("call", s.request.GetCallId()), slog.String("run", s.runID),
	}, attrs...)...)
}
