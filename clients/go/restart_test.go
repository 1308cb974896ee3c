package toolport_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolport.dev/toolport"
)

// die has the fake sidecar end by itself.
func die(t *testing.T, sidecar *toolport.Sidecar) {
	t.Helper()
	_, err := sidecar.Execute(t.Context(), toolport.Request{CallID: "c", Name: "exit"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonConnectionLost || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("got %v", err)
	}
}

func waitForRestarts(t *testing.T, sidecar *toolport.Sidecar, n int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); sidecar.Restarts() < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there were %d restarts, want %d", sidecar.Restarts(), n)
		}
	}
}

func TestASidecarThatDiesIsStartedAgainInItsPlace(t *testing.T) {
	checkGoroutines(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	log := &lockedBuffer{}
	sidecar, err := spawn(t, "serve", toolport.WithRestart(5), toolport.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	address, pid := sidecar.Address(), sidecar.PID()
	for i := range 2 {
		die(t, sidecar)
		waitForRestarts(t, sidecar, i+1)
		if call, err := sidecar.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo"}); err != nil || call.Failed() {
			t.Errorf("got %+v (%v)", call, err)
		}
	}
	if sidecar.Address() != address || sidecar.PID() == pid || sidecar.Restarts() != 2 || sidecar.Err() != nil {
		t.Errorf("got %s, process %d, %d restarts, %v", sidecar.Address(), sidecar.PID(), sidecar.Restarts(), sidecar.Err())
	}
	journal := filepath.Join(filepath.Dir(strings.TrimPrefix(address, "unix:")), "journal.db")
	if n := strings.Count(log.String(), "--journal "+journal); n != 3 {
		t.Errorf("%d of 3 processes were told to keep %s:\n%s", n, journal, log)
	}
	if err := sidecar.Close(); err != nil || sidecar.Err() != nil {
		t.Errorf("got %v, %v", err, sidecar.Err())
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

func TestAJournalThatIsStatedIsKept(t *testing.T) {
	for name, option := range map[string]toolport.SpawnOption{
		"--journal /j": toolport.WithJournal("/j"),
		"--journal=/j": toolport.WithServeArgs("--journal=/j"),
		"":             toolport.WithEnv("TOOLPORT_JOURNAL=/j"),
	} {
		log := &lockedBuffer{}
		sidecar, err := spawn(t, "serve", toolport.WithRestart(1), option, toolport.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		if err := sidecar.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "journal.db") || !strings.Contains(log.String(), name) {
			t.Errorf("%s: got %s", name, log)
		}
	}
}

func TestASidecarThatCanNotBeStartedAgainIsGivenUp(t *testing.T) {
	for mode, want := range map[string]string{
		"once":     "the disk is full",
		"changing": "another set of tools: sha256:cd instead of sha256:ab",
	} {
		t.Run(mode, func(t *testing.T) {
			checkGoroutines(t)
			sidecar, err := spawn(t, mode, toolport.WithRestart(2))
			if err != nil {
				t.Fatal(err)
			}
			die(t, sidecar)
			<-sidecar.Done()
			var failed *toolport.StartError
			if err := sidecar.Err(); !errors.As(err, &failed) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
			if err := sidecar.Close(); err != nil || sidecar.Restarts() != 0 {
				t.Errorf("got %v after %d restarts", err, sidecar.Restarts())
			}
		})
	}
}

func TestCloseEndsARestartThatIsUnderWay(t *testing.T) {
	checkGoroutines(t)
	sidecar, err := spawn(t, "stuck", toolport.WithRestart(2))
	if err != nil {
		t.Fatal(err)
	}
	die(t, sidecar)
	if err := sidecar.Close(); err != nil || sidecar.Err() != nil {
		t.Errorf("got %v, %v", err, sidecar.Err())
	}
	<-sidecar.Done()
	if _, err := toolport.Spawn(t.Context(), toolsFile(t), toolport.WithRestart(-1)); err == nil {
		t.Error("a negative number is taken")
	}
}
