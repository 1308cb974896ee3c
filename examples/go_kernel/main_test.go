package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolport.dev/toolport"
)

func TestTheKernelComesToItsEnd(t *testing.T) {
	if _, err := os.Stat(filepath.Join("..", "..", "dist", "src", "cli", "main.js")); err != nil {
		t.Skip("the checkout is not built")
	}
	sidecar, err := toolport.Spawn(t.Context(), filepath.Join("..", "tools.ts"), toolport.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sidecar.Close(); err != nil {
			t.Error(err)
		}
	}()
	var out bytes.Buffer
	if err := converse(t.Context(), sidecar.Client, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"? call-3 asks for a berth for the Heron at Lowick",
		"? call-4 asks for a berth for the Otter at Skerry",
		"… call-5 Heron: open water",
		"search_handbook: {",
		"ask_harbour_master: Heron may berth at Lowick, berth 2.",
		"ask_harbour_master: Otter may not berth at Skerry: the wind is against it",
		"watch_crossing: Heron: moored",
		"watch_crossing: This took too long and was stopped.",
		"sink_ship: unknown tool 'sink_ship'",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
