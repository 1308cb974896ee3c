// A small agent kernel in Go. It asks a model what to do, has the sidecar do it,
// and asks again, until the model has its answer. The model is scripted, so
// nothing here needs a network; everything else is what a real kernel does.
//
//	go -C examples run .                              starts a sidecar of its own
//	go -C examples run . --address unix:/path/socket  uses one that runs already
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"toolport.dev/toolport"
)

func main() {
	address := flag.String("address", "", "a running sidecar's `address`: unix:/path or host:port")
	tokenFile := flag.String("token-file", "", "the `file` with that sidecar's bearer token")
	tools := flag.String("tools", "", "the tools `file` to start a sidecar on (default: tools.ts in this folder)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address, *tokenFile, *tools); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, tokenFile, tools string) (err error) {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	if address == "" {
		if tools == "" {
			tools = nearby("tools.ts", "examples/tools.ts")
		}
		var sidecar *toolport.Sidecar
		if sidecar, err = toolport.Spawn(ctx, tools); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sidecar.Close()) }()
		return converse(ctx, sidecar.Client, os.Stdout)
	}
	var options []toolport.DialOption
	if tokenFile != "" {
		options = append(options, toolport.WithTokenFile(tokenFile))
	}
	client, err := toolport.Dial(address, options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return converse(ctx, client, os.Stdout)
}

func nearby(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return paths[0]
}

// A kernel holds one run of the agent.
type kernel struct {
	client  *toolport.Client
	tools   map[string]toolport.ToolDescriptor
	digest  string
	runID   string
	calls   int
	history []toolport.Message
	out     io.Writer
	print   sync.Mutex
}

func converse(ctx context.Context, client *toolport.Client, out io.Writer) error {
	manifest, err := client.Manifest(ctx, toolport.ManifestRequest{})
	if err != nil {
		return err
	}
	k := &kernel{
		client: client,
		out:    out,
		tools:  make(map[string]toolport.ToolDescriptor),
		digest: manifest.Digest,
		runID:  fmt.Sprintf("go-kernel-%d", time.Now().UnixNano()),
	}
	for _, tool := range manifest.Tools {
		k.tools[tool.Name] = tool
	}
	k.printf("The tools (%s, served by toolport %s):\n%s", manifest.Digest[:min(19, len(manifest.Digest))], manifest.Server.Version, manifest.Text)

	question := "The Otter was cancelled on 1 May. What is owed to whom, and can we rebook Mei Tanaka?"
	k.history = append(k.history, toolport.Message{Role: toolport.RoleUser, Text: question})
	k.printf("\nuser: %s", question)
	for _, turn := range script {
		if err := k.turn(ctx, turn); err != nil {
			return err
		}
	}
	return nil
}

// turn offers the model its tools, runs what it calls, and gives it the results.
func (k *kernel) turn(ctx context.Context, turn turn) error {
	selection, err := k.client.Select(ctx, toolport.SelectRequest{Role: turn.role, Messages: k.history})
	if err != nil {
		return err
	}
	k.printf("\noffered to the model as %s: %s", turn.role, strings.Join(selection.Tools, ", "))
	for _, stage := range selection.Trace {
		k.printf("  %s: %s", stage.Stage, strings.ToLower(string(stage.Action)))
	}

	message, err := k.ownIDs(turn.message())
	if err != nil {
		return err
	}
	reply := toolport.Message{Role: toolport.RoleAssistant, Text: turn.text}
	var calls []toolport.Request
	for _, call := range message["tool_calls"].([]map[string]any) {
		request := toolport.Request{
			RunID:     k.runID,
			CallID:    call["id"].(string),
			Name:      call["name"].(string),
			Arguments: call["arguments"],
		}
		calls = append(calls, request)
		reply.ToolCalls = append(reply.ToolCalls, toolport.ToolCallRef{ID: request.CallID, Name: request.Name})
	}
	k.history = append(k.history, reply)
	if turn.text != "" {
		k.printf("assistant: %s", turn.text)
	}
	if len(calls) == 0 {
		return nil
	}

	answers := make([]string, len(calls))
	faults := make([]error, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		k.printf("assistant calls %s %s as %s", call.Name, asJSON(call.Arguments), call.CallID)
		running.Go(func() { answers[i], faults[i] = k.answer(ctx, call) })
	}
	running.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	k.printf("what the model sees:")
	for i, call := range calls {
		k.printf("  tool %s (%s): %s", call.Name, call.CallID, answers[i])
		k.history = append(k.history, toolport.Message{
			Role: toolport.RoleTool, Name: call.Name, ToolCallID: call.CallID, Text: answers[i],
		})
	}
	return nil
}

