package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"toolport.dev/toolport"
)

// A conformanceCase is one of the contract's, as every language reads it.
type conformanceCase struct {
	ID       string
	Title    string
	Input    map[string]any
	Expect   map[string]any
	Contains []string
}

const repository = "../.."

// TestConformance runs the contract's cases over the wire, each against a set
// of tools of its own. A known failure that passes fails the run.
func TestConformance(t *testing.T) {
	cases := filepath.Join(repository, "test", "conformance", "cases")
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the cases are in the repository, not in the module")
	}
	known := knownFailures(t)
	addresses := caseServer(t)
	for _, group := range []struct {
		name string
		run  func(*testing.T, *toolport.Client, conformanceCase) error
	}{
		{"execute", runExecute}, {"refuse", runRefuse}, {"selection", runSelection}, {"descriptors", runDescriptors},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range readCases(t, filepath.Join(cases, group.name+".json")) {
				t.Run(c.ID, func(t *testing.T) {
					if isNameless(c) {
						t.Skip("a nameless tool can't be served")
					}
					why, isKnown := known[c.ID]
					err := fmt.Errorf("the case server serves no set for it")
					if address := addresses[c.ID]; address != "" {
						client, dialErr := toolport.Dial(address)
						if dialErr != nil {
							t.Fatal(dialErr)
						}
						defer func() { _ = client.Close() }()
						err = group.run(t, client, c)
					}
					switch {
					case isKnown && err == nil:
						t.Errorf("%s: it passes now; take it out of known-failures.json", c.Title)
					case isKnown:
						t.Skip(why)
					case err != nil:
						t.Errorf("%s: %v", c.Title, err)
					}
				})
			}
		})
	}
}

