package toolport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A Request is one call that a kernel asks for.
type Request struct {
	// RunID is the run that the call belongs to. Empty: the call stands alone,
	// and nothing keeps it from running twice when it is asked again.
	RunID string
	// CallID is the kernel's id of the call, unique in its run. Required.
	CallID string
	// Name is the exact name of a tool.
	Name string
	// Arguments is what marshals to a JSON object: a map, a struct, or nil for
	// `{}`. A [json.RawMessage] is sent byte for byte, malformed text included.
	// What can't be carried as it is, such as NaN, is an [*ArgumentsError]
	// before anything is sent.
	Arguments any
}

// An ErrorKind says why a call failed; empty on success.
type ErrorKind string

const (
	// UnknownTool: no tool bears this name.
	UnknownTool ErrorKind = "UNKNOWN_TOOL"
	// InvalidArguments: the arguments do not parse or do not satisfy the schema.
	InvalidArguments ErrorKind = "INVALID_ARGUMENTS"
	// Raised: the tool threw.
	Raised ErrorKind = "RAISED"
	// TimedOut: the tool's own time limit, or the request's, ran out.
	TimedOut ErrorKind = "TIMED_OUT"
	// Refused: a precondition of the kernel refused the call; nothing ran.
	Refused ErrorKind = "REFUSED"
	// BudgetExhausted: the run has spent the tool's calls; nothing ran.
	BudgetExhausted ErrorKind = "BUDGET_EXHAUSTED"
	// ResultUnserializable: the tool returned what has no JSON form.
	ResultUnserializable ErrorKind = "RESULT_UNSERIALIZABLE"
	// ResultTooLarge: the result is larger than the limit.
	ResultTooLarge ErrorKind = "RESULT_TOO_LARGE"
	// HostLost: the mounted server or worker that ran the call died.
	HostLost ErrorKind = "HOST_LOST"
	// Indeterminate: the call may have run; its outcome is not known.
	Indeterminate ErrorKind = "INDETERMINATE"
)

// A ToolCall is what became of one call. Exactly one of Result and Error is
// not nil, whatever its text: an empty result is a success.
type ToolCall struct {
	// ID and Name are the request's.
	ID, Name string
	// ArgumentsJSON is the text that was sent, byte for byte.
	ArgumentsJSON string
	// Result is the result as text; nil on failure.
	Result *string
	// Error is the error as text that a model can learn from; nil on success.
	Error *string
	// ErrorKind says what kind of failure; empty on success.
	ErrorKind ErrorKind
	// Duration is the wall time of the execution; 0 only where nothing ran.
	Duration time.Duration
	// Content has the parts of the result that text can't carry.
	Content []Content
	// Structured is the result as JSON where the tool returned structured data;
	// nil where it returned plain text.
	Structured json.RawMessage
	// Replayed is true where the outcome was read from the record and nothing
	// ran for this request.
	Replayed bool
	// Attempt is counted from 1; 0 where nothing started.
	Attempt int
}

// Content is one image, audio clip or file.
type Content struct {
	// MIMEType is the IANA media type, such as `image/png`.
	MIMEType string
	// Data has the bytes; nil where URI says where they are.
	Data []byte
	// URI says where the bytes can be read; empty where Data has them.
	URI string
	// Name is a file name or title for people; may be empty.
	Name string
}

// Failed reports whether the outcome is an error.
func (c *ToolCall) Failed() bool { return c.Error != nil }

// Text is what the model sees: the result, or the error.
func (c *ToolCall) Text() string {
	switch {
	case c.Error != nil:
		return *c.Error
	case c.Result != nil:
		return *c.Result
	default:
		return ""
	}
}

// Err is nil on success, and a [*ToolError] with the error's text otherwise.
func (c *ToolCall) Err() error {
	if c.Error == nil {
		return nil
	}
	return &ToolError{Tool: c.Name, CallID: c.ID, Kind: c.ErrorKind, Text: *c.Error}
}

