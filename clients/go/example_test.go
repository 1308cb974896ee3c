package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

func ExampleSpawn() {
	ctx := context.Background()
	sidecar, err := toolport.Spawn(ctx, "tools.ts")
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := sidecar.Close(); err != nil {
			log.Print(err)
		}
	}()
	manifest, err := sidecar.Manifest(ctx, toolport.ManifestRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(manifest.Text)
}

func ExampleClient_Execute() {
	client, done := serveExample()
	defer done()

	call, err := client.Execute(context.Background(), toolport.Request{
		CallID:    "call-1",
		Name:      "count_seats",
		Arguments: map[string]any{"crossing": int64(9107199254740993)},
	})
	var fault *toolport.Fault
	if errors.As(err, &fault) {
		log.Fatalf("%s: started %s, ask again after %s", fault.Reason, fault.Started, fault.RetryAfter)
	}
	if err != nil {
		log.Fatal(err)
	}
	var result struct {
		Crossing int64
		Seats    int
	}
	if err := call.Decode(&result); err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Crossing, result.Seats)
	// Output: 9107199254740993 64
}

func ExampleClient_Stream() {
	client, done := serveExample()
	defer done()

	stream, err := client.Stream(context.Background(), toolport.Request{CallID: "call-1", Name: "count_seats"})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range stream.Events() {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case *toolport.Progress:
			fmt.Println(e.Message)
		case *toolport.ToolCall:
			fmt.Println(e.Text())
		}
	}
	// Output:
	// deck 1
	// {"crossing":9107199254740993,"seats":64}
}

func ExampleClient_Run() {
	ctx := context.Background()
	sidecar, err := toolport.Spawn(ctx, "tools.ts")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = sidecar.Close() }()

	// Whoever decides is asked by the tool, through the kernel.
	run, err := sidecar.Run(ctx, "run-1",
		toolport.WithHost("approve", func(_ context.Context, payload json.RawMessage) (any, error) {
			return map[string]bool{"approved": len(payload) < 1000}, nil
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := run.Close(); err != nil {
			log.Print(err)
		}
	}()
	call, err := run.Execute(ctx, toolport.Request{CallID: "call-1", Name: "book_crossing"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(call.Text())
}

func ExampleRemapToolCallIDs() {
	message := map[string]any{
		"role":       "assistant",
		"tool_calls": []any{map[string]any{"id": "call_0", "name": "count_seats"}},
	}
	remapped, err := toolport.RemapToolCallIDs(message, []string{"run-7:1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(remapped["tool_calls"])
	// Output: [map[id:run-7:1 name:count_seats]]
}

// serveExample serves a tool that counts the seats of a crossing.
func serveExample() (*toolport.Client, func()) {
	address, stop, err := listenForExamples(&fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		if err := stream.Send(progress(1, 1, "deck 1")); err != nil {
			return err
		}
		return stream.Send(outcome(succeeded(r, `{"crossing":9107199254740993,"seats":64}`)))
	}})
	if err != nil {
		log.Fatal(err)
	}
	client, err := toolport.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	return client, func() {
		if err := client.Close(); err != nil {
			log.Print(err)
		}
		stop()
	}
}
