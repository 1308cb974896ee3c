package toolport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"
)

// A process owns a started command and its pipes.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *logLines
	ready  chan readyLine
	alive  context.Context
	done   <-chan struct{}
}

func startProcess(cmd *exec.Cmd, logger *slog.Logger) (*process, error) {
	alive, ended := context.WithCancel(context.Background())
	p := &process{cmd: cmd, ready: make(chan readyLine, 1), alive: alive, done: alive.Done()}
	p.stderr = newLogLines(func(line string) { logger.Info(line, "source", "toolport") })
	cmd.Stderr = p.stderr
	cmd.Stdout = newReadyLines(p.ready, func(line string) { logger.Debug(line, "source", "toolport stdout") })
	// What a tool has started may hold the pipes longer than the process lives.
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		ended()
		return nil, fmt.Errorf("toolport: %s can't be started: %w", cmd.Path, err)
	}
	// The open pipe tells the sidecar that its parent lives.
	p.stdin = stdin
	go func() {
		defer ended()
		// How it ended is in ProcessState; the error adds nothing to it.
		_ = cmd.Wait()
	}()
	return p, nil
}

func (p *process) awaitReady(ctx context.Context) (readyLine, error) {
	select {
	case line := <-p.ready:
		return line, line.err
	case <-p.done:
		return readyLine{}, fmt.Errorf("it ended (%s)", p.cmd.ProcessState)
	case <-ctx.Done():
		return readyLine{}, fmt.Errorf("it printed no ready line: %w", ctx.Err())
	}
}

// stop lets the process drain for at most timeout.
func (p *process) stop(timeout time.Duration) error {
	if err := terminate(p.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.kill()
		return fmt.Errorf("toolport: the sidecar could not be asked to end: %w", err)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		p.kill()
		return fmt.Errorf("toolport: the sidecar did not end within %s and was killed", timeout)
	}
}

// endWithin gives how the process ended; empty where it goes on for that long.
func (p *process) endWithin(timeout time.Duration) string {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.cmd.ProcessState.String()
	case <-timer.C:
		return ""
	}
}

// kill ends the process and what it has started, and waits for it.
func (p *process) kill() {
	if p.alive.Err() == nil {
		killGroup(p.cmd.Process)
	}
	<-p.done
}

// socketDir is a fresh folder that only this user can enter, short enough for
// the limit of a socket's path.
func socketDir() (string, error) {
	base := ""
	if len(os.TempDir()) > 80 {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "toolport-")
	if err != nil {
		return "", fmt.Errorf("toolport: no folder for the socket: %w", err)
	}
	return dir, nil
}
