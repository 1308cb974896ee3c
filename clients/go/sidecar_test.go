package toolport_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"toolport.dev/toolport"
)

// spawn starts the fake sidecar, this very binary, in one of its modes.
func spawn(t *testing.T, mode string, options ...toolport.SpawnOption) (*toolport.Sidecar, error) {
	t.Helper()
	return toolport.Spawn(t.Context(), toolsFile(t), append([]toolport.SpawnOption{
		toolport.WithCommand(os.Args[0]),
		toolport.WithEnv("TOOLPORT_TEST_SIDECAR=" + mode),
	}, options...)...)
}

func toolsFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools.ts")
	if err := os.WriteFile(file, []byte("export default {};\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSpawnServesUntilClosedAndLeavesNothing(t *testing.T) {
	checkGoroutines(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	log := &lockedBuffer{}
	sidecar, err := spawn(t, "serve", toolport.WithLogger(slog.New(slog.NewTextHandler(log, nil))), toolport.WithServeArgs("--more"))
	if err != nil {
		t.Fatal(err)
	}
	call, err := sidecar.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo", Arguments: map[string]any{"a": 1}})
	if err != nil || call.Text() != `{"a":1}` {
		t.Errorf("got %+v (%v)", call, err)
	}
	if sidecar.Digest() != "sha256:ab" || sidecar.PID() == 0 || sidecar.Err() != nil {
		t.Errorf("got %s, %d, %v", sidecar.Digest(), sidecar.PID(), sidecar.Err())
	}
	made, err := os.ReadDir(temporary)
	if err != nil || len(made) != 1 {
		t.Fatalf("got %v (%v), want one folder", made, err)
	}
	if info, err := made[0].Info(); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's folder is %v (%v), want 0700", info.Mode(), err)
	}
	for range 2 {
		if err := sidecar.Close(); err != nil {
			t.Error(err)
		}
	}
	<-sidecar.Done()
	if sidecar.Err() != nil {
		t.Errorf("got %v after Close", sidecar.Err())
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("left %v (%v)", left, err)
	}
	if !strings.Contains(log.String(), "--exit-with-parent --more") {
		t.Errorf("the log has no line of stderr: %s", log)
	}
}

func TestCloseLetsCallsInFlightFinish(t *testing.T) {
	checkGoroutines(t)
	sidecar, err := spawn(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := sidecar.Stream(t.Context(), toolport.Request{CallID: "c", Name: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- sidecar.Close() }()
	if _, err := stream.Result(); err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestASidecarThatDoesNotEndIsKilled(t *testing.T) {
	checkGoroutines(t)
	sidecar, err := spawn(t, "deaf", toolport.WithCloseTimeout(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if err := sidecar.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v", err)
	}
	<-sidecar.Done()
}

func TestTheDeathOfASidecarIsNoticed(t *testing.T) {
	checkGoroutines(t)
	sidecar, err := spawn(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	_, err = sidecar.Execute(t.Context(), toolport.Request{CallID: "c", Name: "exit"})
	if fault := asFault(t, err); fault.Code != codes.Unavailable || fault.Reason != toolport.ReasonConnectionLost || fault.Started != toolport.StartedUnknown {
		t.Errorf("got %+v", fault)
	}
	<-sidecar.Done()
	if err := sidecar.Err(); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("got %v", err)
	}
	if err := sidecar.Close(); err != nil {
		t.Error(err)
	}
	if sidecar.Err() == nil {
		t.Error("closing hides how it ended")
	}
}

func TestSpawnSaysWhyASidecarDidNotStart(t *testing.T) {
	checkGoroutines(t)
	for _, c := range []struct {
		mode     string
		exitCode int
		contains string
	}{
		{"misconfigured", 2, "already registered"},
		{"newer", -1, "version 2"},
		{"silent", -1, "no ready line"},
	} {
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		_, err := spawn(t, c.mode, toolport.WithStartTimeout(2*time.Second))
		var failed *toolport.StartError
		if !errors.As(err, &failed) || failed.ExitCode != c.exitCode || !strings.Contains(err.Error(), c.contains) {
			t.Errorf("%s: got %v", c.mode, err)
		}
		if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v (%v)", c.mode, left, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := toolport.Spawn(ctx, toolsFile(t), toolport.WithCommand(os.Args[0]), toolport.WithEnv("TOOLPORT_TEST_SIDECAR=silent"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestSpawnNamesTheMissingFileOrCommand(t *testing.T) {
	if _, err := toolport.Spawn(t.Context(), "no/such/tools.ts"); err == nil || !strings.Contains(err.Error(), "no/such/tools.ts") {
		t.Errorf("got %v", err)
	}
	_, err := toolport.Spawn(t.Context(), toolsFile(t), toolport.WithCommand("no-such-command"))
	if err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("got %v", err)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
