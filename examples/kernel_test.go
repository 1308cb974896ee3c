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
	if _, err := os.Stat(filepath.Join("..", "dist", "src", "cli", "main.js")); err != nil {
		t.Skip("the checkout is not built")
	}
	sidecar, err := toolport.Spawn(t.Context(), "tools.ts", toolport.WithLogger(slog.New(slog.DiscardHandler)))
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
		"role_palette: narrowed",
		"tool query_bookings (call-4): Error: only a SELECT",
		"tool handbook_read_text_file (call-5): # Refunds and changes\n",
		"A full refund is due when Tidewater cancels a crossing.",
		"tool book_crossing (call-6): ask the customer first: book_crossing costs money",
		"tool convert_currency (call-7): 52 EUR = 8814 JPY",
		"… call-8 is cancelled half-way",
		"tool sink_ship (call-10): unknown tool 'sink_ship'",
		"as soon as she agrees.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
