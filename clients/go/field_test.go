package toolport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

const awkward = "échec – 失敗 100%\nligne 2"

var fieldTools = filepath.Join("..", "testdata", "field.ts")

// TestField shows that what systems like this one have failed their users with
// does not happen to this client. A test's name begins with the id of its case
// in test/conformance/cases/field.jsonl.
func TestField(t *testing.T) {
	sidecar := spawnOn(t, fieldTools)
	for name, test := range map[string]func(*testing.T, *toolport.Client){
		"B23 a text of digits stays a text":                               fieldDigits,
		"B61 an id is the same call only within its run":                  fieldIDsOfRuns,
		"B62 an id of any characters comes back with its call":            fieldForeignIDs,
		"B69 no tool, no opinion and no known tool are three answers":     fieldPalettes,
		"B70 without a palette all tools flow on":                         fieldNoPalette,
		"B72 a choice is forced only where it can be met":                 fieldForced,
		"B73 a forced choice is of its own request alone":                 fieldForcedOnce,
		"B74 none and nothing said differ":                                fieldPresence,
		"B75 large results and arguments pass":                            fieldLarge,
		"B76 one that pings while nothing happens is not thrown off":      fieldPings,
		"B78 an error's text arrives as it was written":                   fieldErrorText,
		"B91 a call that nobody waits for any more leaves no tool behind": fieldLeft,
	} {
		t.Run(name, func(t *testing.T) { test(t, sidecar.Client) })
	}
}

func execute(t *testing.T, client *toolport.Client, name string, arguments any, options ...toolport.CallOption) *toolport.ToolCall {
	t.Helper()
	call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: name, Arguments: arguments}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func fieldDigits(t *testing.T, client *toolport.Client) {
	for _, tool := range []string{"orderByFunction", "order_by_zod", "order_by_schema", "order_by_langchain"} {
		for _, code := range []string{"00731", "1e5"} {
			call := execute(t, client, tool, map[string]any{"code": code})
			if want := fmt.Sprintf(`{"code":%q}`, code); call.Text() != want || call.ArgumentsJSON != want {
				t.Errorf("%s: got %s of %s, want %s", tool, call.Text(), call.ArgumentsJSON, want)
			}
		}
	}
}

