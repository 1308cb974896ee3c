package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"toolport.dev/toolport"
)

// spawnReal starts a real sidecar, and ends it with the test.
func spawnReal(t *testing.T, options ...toolport.SpawnOption) *toolport.Sidecar {
	t.Helper()
	return spawnOn(t, "testdata/tools.ts", options...)
}

func spawnOn(t *testing.T, toolsFile string, options ...toolport.SpawnOption) *toolport.Sidecar {
	t.Helper()
	if _, err := os.Stat(filepath.Join(repository, "dist", "src", "cli", "main.js")); err != nil {
		t.Skip("there is no built checkout around this module")
	}
	checkGoroutines(t)
	sidecar, err := toolport.Spawn(t.Context(), toolsFile, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sidecar.Close() })
	return sidecar
}

// TestARunOnASidecar drives live runs of a real sidecar.
func TestARunOnASidecar(t *testing.T) {
	log := &lockedBuffer{}
	sidecar := spawnReal(t, toolport.WithLogger(slog.New(slog.NewTextHandler(log, nil))))

	t.Run("a thousand calls at once get each their own outcome", func(t *testing.T) {
		run, err := sidecar.Run(t.Context(), "thousand")
		if err != nil {
			t.Fatal(err)
		}
		defer closeRun(t, run)
		if run.Digest() != sidecar.Digest() {
			t.Errorf("the run has the digest %s, the sidecar %s", run.Digest(), sidecar.Digest())
		}
		var running sync.WaitGroup
		for i := range 1000 {
			running.Go(func() {
				call, err := run.Execute(t.Context(), toolport.Request{
					CallID: fmt.Sprint(i), Name: "echo", Arguments: map[string]any{"id": i},
				})
				if err != nil || call.Text() != fmt.Sprintf(`{"id":%d}`, i) {
					t.Errorf("got %+v (%v)", call, err)
				}
			})
		}
		running.Wait()
	})

	t.Run("tools ask the kernel, all at once", func(t *testing.T) {
		run, err := sidecar.Run(t.Context(), "asking",
			toolport.WithHost("double", func(_ context.Context, payload json.RawMessage) (any, error) {
				var n int64
				if err := json.Unmarshal(payload, &n); err != nil {
					return nil, err
				}
				return 2 * n, nil
			}),
			toolport.WithHost("refuse", func(context.Context, json.RawMessage) (any, error) {
				return nil, errors.New("not today")
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer closeRun(t, run)
		var running sync.WaitGroup
		for i := range 100 {
			running.Go(func() {
				call, err := run.Execute(t.Context(), toolport.Request{
					CallID: fmt.Sprint(i), Name: "ask", Arguments: map[string]any{"name": "double", "payload": i},
				})
				if err != nil || call.Text() != fmt.Sprintf(`{"answer":%d}`, 2*i) {
					t.Errorf("got %+v (%v)", call, err)
				}
			})
		}
		running.Wait()
		for name, want := range map[string]string{"refuse": "not today", "ghost": `no host function named "ghost"`} {
			call, err := run.Execute(t.Context(), toolport.Request{CallID: name, Name: "ask", Arguments: map[string]any{"name": name}})
			if err != nil || call.ErrorKind != toolport.Raised || !strings.Contains(call.Text(), want) {
				t.Errorf("got %+v (%v), want %s", call, err, want)
			}
		}
	})

	t.Run("cancelling a call ends its tool and its host function", func(t *testing.T) {
		entered, left := make(chan struct{}), make(chan struct{})
		run, err := sidecar.Run(t.Context(), "cancelling",
			toolport.WithHost("wait", func(ctx context.Context, _ json.RawMessage) (any, error) {
				close(entered)
				<-ctx.Done()
				close(left)
				return nil, ctx.Err()
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer closeRun(t, run)
		stream, err := run.Stream(t.Context(), toolport.Request{CallID: "c", Name: "ask", Arguments: map[string]any{"name": "wait"}})
		if err != nil {
			t.Fatal(err)
		}
		<-entered
		stream.Close()
		<-left
		for deadline := time.Now().Add(10 * time.Second); !strings.Contains(log.String(), "woken up"); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the tool's signal did not fire")
			}
		}
	})

	t.Run("a stream that nobody reads holds no other call up", func(t *testing.T) {
		run, err := sidecar.Run(t.Context(), "slow")
		if err != nil {
			t.Fatal(err)
		}
		defer closeRun(t, run)
		slow, err := run.Stream(t.Context(), toolport.Request{CallID: "slow", Name: "talk", Arguments: map[string]any{"times": 20_000}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			if _, err := run.Execute(t.Context(), toolport.Request{CallID: fmt.Sprint(i), Name: "echo"}); err != nil {
				t.Fatal(err)
			}
		}
		if call, err := slow.Result(); err != nil || call.Text() != "said" {
			t.Errorf("got %+v (%v)", call, err)
		}
	})

	t.Run("a run that is opened again elsewhere is taken over", func(t *testing.T) {
		first, err := sidecar.Run(t.Context(), "taken")
		if err != nil {
			t.Fatal(err)
		}
		second, err := sidecar.Run(t.Context(), "taken")
		if err != nil {
			t.Fatal(err)
		}
		<-first.Done()
		if fault := asFault(t, first.Err()); fault.Reason != toolport.ReasonRunTakenOver {
			t.Errorf("got %v", fault)
		}
		closeRun(t, second)
	})

	t.Run("abandoned streams leave no tool behind", func(t *testing.T) {
		run, err := sidecar.Run(t.Context(), "abandoned")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 500 {
			stream, err := run.Stream(t.Context(), toolport.Request{CallID: fmt.Sprint(i), Name: "sleep"})
			if err != nil {
				t.Fatal(err)
			}
			stream.Close()
		}
		// It waits for the server to end every one of them.
		closeRun(t, run)
	})
}

// TestAKilledSidecarIsAClearFaultOfEveryCall allows for a machine that is busy
// with other things: of three sidecars one shows how long it takes.
func TestAKilledSidecarIsAClearFaultOfEveryCall(t *testing.T) {
	const bound = time.Second
	for range 3 {
		took := killSidecar(t)
		t.Logf("every call had ended after %s", took.Round(time.Millisecond))
		if took <= bound {
			return
		}
	}
	t.Errorf("no sidecar's calls had all ended within %s", bound)
}

func killSidecar(t *testing.T) time.Duration {
	t.Helper()
	sidecar := spawnReal(t)
	run, err := sidecar.Run(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	onRun, err := run.Stream(t.Context(), toolport.Request{CallID: "a", Name: "sleep"})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := sidecar.Stream(t.Context(), toolport.Request{CallID: "b", Name: "sleep"})
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []*toolport.Stream{onRun, alone} {
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	killed := time.Now()
	kill(t, sidecar.PID())
	for _, stream := range []*toolport.Stream{onRun, alone} {
		_, err := stream.Result()
		fault := asFault(t, err)
		if fault.Reason != toolport.ReasonConnectionLost || fault.Started != toolport.StartedUnknown || !strings.Contains(err.Error(), sidecar.Address()) {
			t.Errorf("got %v, started %s", err, fault.Started)
		}
	}
	took := time.Since(killed)
	if run.Close() == nil {
		t.Error("the run ended as if in order")
	}
	<-sidecar.Done()
	if err := sidecar.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v", err)
	}
	return took
}

func kill(t *testing.T, pid int) {
	t.Helper()
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestACallGetsItsRecordedOutcomeFromARestartedSidecar(t *testing.T) {
	sidecar := spawnReal(t, toolport.WithRestart(3), toolport.WithRetry(time.Minute))
	file := filepath.Join(t.TempDir(), "lines")
	request := toolport.Request{RunID: "r", CallID: "c", Name: "append", Arguments: map[string]any{"file": file}}
	first, err := sidecar.Execute(t.Context(), request)
	if err != nil || first.Text() != "1" || first.Replayed {
		t.Fatalf("got %+v (%v)", first, err)
	}
	pid := sidecar.PID()
	kill(t, pid)
	again, err := sidecar.Execute(t.Context(), request)
	if err != nil || again.Text() != "1" || !again.Replayed {
		t.Errorf("got %+v (%v)", again, err)
	}
	if sidecar.PID() == pid || sidecar.Restarts() != 1 || sidecar.Err() != nil {
		t.Errorf("process %d, %d restarts, %v", sidecar.PID(), sidecar.Restarts(), sidecar.Err())
	}

	// One that was running when the sidecar died did start, and its outcome is
	// not known: it is asked again, and does not run again.
	request = toolport.Request{RunID: "r", CallID: "d", Name: "append", Arguments: map[string]any{"file": file, "wait": true}}
	stream, err := sidecar.Stream(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	kill(t, sidecar.PID())
	call, err := stream.Result()
	if err != nil || call.ErrorKind != toolport.Indeterminate {
		t.Errorf("got %+v (%v)", call, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "line\nline\n" {
		t.Errorf("the file has %q (%v)", text, err)
	}
	if err := sidecar.Close(); err != nil || sidecar.Err() != nil {
		t.Errorf("got %v, %v", err, sidecar.Err())
	}
}

func TestARunOutlastsARestartOfItsSidecar(t *testing.T) {
	sidecar := spawnReal(t, toolport.WithRestart(3))
	file := filepath.Join(t.TempDir(), "lines")
	run, err := sidecar.Run(t.Context(), "r", toolport.WithResume(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := run.Stream(t.Context(), toolport.Request{CallID: "c", Name: "append", Arguments: map[string]any{"file": file, "wait": true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	kill(t, sidecar.PID())
	call, err := stream.Result()
	if err != nil || call.ErrorKind != toolport.Indeterminate {
		t.Errorf("got %+v (%v)", call, err)
	}
	if call, err := run.Execute(t.Context(), toolport.Request{CallID: "d", Name: "append", Arguments: map[string]any{"file": file}}); err != nil || call.Text() != "2" {
		t.Errorf("got %+v (%v)", call, err)
	}
	closeRun(t, run)
}
