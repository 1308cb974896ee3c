// A kernel in Go that makes all the calls of an agent's turn at once, on one
// live run, and lets the tools ask back: a person (here: a rule) answers for
// the harbour master. The model is scripted; everything else is what a real
// kernel does.
//
//	go -C examples run ./go_kernel                              starts a sidecar of its own
//	go -C examples run ./go_kernel --address unix:/path/socket  uses one that runs already
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
	"sync"
	"time"

	"toolport.dev/toolport"
)

func main() {
	address := flag.String("address", "", "a running sidecar's `address`: unix:/path or host:port")
	tokenFile := flag.String("token-file", "", "the `file` with that sidecar's bearer token")
	tools := flag.String("tools", "tools.ts", "the tools `file` to start a sidecar on")
	flag.Parse()

	slog.SetLogLoggerLevel(slog.LevelWarn)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, *address, *tokenFile, *tools); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(ctx context.Context, address, tokenFile, tools string) (err error) {
	if address == "" {
		// It is started again if it dies, and what it did is not done twice.
		var sidecar *toolport.Sidecar
		if sidecar, err = toolport.Spawn(ctx, tools, toolport.WithRestart(3)); err != nil {
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

// A call is what the model asks for.
type call struct {
	name      string
	arguments map[string]any
	// patience is how long this kernel waits; 0 is as long as it takes.
	patience time.Duration
}

// turns is what the scripted model calls, turn by turn.
var turns = [][]call{
	{
		{name: "search_handbook", arguments: map[string]any{"text": "weather"}},
		{name: "query_bookings", arguments: map[string]any{"sql": "SELECT count(*) AS bookings FROM bookings"}},
		{name: "ask_harbour_master", arguments: map[string]any{"ship": "Heron", "port": "Lowick"}},
		{name: "ask_harbour_master", arguments: map[string]any{"ship": "Otter", "port": "Skerry"}},
		{name: "watch_crossing", arguments: map[string]any{"ship": "Heron", "seconds": 0.5}},
		{name: "watch_crossing", arguments: map[string]any{"ship": "Otter", "seconds": 600}, patience: 300 * time.Millisecond},
	},
	{
		{name: "add_note", arguments: map[string]any{"text": "Heron: Lowick, berth 2"}},
		{name: "sink_ship"},
	},
}

// A kernel is one run of the agent.
type kernel struct {
	run   *toolport.Run
	calls int
	mu    sync.Mutex
	out   io.Writer
}

func converse(ctx context.Context, client *toolport.Client, out io.Writer) (err error) {
	manifest, err := client.Manifest(ctx, toolport.ManifestRequest{})
	if err != nil {
		return err
	}
	k := &kernel{out: out}
	k.run, err = client.Run(ctx, fmt.Sprintf("go-kernel-%d", time.Now().UnixNano()),
		// The tools that the model is offered are those that run.
		toolport.WithExpectedDigest(manifest.Digest),
		// A lost connection costs nothing but time.
		toolport.WithResume(time.Minute),
		toolport.WithHost("harbour_master", k.harbourMaster))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.run.Close()) }()
	k.printf("%d tools, one run: %s", len(manifest.Tools), k.run.ID())
	for i, turn := range turns {
		k.printf("\nturn %d: %d calls at once", i+1, len(turn))
		answers, err := k.turn(ctx, turn)
		if err != nil {
			return err
		}
		k.printf("what the model sees:")
		for j, answer := range answers {
			k.printf("  %s: %s", turn[j].name, answer)
		}
	}
	return nil
}

// turn makes all calls at once. A fault of one ends no other, but is for the
// author of this kernel and so ends the program.
func (k *kernel) turn(ctx context.Context, calls []call) ([]string, error) {
	answers := make([]string, len(calls))
	faults := make([]error, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		k.calls++
		id := fmt.Sprintf("call-%d", k.calls)
		running.Go(func() { answers[i], faults[i] = k.answer(ctx, id, call) })
	}
	running.Wait()
	return answers, errors.Join(faults...)
}

func (k *kernel) answer(ctx context.Context, id string, call call) (string, error) {
	if call.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, call.patience)
		defer cancel()
	}
	stream, err := k.run.Stream(ctx, toolport.Request{CallID: id, Name: call.name, Arguments: call.arguments})
	if err != nil {
		return "", err
	}
	defer stream.Close()
	for event, err := range stream.Events() {
		var fault *toolport.Fault
		if errors.As(err, &fault) && fault.Reason == toolport.ReasonDeadlineExceeded {
			return "This took too long and was stopped. Continue without it.", nil
		}
		if err != nil {
			return "", err
		}
		switch e := event.(type) {
		case *toolport.Progress:
			k.printf("  … %s %s", id, e.Message)
		case *toolport.ToolCall:
			return e.Text(), nil
		}
	}
	return "", fmt.Errorf("call %s ended without an outcome", id)
}

// harbourMaster answers the tools that ask. A real one would ask a person, and
// stop waiting for the answer when ctx is done: then nobody needs it any more.
func (k *kernel) harbourMaster(ctx context.Context, payload json.RawMessage) (any, error) {
	var question struct{ Ship, Port string }
	if err := json.Unmarshal(payload, &question); err != nil {
		return nil, err
	}
	id, _ := toolport.HostCallID(ctx)
	k.printf("  ? %s asks for a berth for the %s at %s", id, question.Ship, question.Port)
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if question.Port == "Skerry" {
		return map[string]any{"allowed": false, "remark": "the wind is against it"}, nil
	}
	return map[string]any{"allowed": true, "berth": 2}, nil
}

func (k *kernel) printf(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fmt.Fprintf(k.out, format+"\n", args...)
}
