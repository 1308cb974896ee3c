package main

import (
	"fmt"
	"strings"

	"toolport.dev/toolport/gen/toolport/v1"
)

// pageBytes is how long the answer of `page` is, in bytes.
const pageBytes = 64 << 10

// second is the second number of every call; the first one counts the calls.
const second = 25

// Workload is a tool and the answers that are due.
type Workload struct {
	// Tool is its name.
	Tool string
	want func(n uint64) string
}

func findWorkload(tool string) (Workload, error) {
	switch tool {
	case "add":
		return Workload{tool, sumText}, nil
	case "page":
		padding := strings.Repeat("x", pageBytes)
		return Workload{tool, func(n uint64) string {
			head := sumText(n)
			return head + padding[len(head):]
		}}, nil
	}
	return Workload{}, fmt.Errorf("there is no tool %q; there are add and page", tool)
}

func sumText(n uint64) string {
	return fmt.Sprintf("%d and %d make %d, which is the sum of the two numbers.", n, second, n+second)
}

// Arguments is the JSON text of the n-th call's arguments.
func (w Workload) Arguments(n uint64) string {
	return fmt.Sprintf(`{"a":%d,"b":%d}`, n, second)
}

// CallID is the n-th call's id.
func (w Workload) CallID(n uint64) string {
	return fmt.Sprintf("call-%d", n)
}

// Request is the n-th call.
func (w Workload) Request(n uint64) *toolportv1.ToolRequest {
	return &toolportv1.ToolRequest{
		CallId:        w.CallID(n),
		Name:          w.Tool,
		ArgumentsJson: w.Arguments(n),
	}
}

// Answer is what a server answers to the n-th call.
func (w Workload) Answer(n uint64) *toolportv1.ToolCall {
	text := w.want(n)
	return &toolportv1.ToolCall{
		Id:            w.CallID(n),
		Name:          w.Tool,
		ArgumentsJson: w.Arguments(n),
		Result:        &text,
	}
}

// Check returns an error unless call answers the n-th one rightly.
func (w Workload) Check(n uint64, call *toolportv1.ToolCall) error {
	if call == nil {
		return fmt.Errorf("call %d was answered without a call", n)
	}
	if call.GetId() != w.CallID(n) {
		return fmt.Errorf("call %d was answered with the id %q", n, call.GetId())
	}
	if call.Error != nil {
		return fmt.Errorf("call %d was answered with the error %q", n, call.GetError())
	}
	return w.CheckText(n, call.GetResult())
}

// CheckText returns an error unless text is the n-th call's answer.
func (w Workload) CheckText(n uint64, text string) error {
	if want := w.want(n); text != want {
		return fmt.Errorf("call %d was answered with %.80q where %.80q is right", n, text, want)
	}
	return nil
}