func fieldIDsOfRuns(t *testing.T, client *toolport.Client) {
	var sums []int
	for _, runID := range []string{"", "", "b61", "b61"} {
		call, err := client.Execute(t.Context(), toolport.Request{RunID: runID, CallID: "call_0", Name: "add"})
		if err != nil {
			t.Fatal(err)
		}
		var sum int
		if err := call.Decode(&sum); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	if sums[1] != sums[0]+1 || sums[2] != sums[1]+1 || sums[3] != sums[2] {
		t.Errorf("got %v", sums)
	}
	for _, other := range []toolport.Request{
		{Name: "add", Arguments: map[string]any{"note": "another"}}, {Name: "make"},
	} {
		other.RunID, other.CallID = "b61", "call_0"
		_, err := client.Execute(t.Context(), other)
		if fault := asFault(t, err); fault.Reason != toolport.ReasonCallIDReused {
			t.Errorf("%s: got %v", other.Name, fault)
		}
	}
}

var foreignIDs = []string{"tools.Shell:0", "tools.Shell-0", "__proto__", "a b/é"}

func fieldForeignIDs(t *testing.T, client *toolport.Client) {
	for _, id := range foreignIDs {
		call, err := client.Execute(t.Context(), toolport.Request{CallID: id, Name: "add"})
		if err != nil || call.ID != id {
			t.Errorf("%q: got %+v (%v)", id, call, err)
		}
	}
}

func choose(t *testing.T, client *toolport.Client, request toolport.SelectRequest) *toolport.Selection {
	t.Helper()
	selection, err := client.Select(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return selection
}

func stage(t *testing.T, selection *toolport.Selection, name string) toolport.StageRecord {
	t.Helper()
	for _, record := range selection.Trace {
		if record.Stage == name {
			return record
		}
	}
	t.Fatalf("there is no stage %s in %+v", name, selection.Trace)
	return toolport.StageRecord{}
}

func fieldPalettes(t *testing.T, client *toolport.Client) {
	for _, c := range []struct {
		role    string
		tools   int
		decided bool
		action  toolport.StageAction
	}{
		{"nothing", 0, true, "EMPTIED"}, {"nobody_has_this", 10, false, "ABSTAINED"}, {"strangers", 10, true, "DEGRADED"},
	} {
		got := choose(t, client, toolport.SelectRequest{Role: c.role})
		palette := stage(t, got, "role_palette")
		if len(got.Tools) != c.tools || got.Decided != c.decided || palette.Action != c.action {
			t.Errorf("%s: got %+v", c.role, got)
		}
		if c.role == "strangers" {
			if err := containsAll(palette.Detail, []string{"nobody", "no_one"}); err != nil {
				t.Error(err)
			}
		}
	}
}

func fieldNoPalette(t *testing.T, client *toolport.Client) {
	for _, role := range []string{"", "nobody_has_this"} {
		if got := choose(t, client, toolport.SelectRequest{Role: role}); len(got.Tools) != 10 || got.Decided {
			t.Errorf("%q: got %+v", role, got)
		}
	}
}

func fieldForced(t *testing.T, client *toolport.Client) {
	for _, c := range []struct {
		forced string
		toolport.SelectRequest
		stands bool
	}{
		{"delete_all", toolport.SelectRequest{}, false},
		{"make", toolport.SelectRequest{Role: "adder"}, true},
		{"concealed", toolport.SelectRequest{}, true},
		{"Make", toolport.SelectRequest{}, false},
		{"any", toolport.SelectRequest{Candidates: []string{}}, false},
	} {
		c.ForcedChoice = &c.forced
		got := choose(t, client, c.SelectRequest)
		action := map[bool]toolport.StageAction{true: "FORCED", false: "DEGRADED"}[c.stands]
		if (got.ForcedChoice != nil) != c.stands || stage(t, got, "forced_choice").Action != action {
			t.Errorf("%s: got %+v", c.forced, got)
		}
		if c.stands && (*got.ForcedChoice != c.forced || !slices.Contains(got.Tools, c.forced)) {
			t.Errorf("%s: got %+v", c.forced, got)
		}
		if c.Role == "adder" && !slices.Equal(got.Tools, []string{"add", "make"}) {
			t.Errorf("the tool is not reinstated last: %v", got.Tools)
		}
	}
}

func fieldForcedOnce(t *testing.T, client *toolport.Client) {
	names := []string{"", "add", "make"}
	var running sync.WaitGroup
	for i := range 60 {
		running.Go(func() {
			var request toolport.SelectRequest
			if want := names[i%3]; want != "" {
				request.ForcedChoice = &want
			}
			got, err := client.Select(t.Context(), request)
			if err != nil || !reflect.DeepEqual(got.ForcedChoice, request.ForcedChoice) {
				t.Errorf("got %+v (%v) for %v", got, err, names[i%3])
			}
		})
	}
	running.Wait()
	if got := choose(t, client, toolport.SelectRequest{}); got.ForcedChoice != nil {
		t.Errorf("got %s", *got.ForcedChoice)
	}
}

func fieldPresence(t *testing.T, client *toolport.Client) {
	said := choose(t, client, toolport.SelectRequest{Role: "nothing"})
	unsaid := choose(t, client, toolport.SelectRequest{Candidates: []string{}})
	if len(said.Tools) != 0 || !said.Decided || len(unsaid.Tools) != 0 || unsaid.Decided {
		t.Errorf("got %+v and %+v", said, unsaid)
	}
	for want, names := range map[int][]string{9: nil, 0: {}} {
		manifest, err := client.Manifest(t.Context(), toolport.ManifestRequest{Names: names})
		if err != nil || len(manifest.Tools) != want {
			t.Errorf("got %+v (%v), want %d tools", manifest, err, want)
		}
	}
	empty := ""
	for _, message := range []proto.Message{
		&toolportv1.SelectionResult{Decided: true},
		&toolportv1.ManifestRequest{Names: &toolportv1.ToolNames{}},
		&toolportv1.SelectRequest{Candidates: &toolportv1.ToolNames{}, Role: &empty},
		&toolportv1.ToolCall{Result: &empty},
	} {
		read := message.ProtoReflect().New().Interface()
		text, err := protojson.Marshal(message)
		if err == nil {
			err = protojson.Unmarshal(text, read)
		}
		if err != nil || !proto.Equal(read, message) || proto.Equal(read, message.ProtoReflect().New().Interface()) {
			t.Errorf("%s was read as %v (%v)", text, read, err)
		}
	}
}

func fieldErrorText(t *testing.T, client *toolport.Client) {
	if call := execute(t, client, "fail", map[string]any{"text": awkward}); call.Text() != "Error: "+awkward {
		t.Errorf("got %q", call.Text())
	}
	refused, err := client.Refuse(t.Context(), toolport.Request{CallID: "c", Name: "fail"}, awkward)
	if err != nil || refused.Text() != awkward {
		t.Errorf("got %+v (%v)", refused, err)
	}
	// A fault quotes what it was given, so its status carries the text too.
	_, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "fail"}, toolport.WithExpectedDigest(awkward))
	if fault := asFault(t, err); !strings.Contains(fault.Message, awkward) {
		t.Errorf("got %v", fault)
	}
}

