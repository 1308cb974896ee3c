package toolport

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// An Event is what happens during a call: [*Progress], [*Output], and last,
// once, the [*ToolCall].
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

func (*Progress) event() {}
func (*Output) event()   {}
func (*ToolCall) event() {}

// A Stream gives the events of one call as they happen. Read it from one
// goroutine. It ends when the call ends, when its context is done, or with
// [Stream.Close]; do one of the three, so that the call does not linger.
type Stream struct {
	ctx     context.Context
	cancel  context.CancelFunc
	rpc     grpc.ServerStreamingClient[toolportv1.ExecuteResponse]
	logger  *slog.Logger
	request *toolportv1.ToolRequest
	chunks  strings.Builder
	parts   uint32
	call    *ToolCall
	err     error
}

// Execute runs one call to its end. An outcome, the tool's failure included,
// comes with a nil error; see [ToolCall.Failed]. Cancelling ctx aborts the
// tool.
func (c *Client) Execute(ctx context.Context, request Request, options ...CallOption) (*ToolCall, error) {
	stream, err := c.Stream(ctx, request, options...)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return stream.Result()
}

// Stream starts one call. Its events come from [Stream.Events] or
// [Stream.Recv].
func (c *Client) Stream(ctx context.Context, request Request, options ...CallOption) (*Stream, error) {
	call, err := toolRequest(request)
	if err != nil {
		return nil, err
	}
	message := &toolportv1.ExecuteRequest{Request: call}
	for _, o := range options {
		o(message)
	}
	ctx, cancel := context.WithCancel(ctx)
	rpc, err := c.service.Execute(ctx, message)
	if err != nil {
		// Nothing has been sent: without retries, an error here comes before it.
		fault := newFault(ctx, err, StartedNo)
		cancel()
		return nil, fault
	}
	return &Stream{ctx: ctx, cancel: cancel, rpc: rpc, logger: c.logger, request: call}, nil
}

// Recv waits for the next event. After the [*ToolCall] the error is [io.EOF];
// any other error is a [*Fault], and stays.
func (s *Stream) Recv() (Event, error) {
	for s.err == nil {
		message, err := s.rpc.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = brokenContract("the stream of call %q ended without its outcome", s.request.GetCallId())
			}
			return nil, s.end(err)
		}
		event, err := s.read(message)
		if err != nil {
			return nil, s.end(err)
		}
		if call, ok := event.(*ToolCall); ok {
			return s.finish(call)
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

// finish reads up to the end of the RPC, so that nothing of it is left. The
// outcome is final whatever the status says after it.
func (s *Stream) finish(call *ToolCall) (Event, error) {
	if _, err := s.rpc.Recv(); err == nil {
		return nil, s.end(brokenContract("the stream of call %q went on after its outcome", s.request.GetCallId()))
	}
	s.call = call
	s.err = io.EOF
	s.cancel()
	s.logger.DebugContext(s.ctx, "tool call ended", "tool", s.request.GetName(), "call", s.request.GetCallId(),
		"run", s.request.GetRunId(), "duration", call.Duration, "error_kind", string(call.ErrorKind))
	return call, nil
}

func (s *Stream) end(err error) error {
	fault := newFault(s.ctx, err, StartedUnknown)
	s.err = fault
	s.cancel()
	s.logger.DebugContext(s.ctx, "tool call faulted", "tool", s.request.GetName(), "call", s.request.GetCallId(),
		"run", s.request.GetRunId(), "fault", fault)
	return fault
}

// read gives nil for a message that is only a part of something.
func (s *Stream) read(message *toolportv1.ExecuteResponse) (Event, error) {
	switch e := message.GetEvent().(type) {
	case *toolportv1.ExecuteResponse_Progress:
		return &Progress{Done: e.Progress.GetDone(), Total: e.Progress.Total, Message: e.Progress.GetMessage()}, nil
	case *toolportv1.ExecuteResponse_Output:
		return readOutput(e.Output), nil
	case *toolportv1.ExecuteResponse_Chunk:
		if e.Chunk.GetPart() != s.parts {
			return nil, brokenContract("part %d of the result of call %q came where part %d was due",
				e.Chunk.GetPart(), s.request.GetCallId(), s.parts)
		}
		s.parts++
		s.chunks.Write(e.Chunk.GetData())
		return nil, nil
	case *toolportv1.ExecuteResponse_Call:
		call, err := readToolCall(e.Call)
		if err != nil {
			return nil, err
		}
		if s.parts > 0 && call.Result != nil {
			text := s.chunks.String()
			if !utf8.ValidString(text) {
				return nil, brokenContract("the joined result of call %q is not UTF-8", s.request.GetCallId())
			}
			call.Result = &text
		}
		return call, nil
	default:
		// An event of a newer contract.
		return nil, nil
	}
}

func readOutput(m *toolportv1.ToolOutput) Event {
	switch o := m.GetOutput().(type) {
	case *toolportv1.ToolOutput_Text:
		return &Output{Text: &o.Text}
	case *toolportv1.ToolOutput_Json:
		return &Output{JSON: []byte(o.Json)}
	case *toolportv1.ToolOutput_Content:
		content := readContent(o.Content)
		return &Output{Content: &content}
	default:
		return nil
	}
}

// Refuse makes the record of a call that a precondition of the kernel would not
// let run: a [ToolCall] whose Error is the reason. The name is not looked up
// and nothing is journaled. An empty reason is `refused by a tool
// precondition`.
func (c *Client) Refuse(ctx context.Context, request Request, reason string) (*ToolCall, error) {
	call, err := toolRequest(request)
	if err != nil {
		return nil, err
	}
	response, err := c.service.Refuse(ctx, &toolportv1.RefuseRequest{Request: call, Reason: reason})
	if err != nil {
		return nil, newFault(ctx, err, StartedNo)
	}
	outcome, err := readToolCall(response.GetCall())
	if err != nil {
		return nil, err
	}
	return outcome, nil
}
