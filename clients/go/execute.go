package toolport

import (
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// Execute runs one call to its end. An outcome, the tool's failure included,
// comes with a nil error; see [ToolCall.Failed]. Cancelling ctx aborts the
// tool.
func (c *Client) Execute(ctx context.Context, request Request, options ...CallOption) (*ToolCall, error) {
	return result(c.Stream(ctx, request, options...))
}

// Stream starts one call. Its events come from [Stream.Events] or
// [Stream.Recv].
func (c *Client) Stream(ctx context.Context, request Request, options ...CallOption) (*Stream, error) {
	message, err := executeRequest(request, options)
	if err != nil {
		return nil, err
	}
	call := message.GetRequest()
	return startStream(ctx, c, call, call.GetRunId(), func(ctx context.Context) (source, error) {
		rpc, err := c.service.Execute(ctx, message)
		if err != nil {
			// Nothing has been sent: without retries of the transport, an error here
			// comes before it.
			return nil, err
		}
		return &rpcSource{rpc: rpc, reader: eventReader{callID: call.GetCallId()}}, nil
	})
}

func result(stream *Stream, err error) (*ToolCall, error) {
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return stream.Result()
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
	message := &toolportv1.RefuseRequest{Request: call, Reason: reason}
	response, err := retrying(ctx, c, func() (*toolportv1.RefuseResponse, error) { return c.service.Refuse(ctx, message) })
	if err != nil {
		return nil, err
	}
	outcome, err := readToolCall(response.GetCall())
	if err != nil {
		return nil, err
	}
	return outcome, nil
}

// An rpcSource is one Execute.
type rpcSource struct {
	rpc    grpc.ServerStreamingClient[toolportv1.ExecuteResponse]
	reader eventReader
}

func (s *rpcSource) recv() (Event, error) {
	message, err := s.rpc.Recv()
	if errors.Is(err, io.EOF) {
		return nil, brokenContract("the stream of call %q ended without its outcome", s.reader.callID)
	}
	if err != nil {
		return nil, err
	}
	event, err := s.reader.read(message)
	if _, isLast := event.(*ToolCall); isLast && err == nil {
		// Read up to the end of the RPC, so that nothing of it is left. The
		// outcome is final whatever the status says after it.
		if _, err := s.rpc.Recv(); err == nil {
			return nil, brokenContract("the stream of call %q went on after its outcome", s.reader.callID)
		}
	}
	return event, err
}

// An eventReader reads the events of one call and joins a result in parts.
type eventReader struct {
	callID string
	chunks strings.Builder
	parts  uint32
}

// read gives nil for a message that is only a part of something.
func (r *eventReader) read(message *toolportv1.ExecuteResponse) (Event, error) {
	switch e := message.GetEvent().(type) {
	case *toolportv1.ExecuteResponse_Progress:
		return &Progress{Done: e.Progress.GetDone(), Total: e.Progress.Total, Message: e.Progress.GetMessage()}, nil
	case *toolportv1.ExecuteResponse_Output:
		return readOutput(e.Output), nil
	case *toolportv1.ExecuteResponse_Chunk:
		if e.Chunk.GetPart() != r.parts {
			return nil, brokenContract("part %d of the result of call %q came where part %d was due",
				e.Chunk.GetPart(), r.callID, r.parts)
		}
		r.parts++
		r.chunks.Write(e.Chunk.GetData())
		return nil, nil
	case *toolportv1.ExecuteResponse_Call:
		return r.readCall(e.Call)
	default:
		// An event of a newer contract.
		return nil, nil
	}
}

func (r *eventReader) readCall(message *toolportv1.ToolCall) (Event, error) {
	call, err := readToolCall(message)
	if err != nil {
		return nil, err
	}
	if r.parts > 0 && call.Result != nil {
		text := r.chunks.String()
		if !utf8.ValidString(text) {
			return nil, brokenContract("the joined result of call %q is not UTF-8", r.callID)
		}
		call.Result = &text
	}
	return call, nil
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
