package toolport_test

import (
	"context"
	"fmt"
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

// TestSidecar drives a real sidecar, found as Spawn finds it for any tools file
// of a checkout.
func TestSidecar(t *testing.T) {
	if _, err := os.Stat(filepath.Join(repository, "dist", "src", "cli", "main.js")); err != nil {
		t.Skip("there is no built checkout around this module")
	}
	checkGoroutines(t)
	log := &lockedBuffer{}
	sidecar, err := toolport.Spawn(t.Context(), "testdata/tools.ts", toolport.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sidecar.Close(); err != nil {
			t.Error(err)
		}
	}()

	t.Run("a 64-bit id comes back with the same digits", func(t *testing.T) {
		call, err := sidecar.Execute(t.Context(), toolport.Request{
			CallID: "c", Name: "echo", Arguments: map[string]any{"id": int64(9107199254740993)},
		})
		if err != nil {
			t.Fatal(err)
		}
		var result struct{ ID int64 }
		if err := call.Decode(&result); err != nil || result.ID != 9107199254740993 {
			t.Errorf("got %d from %s (%v)", result.ID, call.Text(), err)
		}
		if call.ArgumentsJSON != `{"id":9107199254740993}` {
			t.Errorf("the arguments came back as %s", call.ArgumentsJSON)
		}
	})

	t.Run("an error's text arrives as it was thrown", func(t *testing.T) {
		call, err := sidecar.Execute(t.Context(), toolport.Request{CallID: "c", Name: "fail"})
		if err != nil || call.ErrorKind != toolport.Raised || call.Text() != "Error: échec – 失敗 100%\nligne 2" {
			t.Errorf("got %+v (%v)", call, err)
		}
	})

	t.Run("large arguments and results pass", func(t *testing.T) {
		text := strings.Repeat("é", 3<<20)
		call, err := sidecar.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo", Arguments: map[string]any{"text": text}})
		if err != nil {
			t.Fatal(err)
		}
		var result struct{ Text string }
		if err := call.Decode(&result); err != nil || result.Text != text {
			t.Errorf("got %d bytes (%v)", len(result.Text), err)
		}
	})

	t.Run("parallel calls get each their own outcome", func(t *testing.T) {
		var running sync.WaitGroup
		for i := range 50 {
			running.Go(func() {
				want := fmt.Sprintf(`{"id":%d}`, i)
				call, err := sidecar.Execute(t.Context(), toolport.Request{
					CallID: fmt.Sprint(i), Name: "echo", Arguments: map[string]any{"id": i},
				})
				if err != nil || call.Text() != want || call.ID != fmt.Sprint(i) {
					t.Errorf("got %+v (%v), want %s", call, err, want)
				}
			})
		}
		running.Wait()
	})

	t.Run("cancelling wakes the tool up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := sidecar.Stream(ctx, toolport.Request{CallID: "c", Name: "sleep"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		cancel()
		_, err = stream.Result()
		if fault := asFault(t, err); fault.Code != codes.Canceled {
			t.Errorf("got %v", err)
		}
		for deadline := time.Now().Add(10 * time.Second); !strings.Contains(log.String(), "woken up"); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the tool's signal did not fire")
			}
		}
	})

	t.Run("the request's faults say that nothing started", func(t *testing.T) {
		_, err := sidecar.Execute(t.Context(), toolport.Request{Name: "echo"})
		if fault := asFault(t, err); fault.Reason != toolport.ReasonCallIDMissing || fault.Started != toolport.StartedNo {
			t.Errorf("got %+v", fault)
		}
		_, err = sidecar.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo"}, toolport.WithExpectedDigest("sha256:other"))
		if fault := asFault(t, err); fault.Reason != toolport.ReasonDigestMismatch || fault.Started != toolport.StartedNo {
			t.Errorf("got %+v", fault)
		}
	})

	t.Run("the digest is the one of the ready line", func(t *testing.T) {
		manifest, err := sidecar.Manifest(t.Context(), toolport.ManifestRequest{})
		if err != nil || manifest.Digest != sidecar.Digest() || len(manifest.Tools) != 6 {
			t.Errorf("got %+v (%v), want %s", manifest, err, sidecar.Digest())
		}
	})
}

func TestASidecarOnTCPGivesItsToken(t *testing.T) {
	if _, err := os.Stat(filepath.Join(repository, "dist", "src", "cli", "main.js")); err != nil {
		t.Skip("there is no built checkout around this module")
	}
	sidecar, err := toolport.Spawn(t.Context(), "testdata/tools.ts", toolport.WithServeArgs("--address", "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sidecar.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := sidecar.Manifest(t.Context(), toolport.ManifestRequest{}); err != nil {
		t.Error(err)
	}
	stranger, err := toolport.Dial(sidecar.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Close() }()
	_, err = stranger.Manifest(t.Context(), toolport.ManifestRequest{})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonUnauthenticated {
		t.Errorf("got %+v", fault)
	}
}
