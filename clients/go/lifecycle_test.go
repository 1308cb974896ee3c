//go:build unix

package toolport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"toolport.dev/toolport"
)

// TestASidecarEndsWithItsKilledKernel allows for a machine that is busy with
// other things: of three kernels one shows how long it takes.
func TestASidecarEndsWithItsKilledKernel(t *testing.T) {
	if _, err := os.Stat(filepath.Join(repository, "dist", "src", "cli", "main.js")); err != nil {
		t.Skip("there is no built checkout around this module")
	}
	const bound = time.Second
	for range 3 {
		took := killKernel(t)
		t.Logf("the sidecar was gone after %s", took.Round(time.Millisecond))
		if took <= bound {
			return
		}
	}
	t.Errorf("no sidecar was gone within %s", bound)
}

func killKernel(t *testing.T) time.Duration {
	t.Helper()
	kernel := exec.Command(os.Args[0])
	kernel.Env = append(os.Environ(), "TOOLPORT_TEST_KERNEL=testdata/tools.ts", "TMPDIR="+t.TempDir())
	var stderr lockedBuffer
	kernel.Stderr = &stderr
	stdout, err := kernel.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadBytes('\n')
	var report kernelReport
	if err := json.Unmarshal(line, &report); err != nil {
		_ = kernel.Process.Kill()
		_ = kernel.Wait()
		t.Fatalf("the kernel printed %q: %s", line, stderr.String())
	}
	killed := time.Now()
	if err := kernel.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = kernel.Wait()
	for isRunning(report.PID) {
		if time.Since(killed) > 20*time.Second {
			_ = syscall.Kill(report.PID, syscall.SIGKILL)
			t.Fatalf("the sidecar %d did not end:\n%s", report.PID, stderr.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	took := time.Since(killed)
	if _, err := os.Stat(strings.TrimPrefix(report.Address, "unix:")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket of %s is left (%v)", report.Address, err)
	}
	return took
}

// isRunning is false for a process that is gone or waits to be reaped.
func isRunning(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// A cable is a connection to a sidecar that can be cut.
type cable struct {
	address string
	mu      sync.Mutex
	ends    []net.Conn
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.ends {
		_ = end.Close()
	}
	c.ends = nil
}

// plug listens on a socket of its own and leads every connection to another.
func plug(t *testing.T, to string) *cable {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{address: "unix:" + socket}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", strings.TrimPrefix(to, "unix:"))
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.ends = append(c.ends, near, far)
			c.mu.Unlock()
			for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
				running.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		running.Wait()
	})
	return c
}

func TestARunGoesOnOverANewConnection(t *testing.T) {
	sidecar := spawnReal(t)
	cable := plug(t, sidecar.Address())
	client, err := toolport.Dial(cable.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	entered, release := make(chan struct{}), make(chan struct{})
	asks := 0
	run, err := client.Run(t.Context(), "r", toolport.WithResume(time.Minute),
		toolport.WithHost("approve", func(context.Context, json.RawMessage) (any, error) {
			asks++
			close(entered)
			<-release
			return "yes", nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := run.Stream(t.Context(), toolport.Request{CallID: "c", Name: "ask", Arguments: map[string]any{"name": "approve"}})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	cable.cut()
	// It is asked for over the new connection, and joined there.
	if call, err := run.Execute(t.Context(), toolport.Request{CallID: "d", Name: "echo"}); err != nil || call.Failed() {
		t.Errorf("got %+v (%v)", call, err)
	}
	close(release)
	call, err := stream.Result()
	if err != nil || call.Text() != `{"answer":"yes"}` || call.Attempt != 1 {
		t.Errorf("got %+v (%v)", call, err)
	}
	closeRun(t, run)
	if asks != 1 {
		t.Errorf("the kernel was asked %d times", asks)
	}
}
