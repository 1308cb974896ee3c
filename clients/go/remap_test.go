package toolport_test

import (
	"reflect"
	"strings"
	"testing"

	"toolport.dev/toolport"
)

func TestRemapByOwnIDSwapsAtOnceAndLeavesOthers(t *testing.T) {
	message := map[string]any{
		"tool_calls": []map[string]any{{"id": "a"}, {"id": "b"}, {"id": nil}, {"id": "z"}},
		"content":    []any{"text", map[string]any{"type": "tool_use", "id": "b"}, map[string]any{"type": "tool_call", "id": "b"}},
	}
	got, err := toolport.RemapToolCallIDs(message, map[string]string{"a": "b", "b": "a", "c": "d"})
	want := map[string]any{
		"tool_calls": []map[string]any{{"id": "b"}, {"id": "a"}, {"id": nil}, {"id": "z"}},
		"content":    []any{"text", map[string]any{"type": "tool_use", "id": "a"}, map[string]any{"type": "tool_call", "id": "b"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	if same, err := toolport.RemapToolCallIDs(message, map[string]string{"a": "a", "q": "r"}); err != nil || !sameMap(same, message) {
		t.Errorf("got %v (%v), want the very same message", same, err)
	}
}

func TestRemapRefusesMoreBlocksOrChunksThanIDs(t *testing.T) {
	call := map[string]any{"id": "a"}
	block := map[string]any{"type": "tool_use", "id": "a"}
	for _, message := range []map[string]any{
		{"tool_calls": []any{call}, "content": []any{block, block}},
		{"tool_calls": []any{call}, "tool_call_chunks": []any{call, call}},
	} {
		_, err := toolport.RemapToolCallIDs(message, []string{"r"})
		if err == nil || !strings.Contains(err.Error(), "2") || !strings.Contains(err.Error(), "1") {
			t.Errorf("got %v, want both counts", err)
		}
	}
}

func TestRemapReadsAMessageThatHasItsCallsInBlocks(t *testing.T) {
	message := map[string]any{"role": "assistant", "content": []any{
		map[string]any{"type": "text", "text": "I look."},
		map[string]any{"type": "tool_use", "id": "toolu_1", "name": "x"},
	}}
	got, err := toolport.RemapToolCallIDs(message, []string{"r-1"})
	if err != nil || got["content"].([]any)[1].(map[string]any)["id"] != "r-1" {
		t.Errorf("got %v (%v)", got, err)
	}
	if _, err := toolport.RemapToolCallIDs(message, []string{"r-1", "r-2"}); err == nil {
		t.Error("two ids for one call are no error")
	}
}

func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