func fieldLeft(t *testing.T, client *toolport.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := client.Execute(ctx, toolport.Request{CallID: "left", Name: "silent", Arguments: map[string]any{"ms": 60_000}})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonDeadlineExceeded {
		t.Errorf("got %v", fault)
	}
	waitForSilence(t, client)
}

// waitForSilence waits until no tool is silent any more.
func waitForSilence(t *testing.T, client *toolport.Client) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left := execute(t, client, "still_silent", nil).Text()
		if left == "0" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s tools are left running", left)
		}
	}
}

func TestFieldIDsOfMessages(t *testing.T) {
	t.Run("B58 chunks of one index stay apart", func(t *testing.T) {
		got := remapped(t, `{"tool_call_chunks":[{"index":0,"id":"p1","args":"{}"},{"index":0,"id":"p2","args":"{}"}]}`,
			map[string]string{"p1": "k1", "p2": "k2"})
		if want := `{"tool_call_chunks":[{"args":"{}","id":"k1","index":0},{"args":"{}","id":"k2","index":0}]}`; got != want {
			t.Errorf("got %s", got)
		}
	})
	t.Run("B60 blocks without an id pass beside those that have one", func(t *testing.T) {
		got := remapped(t, `{"content":[{"type":"text"},{"type":"tool_use","id":"p1"},{"type":"input_json_delta","index":1}],"tool_calls":[{"id":"p1"}]}`,
			map[string]string{"p1": "k1"})
		if want := `{"content":[{"type":"text"},{"id":"k1","type":"tool_use"},{"index":1,"type":"input_json_delta"}],"tool_calls":[{"id":"k1"}]}`; got != want {
			t.Errorf("got %s", got)
		}
	})
	t.Run("B62 ids are exact texts and all change at once", func(t *testing.T) {
		got := remapped(t, `{"content":"tools.Shell:0","tool_calls":[{"id":"tools.Shell:0"},{"id":"tools.Shell-0"},{"id":"__proto__"},{"id":""}]}`,
			map[string]string{"tools.Shell:0": "tools.Shell-0", "tools.Shell-0": "k2"})
		if want := `{"content":"tools.Shell:0","tool_calls":[{"id":"tools.Shell-0"},{"id":"k2"},{"id":"__proto__"},{"id":""}]}`; got != want {
			t.Errorf("got %s", got)
		}
	})
	t.Run("B63 rewriting ids leaves the history as it was", func(t *testing.T) {
		got := remapped(t, `{"additional_kwargs":{"tool_calls":[{"id":"p1"}]},"content":[{"cache_control":{},"id":"p1","type":"tool_use"},{"id":"p1","type":"unknown"}]}`,
			map[string]string{"p1": "k1"})
		if want := `{"additional_kwargs":{"tool_calls":[{"id":"p1"}]},"content":[{"cache_control":{},"id":"k1","type":"tool_use"},{"id":"p1","type":"unknown"}]}`; got != want {
			t.Errorf("got %s", got)
		}
	})
}

// remapped is the message with other ids, as JSON; the original must stay.
func remapped(t *testing.T, text string, ids map[string]string) string {
	t.Helper()
	var message, before map[string]any
	for _, m := range []*map[string]any{&message, &before} {
		if err := json.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := toolport.RemapToolCallIDs(message, ids)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(message, before) {
		t.Errorf("the original was changed to %v", message)
	}
	if same, err := toolport.RemapToolCallIDs(message, map[string]string{}); err != nil || !sameMap(same, message) {
		t.Errorf("without ids it is another message: %v (%v)", same, err)
	}
	result, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	return string(result)
}