// ownIDs replaces the provider's ids, which it may use again in the next turn,
// by ids that are unique in the run.
func (k *kernel) ownIDs(message map[string]any) (map[string]any, error) {
	ids := make([]string, len(message["tool_calls"].([]map[string]any)))
	for i := range ids {
		k.calls++
		ids[i] = fmt.Sprintf("call-%d", k.calls)
	}
	return toolport.RemapToolCallIDs(message, ids)
}

// answer is what the model is told about one call.
func (k *kernel) answer(ctx context.Context, call toolport.Request) (string, error) {
	// A precondition of this kernel: nothing that the author calls restricted
	// runs before the customer was asked.
	if level := k.tools[call.Name].SafetyLevel; level != nil && *level == "restricted" {
		refused, err := k.client.Refuse(ctx, call, "ask the customer first: "+call.Name+" costs money")
		if err != nil {
			return "", err
		}
		return refused.Text(), nil
	}
	stream, err := k.client.Stream(ctx, call, toolport.WithExpectedDigest(k.digest))
	if err != nil {
		return "", err
	}
	defer stream.Close()
	for event, err := range stream.Events() {
		if err != nil {
			return "", err
		}
		switch e := event.(type) {
		case *toolport.Progress:
			k.printf("  … %s %s %s", call.CallID, portion(e), e.Message)
			// Somebody at the terminal has seen enough of this one.
			if call.Name == "watch_crossing" && e.Total != nil && e.Done >= *e.Total/2 {
				stream.Close()
				_, err := stream.Result()
				k.printf("  … %s is cancelled half-way: %v", call.CallID, err)
				return "This call was cancelled before it had a result. Continue without it.", nil
			}
		case *toolport.Output:
			if e.Text != nil {
				k.printf("  … %s says %s", call.CallID, strings.TrimSpace(*e.Text))
			}
		case *toolport.ToolCall:
			return e.Text(), nil
		}
	}
	return "", fmt.Errorf("call %s ended without an outcome", call.CallID)
}

func portion(p *toolport.Progress) string {
	if p.Total == nil {
		return fmt.Sprint(p.Done)
	}
	return fmt.Sprintf("%v/%v", p.Done, *p.Total)
}

func asJSON(arguments any) []byte {
	text, err := json.Marshal(arguments)
	if err != nil {
		return fmt.Append(nil, err)
	}
	return text
}

func (k *kernel) printf(format string, args ...any) {
	k.print.Lock()
	defer k.print.Unlock()
	fmt.Fprintf(k.out, format+"\n", args...)
}

// A turn is what the scripted model says when it is asked, in the role that the
// kernel offers it.
type turn struct {
	role  string
	text  string
	calls []call
}

type call struct {
	name      string
	arguments map[string]any
}

var script = []turn{
	{
		role: "researcher",
		text: "I look up the rule, the bookings and the timetable, and read the page on refunds.",
		calls: []call{
			{"search_handbook", map[string]any{"text": "refund"}},
			{"query_bookings", map[string]any{
				"sql":    "SELECT passenger, seats, paid_cents FROM bookings WHERE crossing_id = ?",
				"values": []any{3},
			}},
			{"read_page", map[string]any{"page": "timetable.html"}},
			{"query_bookings", map[string]any{"sql": "DELETE FROM bookings"}},
			// A tool of an MCP server that the tools file mounts: called like any other.
			{"handbook_read_text_file", map[string]any{"path": "refunds.md"}},
		},
	},
	{
		role: "clerk",
		text: "I rebook Mei Tanaka, convert her refund and follow the ship.",
		calls: []call{
			{"book_crossing", map[string]any{
				"passenger": "Mei Tanaka", "from": "Sandhaven", "to": "Lowick", "outward": "2026-05-02", "seats": 4,
			}},
			{"convert_currency", map[string]any{"amount": 52, "from": "EUR", "to": "JPY"}},
			{"watch_crossing", map[string]any{"ship": "Otter", "seconds": 2}},
			{"add_note", map[string]any{"text": "Mei Tanaka: full refund, asks for 2 May"}},
			{"sink_ship", map[string]any{}},
		},
	},
	{
		role: "clerk",
		text: "Mei Tanaka and Yusuf Aydin are owed their whole fares; I book the next crossing as soon as she agrees.",
	},
}

// message is the turn as a provider sends it, with the ids that it uses in
// every turn again.
func (t turn) message() map[string]any {
	calls := make([]map[string]any, len(t.calls))
	for i, c := range t.calls {
		calls[i] = map[string]any{"id": fmt.Sprintf("call_%d", i), "name": c.name, "arguments": c.arguments}
	}
	return map[string]any{"role": "assistant", "content": t.text, "tool_calls": calls}
}