// Decode reads the result into v, as [json.Unmarshal] does, but a number
// without a type of its own becomes a [json.Number] with every digit. Plain
// text that is no JSON can be read into a *string only. The result of a failed
// call is its [*ToolError].
func (c *ToolCall) Decode(v any) error {
	if err := c.Err(); err != nil {
		return err
	}
	if c.Structured != nil {
		return decode(string(c.Structured), v, c, "result")
	}
	if text, ok := v.(*string); ok && text != nil {
		*text = c.Text()
		return nil
	}
	return decode(c.Text(), v, c, "result")
}

// DecodeArguments reads the arguments that were sent into v, with every digit,
// as [ToolCall.Decode] does.
func (c *ToolCall) DecodeArguments(v any) error {
	text := c.ArgumentsJSON
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	return decode(text, v, c, "arguments")
}

func decode(text string, v any, c *ToolCall, what string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(v)
	if err == nil {
		if _, end := decoder.Token(); end != io.EOF {
			err = errors.New("there is more than one JSON value")
		}
	}
	if err != nil {
		return fmt.Errorf("toolport: the %s of call %q of %q can't be read into a %T: %w", what, c.ID, c.Name, v, err)
	}
	return nil
}

// A ToolError is the error of an outcome as a Go error; see [ToolCall.Err].
type ToolError struct {
	// Tool and CallID are the call's.
	Tool, CallID string
	// Kind says what kind of failure.
	Kind ErrorKind
	// Text is what the model sees.
	Text string
}

// Error is the outcome's text with the tool's name before it.
func (e *ToolError) Error() string { return fmt.Sprintf("toolport: %s: %s", e.Tool, e.Text) }

// toolRequest checks what protobuf would refuse without naming the field.
func toolRequest(r Request) (*toolportv1.ToolRequest, error) {
	fail := func(err error) error { return &ArgumentsError{CallID: r.CallID, Tool: r.Name, Err: err} }
	for _, field := range [...]struct{ name, value string }{
		{"run id", r.RunID}, {"call id", r.CallID}, {"tool name", r.Name},
	} {
		if !utf8.ValidString(field.value) {
			return nil, fail(fmt.Errorf("the %s is not UTF-8", field.name))
		}
	}
	text, err := marshalArguments(r.Arguments)
	if err != nil {
		return nil, fail(err)
	}
	return &toolportv1.ToolRequest{RunId: r.RunID, CallId: r.CallID, Name: r.Name, ArgumentsJson: text}, nil
}

func readToolCall(m *toolportv1.ToolCall) (*ToolCall, error) {
	if m == nil || (m.Result == nil) == (m.Error == nil) {
		return nil, brokenContract("the outcome of call %q has not exactly one of result and error; is this a toolport server?", m.GetId())
	}
	call := &ToolCall{
		ID:            m.GetId(),
		Name:          m.GetName(),
		ArgumentsJSON: m.GetArgumentsJson(),
		Result:        m.Result,
		Error:         m.Error,
		ErrorKind:     readEnum[ErrorKind](m.GetErrorKind(), "ERROR_KIND_"),
		Duration:      readDuration(m.GetDurationMs()),
		Replayed:      m.GetReplayed(),
		Attempt:       int(m.GetAttempt()),
	}
	if m.StructuredJson != nil {
		call.Structured = bytes.Clone([]byte(m.GetStructuredJson()))
	}
	for _, part := range m.GetContent() {
		call.Content = append(call.Content, readContent(part))
	}
	return call, nil
}

func readContent(m *toolportv1.Content) Content {
	return Content{MIMEType: m.GetMimeType(), Data: m.GetData(), URI: m.GetUri(), Name: m.GetName()}
}

// readDuration never makes 0 of a call that ran.
func readDuration(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(math.Max(1, math.Min(ms*float64(time.Millisecond), math.MaxInt64/2)))
}

// readEnum is an enum's value as the contract writes it, without the prefix;
// empty for the unspecified one, the number for one of a newer contract.
func readEnum[T ~string](value fmt.Stringer, prefix string) T {
	name := strings.TrimPrefix(value.String(), prefix)
	if name == "UNSPECIFIED" {
		return ""
	}
	return T(name)
}
