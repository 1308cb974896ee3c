package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

func TestExecuteKeepsEveryDigitThereAndBack(t *testing.T) {
	client := connect(t, &fakeServer{execute: echo})
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo", Arguments: map[string]any{
		"id":      int64(9107199254740993),
		"max":     uint64(math.MaxUint64),
		"exact":   json.Number("1.10"),
		"huge":    huge,
		"html":    "<a & b>",
		"nested":  []any{map[string]any{"id": int64(math.MinInt64)}},
		"replace": "\ufffd",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"exact":1.10,"html":"<a & b>","huge":123456789012345678901234567890,"id":9107199254740993,` +
		`"max":18446744073709551615,"nested":[{"id":-9223372036854775808}],"replace":"` + "\ufffd" + `"}`
	if call.ArgumentsJSON != want {
		t.Errorf("sent %s, want %s", call.ArgumentsJSON, want)
	}
	var typed struct {
		ID int64 `json:"id"`
	}
	if err := call.Decode(&typed); err != nil || typed.ID != 9107199254740993 {
		t.Errorf("decoded %d (%v)", typed.ID, err)
	}
	var untyped map[string]any
	if err := call.Decode(&untyped); err != nil || untyped["max"] != json.Number("18446744073709551615") {
		t.Errorf("decoded %v (%v)", untyped["max"], err)
	}
	var sent map[string]any
	if err := call.DecodeArguments(&sent); err != nil || sent["exact"] != json.Number("1.10") {
		t.Errorf("decoded %v (%v)", sent["exact"], err)
	}
}

func TestArgumentsThatCannotBeCarriedAreAnErrorBeforeSending(t *testing.T) {
	client := connect(t, &fakeServer{execute: func(*toolportv1.ExecuteRequest, executeStream) error {
		t.Error("the call was sent")
		return nil
	}})
	type nested struct{ Names []string }
	for name, arguments := range map[string]any{
		"NaN":                   map[string]any{"x": math.NaN()},
		"infinity":              map[string]any{"x": math.Inf(1)},
		"channel":               map[string]any{"x": make(chan int)},
		"function":              map[string]any{"x": func() {}},
		"bad number":            map[string]any{"x": json.Number("0x1")},
		"list":                  []int{1},
		"text":                  "x",
		"bytes":                 []byte(`{}`),
		"not UTF-8":             map[string]any{"x": "\xff"},
		"key that is not UTF-8": map[string]any{"\xff": 1},
		"nested, not UTF-8":     &struct{ A any }{nested{[]string{"ok", "a\xc3"}}},
		"raw text, not UTF-8":   json.RawMessage("\"\xff\""),
	} {
		_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo", Arguments: arguments})
		var refused *toolport.ArgumentsError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), `"c"`) {
			t.Errorf("%s: got %v, want an ArgumentsError that names the call", name, err)
		}
	}
	if _, err := client.Execute(t.Context(), toolport.Request{CallID: "\xff", Name: "echo"}); err == nil || !strings.Contains(err.Error(), "call id") {
		t.Errorf("got %v, want an error that names the call id", err)
	}
}

func TestRawTextIsSentByteForByte(t *testing.T) {
	client := connect(t, &fakeServer{execute: echo})
	for _, text := range []string{` { "a" : 1.0e+2 } `, `{"a":`, `{"a":1,"a":2}`, `"\ufffd"`, ""} {
		call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo", Arguments: json.RawMessage(text)})
		if err != nil {
			t.Fatal(err)
		}
		if call.ArgumentsJSON != text {
			t.Errorf("sent %q, want %q", call.ArgumentsJSON, text)
		}
	}
}

func TestResultAndErrorAreToldApartByPresence(t *testing.T) {
	empty, reason := "", "ValueError: "
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		call := succeeded(r, empty)
		switch r.GetRequest().GetName() {
		case "fails":
			call.Result, call.Error, call.ErrorKind = nil, &reason, toolportv1.ErrorKind_ERROR_KIND_RAISED
		case "newer":
			call.Result, call.Error, call.ErrorKind = nil, &reason, 99
		case "neither":
			call.Result = nil
		case "both":
			call.Error = &reason
		}
		return stream.Send(outcome(call))
	}})
	call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "empty"})
	if err != nil || call.Failed() || call.Result == nil || call.Text() != "" || call.Err() != nil || call.ErrorKind != "" {
		t.Errorf("got %+v (%v), want an empty success", call, err)
	}
	call, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "fails"})
	var toolError *toolport.ToolError
	if err != nil || !call.Failed() || call.Text() != reason || call.ErrorKind != toolport.Raised {
		t.Errorf("got %+v (%v), want a failure", call, err)
	} else if !errors.As(call.Decode(&struct{}{}), &toolError) || toolError.Kind != toolport.Raised {
		t.Errorf("decoding a failure gave %v", toolError)
	}
	if call, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "newer"}); err != nil || call.ErrorKind != "99" {
		t.Errorf("got %+v (%v), want the number of the unknown kind", call, err)
	}
	for _, name := range []string{"neither", "both"} {
		_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: name})
		if fault := asFault(t, err); fault.Reason != toolport.ReasonInternal {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDecodeReadsTextAndStructuredResults(t *testing.T) {
	text := func(s string) *toolport.ToolCall { return &toolport.ToolCall{Result: &s} }
	var s string
	if err := text("plain").Decode(&s); err != nil || s != "plain" {
		t.Errorf("got %q (%v)", s, err)
	}
	var n any
	if err := text("plain").Decode(&n); err == nil {
		t.Errorf("got %v for text that is no JSON", n)
	}
	if err := text(`{} {}`).Decode(&n); err == nil {
		t.Errorf("got %v for two values", n)
	}
	if err := text("42").Decode(&n); err != nil || n != json.Number("42") {
		t.Errorf("got %v (%v)", n, err)
	}
	structured := text("a table for people")
	structured.Structured = json.RawMessage(`"the value"`)
	if err := structured.Decode(&s); err != nil || s != "the value" {
		t.Errorf("got %q (%v)", s, err)
	}
}

func TestRefuseGivesTheRecordOfACallThatDidNotRun(t *testing.T) {
	client := connect(t, &fakeServer{refuse: func(_ context.Context, r *toolportv1.RefuseRequest) (*toolportv1.RefuseResponse, error) {
		return &toolportv1.RefuseResponse{Call: &toolportv1.ToolCall{
			Id: r.GetRequest().GetCallId(), Name: r.GetRequest().GetName(), ArgumentsJson: r.GetRequest().GetArgumentsJson(),
			Error: &r.Reason, ErrorKind: toolportv1.ErrorKind_ERROR_KIND_REFUSED,
		}}, nil
	}})
	call, err := client.Refuse(t.Context(), toolport.Request{CallID: "c", Name: "t", Arguments: map[string]any{"a": 1}}, "needs approval")
	if err != nil || call.Text() != "needs approval" || call.ErrorKind != toolport.Refused || call.Duration != 0 || call.ArgumentsJSON != `{"a":1}` {
		t.Errorf("got %+v (%v)", call, err)
	}
}
