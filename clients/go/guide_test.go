package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolport.dev/toolport"
)

var guide = filepath.Join(repository, "docs", "go.md")

var exampleTools = filepath.Join(repository, "examples", "tools.ts")

// TestTheGuidesSnippetsRun runs what docs/go.md shows. Each snippet stands in
// this file, word for word.
func TestTheGuidesSnippetsRun(t *testing.T) {
	snippets := guideSnippets(t)
	text, err := os.ReadFile("guide_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, snippet := range snippets {
		if !strings.HasPrefix(snippet, "package ") && !strings.Contains(unindented(string(text)), unindented(snippet)) {
			t.Errorf("no test has this snippet:\n%s", snippet)
		}
	}
	sidecar := spawnExamples(t)
	for name, run := range map[string]func(context.Context, *toolport.Client) error{
		"outcomes": guideOutcomes, "numbers": guideNumbers, "progress": guideProgress, "runs": guideRuns,
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), sidecar.Client); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("losses", func(t *testing.T) {
		if err := guideLosses(t.Context(), exampleTools, func(pid int) { kill(t, pid) }); err != nil {
			t.Error(err)
		}
	})
}

// TestTheGuidesFirstProgramRuns follows the page as a newcomer would.
func TestTheGuidesFirstProgramRuns(t *testing.T) {
	program := guideSnippets(t)[0]
	if !strings.HasPrefix(program, "package main") {
		t.Fatalf("the first snippet is no program:\n%s", program)
	}
	spawnExamples(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	in := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	in(dir, "go", "mod", "init", "example.com/kernel")
	in(dir, "go", "mod", "edit", "-require", "toolport.dev/toolport@v0.0.0", "-replace", "toolport.dev/toolport="+module)
	in(dir, "go", "mod", "tidy")
	in(dir, "go", "build", "-o", "kernel", ".")
	out := in(filepath.Dir(exampleTools), filepath.Join(dir, "kernel"))
	if !strings.Contains(out, "search_handbook: ") || !strings.Contains(out, `"page":"refunds.md"`) {
		t.Errorf("it printed:\n%s", out)
	}
}

func spawnExamples(t *testing.T) *toolport.Sidecar {
	t.Helper()
	if _, err := os.Stat(filepath.Join(repository, "dist", "src", "cli", "main.js")); err != nil {
		t.Skip("there is no built checkout around this module")
	}
	sidecar, err := toolport.Spawn(t.Context(), exampleTools)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sidecar.Close() })
	return sidecar
}

// guideSnippets is the guide's Go code, in order.
func guideSnippets(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Skip("the guide is in the repository, not in the module")
	}
	var snippets []string
	for _, match := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		snippets = append(snippets, match[1])
	}
	if len(snippets) == 0 {
		t.Fatal("the guide shows no code")
	}
	return snippets
}

// unindented is the text without the white space that depends on where it
// stands.
func unindented(text string) string {
	lines := slices.Collect(strings.Lines(text))
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

func guideOutcomes(ctx context.Context, client *toolport.Client) error {
	call, err := client.Execute(ctx, toolport.Request{CallID: "call-2", Name: "sink_ship"})
	var fault *toolport.Fault
	switch {
	case errors.As(err, &fault):
		return fmt.Errorf("%s; the tool started: %s", fault.Reason, fault.Started)
	case err != nil:
		return err // the request itself can't be sent, such as arguments with a NaN
	case call.Failed():
		fmt.Println(call.ErrorKind, "–", call.Text())
	}
	return nil
}

func guideNumbers(ctx context.Context, client *toolport.Client) error {
	call, err := client.Execute(ctx, toolport.Request{
		CallID:    "call-3",
		Name:      "query_bookings",
		Arguments: json.RawMessage(`{"sql": "SELECT count(*) AS bookings FROM bookings"}`),
	})
	if err != nil {
		return err
	}
	var result struct {
		Rows []struct{ Bookings int64 }
	}
	if err := call.Decode(&result); err != nil {
		return err
	}
	fmt.Println(result.Rows[0].Bookings, "bookings")
	if result.Rows[0].Bookings == 0 {
		return fmt.Errorf("got %s", call.Text())
	}
	return nil
}

func guideProgress(ctx context.Context, client *toolport.Client) error {
	stream, err := client.Stream(ctx, toolport.Request{
		CallID: "call-4", Name: "watch_crossing", Arguments: map[string]any{"ship": "Otter", "seconds": 600},
	})
	if err != nil {
		return err
	}
	for event, err := range stream.Events() {
		if err != nil {
			return err
		}
		if progress, ok := event.(*toolport.Progress); ok {
			fmt.Println(progress.Message)
			break
		}
	}
	return nil
}

func guideRuns(ctx context.Context, client *toolport.Client) error {
	run, err := client.Run(ctx, "run-1",
		toolport.WithHost("harbour_master", func(ctx context.Context, payload json.RawMessage) (any, error) {
			var question struct{ Ship, Port string }
			if err := json.Unmarshal(payload, &question); err != nil {
				return nil, err
			}
			return map[string]any{"allowed": question.Port != "Skerry"}, nil
		}))
	if err != nil {
		return err
	}
	defer run.Close()

	var running sync.WaitGroup
	for i, port := range []string{"Sandhaven", "Skerry", "Lowick"} {
		running.Go(func() {
			call, err := run.Execute(ctx, toolport.Request{
				CallID:    fmt.Sprintf("ask-%d", i),
				Name:      "ask_harbour_master",
				Arguments: map[string]any{"ship": "Heron", "port": port},
			})
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(call.Text())
		})
	}
	running.Wait()
	return nil
}

func guideLosses(ctx context.Context, tools string, killSidecar func(pid int)) error {
	sidecar, err := toolport.Spawn(ctx, tools,
		toolport.WithRestart(3),
		toolport.WithRetry(time.Minute))
	if err != nil {
		return err
	}
	defer sidecar.Close()

	request := toolport.Request{RunID: "run-2", CallID: "call-1", Name: "sidecar_status"}
	first, err := sidecar.Execute(ctx, request)
	if err != nil {
		return err
	}
	killSidecar(sidecar.PID())
	again, err := sidecar.Execute(ctx, request)
	if err != nil {
		return err
	}
	fmt.Println(again.Replayed, again.Text() == first.Text()) // true true
	if !again.Replayed || again.Text() != first.Text() {
		return fmt.Errorf("got %+v after %+v", again, first)
	}
	return nil
}
