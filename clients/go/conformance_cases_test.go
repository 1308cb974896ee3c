package toolport_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// knownFailures is why each case fails, for those that this runner knows of.
func knownFailures(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "test", "conformance", "known-failures.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		ID, Why string
		Only    []string
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	known := make(map[string]string)
	for _, entry := range entries {
		if entry.Only == nil || slices.Contains(entry.Only, "go") {
			known[entry.ID] = entry.Why
		}
	}
	return known
}

// caseServer starts the process that serves each case's own set, and ends it
// with the test.
func caseServer(t *testing.T) map[string]string {
	t.Helper()
	var ready struct{ Cases map[string]string }
	serveCases(t, filepath.Join("test", "conformance", "server.ts"), &ready)
	return ready.Cases
}

// serveCases runs a script of the repository's that serves until its standard
// input ends, which the test's end does, and reads its first line of JSON into
// ready.
func serveCases(t *testing.T, script string, ready any) {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(root, "node_modules", ".bin", "node"), script)
	cmd.Dir = root
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s can't be started: %v", script, err)
	}
	timer := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		defer timer.Stop()
		if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
			t.Errorf("%s: %v\n%s", script, err, &stderr)
		}
	})
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if json.Unmarshal(lines.Bytes(), ready) == nil {
			return
		}
	}
	t.Fatalf("%s ended before it was ready (%v):\n%s", script, lines.Err(), &stderr)
}

func readCases(t *testing.T, file string) []conformanceCase {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var group struct{ Cases []conformanceCase }
	if err := decodeJSON(text, &group); err != nil {
		t.Fatal(err)
	}
	return group.Cases
}

func decodeJSON(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(v)
}

// matches is equality, but for the texts that stand for wording of the port's
// own.
func matches(got, want any) bool {
	switch want {
	case "<text>":
		_, isText := got.(string)
		return isText
	case "<any non-empty text>":
		text, _ := got.(string)
		return text != ""
	}
	return equal(got, want)
}

// equal compares numbers by value, so that 1 and 1.0 are one.
func equal(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	default:
		return reflect.DeepEqual(a, b)
	}
}

func number(v any) (*big.Rat, bool) {
	switch v.(type) {
	case json.Number, float64, uint32:
		return new(big.Rat).SetString(fmt.Sprint(v))
	}
	return nil, false
}

func optional[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

func list(values []string) []any {
	result := []any{}
	for _, v := range values {
		result = append(result, v)
	}
	return result
}

func texts(values any) []string {
	var result []string
	given, _ := values.([]any)
	for _, v := range given {
		result = append(result, v.(string))
	}
	return result
}

func containsAll(text string, parts []string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q does not contain %q", text, part)
		}
	}
	return nil
}

func withoutDetail(want any) any {
	records, isList := want.([]any)
	if !isList {
		return want
	}
	for _, record := range records {
		if fields, ok := record.(map[string]any); ok {
			delete(fields, "detail")
		}
	}
	return want
}

// only is want without the members that got does not have.
func only(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		kept := make(map[string]any)
		for key, value := range want {
			if other, stated := got[key]; stated {
				kept[key] = only(value, other)
			}
		}
		return kept
	case []any:
		got, _ := got.([]any)
		if len(got) != len(want) {
			return want
		}
		kept := make([]any, len(want))
		for i := range want {
			kept[i] = only(want[i], got[i])
		}
		return kept
	default:
		return want
	}
}