func TestRemapConformance(t *testing.T) {
	file := filepath.Join(repository, "test", "conformance", "cases", "remap.json")
	if _, err := os.Stat(file); err != nil {
		t.Skip("the cases are in the repository, not in the module")
	}
	for _, c := range readCases(t, file) {
		t.Run(c.ID, func(t *testing.T) {
			message := c.Input["message"].(map[string]any)
			before := fmt.Sprint(message)
			got, err := toolport.RemapToolCallIDs(message, texts(c.Input["call_ids"]))
			if fmt.Sprint(message) != before {
				t.Errorf("the original was changed to %v", message)
			}
			if c.Expect["error"] == true {
				for _, text := range texts(c.Expect["contains"]) {
					if err == nil || !strings.Contains(err.Error(), text) {
						t.Errorf("got %v, want an error with %q", err, text)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if same := sameMap(got, message); same != c.Expect["same_object"] {
				t.Errorf("same object: %v, want %v", same, c.Expect["same_object"])
			}
			// The expected message is that of a class, which states what a plain
			// map leaves out: a type, an empty list, the calls of its chunks.
			if want := c.Expect["message"]; !reflect.DeepEqual(got, only(want, got)) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func runExecute(t *testing.T, client *toolport.Client, c conformanceCase) error {
	raises, _ := c.Expect["raises"].(map[string]any)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	caller, closeRun, err := caseCaller(ctx, client, c)
	if err != nil {
		return err
	}
	defer closeRun()
	stream, err := caller.Stream(ctx, caseRequest(c.Input["call"]))
	var call *toolport.ToolCall
	if err == nil {
		defer stream.Close()
		if raises["type"] == "CancelledError" {
			// The tool waits for its signal; by then it runs.
			time.AfterFunc(200*time.Millisecond, stream.Close)
		}
		call, err = stream.Result()
	}
	if raises == nil {
		if err != nil {
			return err
		}
		return compareCall(call, c)
	}
	var fault *toolport.Fault
	if !errors.As(err, &fault) {
		return fmt.Errorf("got %+v and the error %v, want a fault", call, err)
	}
	want := map[any]codes.Code{"CancelledError": codes.Canceled, "ContractViolationError": codes.FailedPrecondition}[raises["type"]]
	if fault.Code != want {
		return fmt.Errorf("got %v, want %s", fault, want)
	}
	return containsAll(fault.Message, c.Contains)
}

// A caller is a client or a live run.
type caller interface {
	Stream(context.Context, toolport.Request, ...toolport.CallOption) (*toolport.Stream, error)
}

// caseCaller is the run that the case's call is made on, ended where it says
// so, or the client where it names none.
func caseCaller(ctx context.Context, client *toolport.Client, c conformanceCase) (caller, func(), error) {
	fields, ok := c.Input["context"].(map[string]any)
	if !ok {
		return client, func() {}, nil
	}
	run, err := client.Run(ctx, fields["run_id"].(string))
	if err != nil {
		return nil, nil, err
	}
	if fields["live"] == false {
		err = run.Close()
	}
	return run, func() { _ = run.Close() }, err
}

func runRefuse(t *testing.T, client *toolport.Client, c conformanceCase) error {
	reason, _ := c.Input["reason"].(string)
	call, err := client.Refuse(t.Context(), caseRequest(c.Input["request"]), reason)
	if err != nil {
		return err
	}
	if call.ErrorKind != toolport.Refused {
		return fmt.Errorf("its kind is %q", call.ErrorKind)
	}
	return compareCall(call, c)
}

func caseRequest(value any) toolport.Request {
	fields := value.(map[string]any)
	return toolport.Request{
		CallID:    fields["call_id"].(string),
		Name:      fields["name"].(string),
		Arguments: fields["arguments"],
	}
}

func compareCall(call *toolport.ToolCall, c conformanceCase) error {
	want := c.Expect["call"].(map[string]any)
	var arguments any
	if err := call.DecodeArguments(&arguments); err != nil {
		return err
	}
	got := map[string]any{"id": call.ID, "name": call.Name, "arguments": arguments, "result": nil, "error": nil}
	if call.Result != nil {
		got["result"], got["result_text"] = *call.Result, *call.Result
	}
	if call.Error != nil {
		got["error"] = *call.Error
		if err := containsAll(*call.Error, c.Contains); err != nil {
			return err
		}
	}
	if (call.Error != nil) != (call.ErrorKind != "") {
		return fmt.Errorf("the error kind is %q and the error %q", call.ErrorKind, call.Text())
	}
	for key, value := range want {
		switch key {
		case "duration_ms":
			if (value == ">=0") == (call.Duration == 0) {
				return fmt.Errorf("the duration is %s, want %v", call.Duration, value)
			}
		case "result_json":
			var result any
			if err := decodeJSON([]byte(call.Text()), &result); err != nil {
				return fmt.Errorf("the result %q: %w", call.Text(), err)
			}
			if !equal(result, value) {
				return fmt.Errorf("the result is %s, want %v", call.Text(), value)
			}
		default:
			if !matches(got[key], value) {
				return fmt.Errorf("%s is %q, want %q", key, got[key], value)
			}
		}
	}
	return nil
}

func runSelection(t *testing.T, client *toolport.Client, c conformanceCase) error {
	request := toolport.SelectRequest{Role: "action", ResolvedTools: texts(c.Input["resolved_tools"])}
	if role, ok := c.Input["role"].(string); ok {
		request.Role = role
	}
	if forced, ok := c.Input["forced_tool_choice"].(string); ok {
		request.ForcedChoice = &forced
	}
	if intent, ok := c.Input["intent"].(map[string]any); ok {
		if verdict, ok := intent["verdict"].(map[string]any); ok {
			request.Intent = &toolport.IntentVerdict{Label: verdict["label"].(string), MatchedTools: texts(verdict["matched"])}
		}
	}
	messages, _ := c.Input["messages"].([]any)
	for _, message := range messages {
		request.Messages = append(request.Messages, caseMessage(message.(map[string]any)))
	}
	selection, err := client.Select(t.Context(), request)
	if err != nil {
		return err
	}
	var trace []any
	for _, record := range selection.Trace {
		trace = append(trace, map[string]any{
			"stage": record.Stage, "action": strings.ToLower(string(record.Action)),
			"kept": list(record.Kept), "dropped": list(record.Dropped), "added": list(record.Added), "reinstated": list(record.Reinstated),
			"forced_choice": optional(record.ForcedChoice),
		})
	}
	got := map[string]any{"tools": list(selection.Tools), "forced_choice": optional(selection.ForcedChoice), "trace": trace}
	for key, want := range c.Expect {
		if want := withoutDetail(want); !equal(got[key], want) {
			return fmt.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	return nil
}

func caseMessage(fields map[string]any) toolport.Message {
	text := func(key string) string { s, _ := fields[key].(string); return s }
	message := toolport.Message{
		Role: map[string]toolport.Role{
			"system": toolport.RoleSystem, "human": toolport.RoleUser, "ai": toolport.RoleAssistant,
			"tool": toolport.RoleTool, "dict_tool": toolport.RoleTool,
		}[text("role")],
		Name: text("name"), ToolCallID: text("tool_call_id"), Text: text("content"),
	}
	calls, _ := fields["tool_calls"].([]any)
	for _, call := range calls {
		ref := call.(map[string]any)
		message.ToolCalls = append(message.ToolCalls, toolport.ToolCallRef{ID: ref["id"].(string), Name: ref["name"].(string)})
	}
	return message
}

func runDescriptors(t *testing.T, client *toolport.Client, c conformanceCase) error {
	request := toolport.ManifestRequest{IncludeHidden: true}
	if manifest, ok := c.Input["manifest"].(map[string]any); ok {
		budget, err := manifest["token_budget"].(json.Number).Int64()
		if err != nil {
			return err
		}
		tokens := uint32(budget)
		request.BudgetTokens = &tokens
	}
	manifest, err := client.Manifest(t.Context(), request)
	if err != nil {
		return err
	}
	again, err := client.Manifest(t.Context(), request)
	if err != nil {
		return err
	}
	got := map[string]any{"text": manifest.Text, "equal_readings": reflect.DeepEqual(manifest, again)}
	if name, ok := c.Expect["name"]; ok {
		at := slices.IndexFunc(manifest.Tools, func(d toolport.ToolDescriptor) bool { return d.Name == name })
		if at < 0 {
			return fmt.Errorf("no tool named %q in %+v", name, manifest.Tools)
		}
		d := manifest.Tools[at]
		maps.Copy(got, map[string]any{
			"name": d.Name, "tool_name": d.Name, "description": d.Description, "hidden": d.Hidden,
			"summary": d.Summary, "manifest_entry": d.ManifestEntry,
			"category": optional(d.Category), "safety_level": optional(d.SafetyLevel), "cost_usd": optional(d.CostUSD),
			"max_calls_per_invocation": optional(d.MaxCallsPerInvocation), "scope": optional(d.Scope), "routing_mode": optional(d.RoutingMode),
			"requires": optional(d.Requires),
		})
	}
	for key, want := range c.Expect {
		if !matches(got[key], want) {
			return fmt.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	return nil
}

// isNameless is true for a case with a tool that no wire can name.
func isNameless(c conformanceCase) bool {
	tools, _ := c.Input["tools"].([]any)
	for _, tool := range tools {
		if fields, ok := tool.(map[string]any); ok && fields["unnamed"] != nil {
			return true
		}
	}
	name, stated := c.Expect["tool_name"]
	return stated && name == nil
}
