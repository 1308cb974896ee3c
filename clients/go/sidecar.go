package toolport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A StartError says that the process ended, or did not serve in time. Find it
// with [errors.As].
type StartError struct {
	// Command is what was run.
	Command []string
	// ExitCode is the process's exit code: 2 for a tools file or a flag that
	// can't be served, -1 where it had to be killed.
	ExitCode int
	// Stderr is the end of what it wrote to stderr.
	Stderr string
	// Err is what went wrong.
	Err error
}

// Error names the command, what went wrong, and the end of stderr.
func (e *StartError) Error() string {
	text := fmt.Sprintf("toolport: %q did not start to serve: %v", strings.Join(e.Command, " "), e.Err)
	if e.Stderr != "" {
		text += "; its stderr ends with:\n" + e.Stderr
	}
	return text
}

// Unwrap is what went wrong.
func (e *StartError) Unwrap() error { return e.Err }

// A Sidecar is a process that this program has started, and a [Client] for it.
type Sidecar struct {
	*Client
	ready        readyLine
	process      *process
	closeTimeout time.Duration
	closing      atomic.Bool
	closeOnce    sync.Once
	closeErr     error
}

// Spawn starts a sidecar on a tools file, on a unix socket that only this user
// can reach, and waits until it serves. ctx bounds the start only; end the
// sidecar with [Sidecar.Close]. When this program dies, so does the sidecar.
//
// The command is, in this order: [WithCommand]; TOOLPORT_COMMAND; the nearest
// node_modules/.bin/toolport from the tools file upwards; a built checkout of
// toolport that the tools file is in; `toolport` on the PATH.
func Spawn(ctx context.Context, toolsFile string, options ...SpawnOption) (*Sidecar, error) {
	config := spawnConfig{
		dialConfig:   newDialConfig(),
		startTimeout: 30 * time.Second,
		closeTimeout: 15 * time.Second,
	}
	for _, o := range options {
		if err := o.applySpawn(&config); err != nil {
			return nil, err
		}
	}
	file, err := filepath.Abs(toolsFile)
	if err != nil {
		return nil, fmt.Errorf("toolport: the tools file %q: %w", toolsFile, err)
	}
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("toolport: the tools file can't be read: %w", err)
	}
	launch, err := findCommand(file, config.command)
	if err != nil {
		return nil, err
	}
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	args := append(launch.args[:len(launch.args):len(launch.args)],
		"serve", file, "--address", "unix:"+filepath.Join(dir, "s"), "--exit-with-parent")
	cmd := exec.Command(launch.name, append(args, config.args...)...)
	cmd.Dir = config.dir
	cmd.Env = append(launch.environ(), config.env...)

	process, err := startProcess(cmd, dir, config.logger)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, config.startTimeout)
	defer cancel()
	ready, err := process.awaitReady(ctx)
	var client *Client
	if err == nil {
		client, err = dialReady(ctx, ready, config.dialConfig, process)
	}
	if err != nil {
		process.kill()
		return nil, &StartError{Command: cmd.Args, ExitCode: cmd.ProcessState.ExitCode(), Stderr: process.stderr.tail(), Err: err}
	}
	sidecar := &Sidecar{Client: client, ready: ready, process: process, closeTimeout: config.closeTimeout}
	go sidecar.watch(config.logger)
	return sidecar, nil
}

func dialReady(ctx context.Context, ready readyLine, config dialConfig, process *process) (*Client, error) {
	if ready.TokenFile != "" && config.token == "" {
		if err := WithTokenFile(ready.TokenFile).applyDial(&config); err != nil {
			return nil, err
		}
	}
	client, err := dial(ready.Address, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(process.alive, cancel)
	defer stop()
	if err := client.WaitReady(ctx); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// Digest names the set of tools that the sidecar serves.
func (s *Sidecar) Digest() string { return s.ready.Digest }

// PID is the process's id.
func (s *Sidecar) PID() int { return s.process.cmd.Process.Pid }

// Done is closed when the process has ended, whoever ended it.
func (s *Sidecar) Done() <-chan struct{} { return s.process.done }

// Err says how the process ended: nil while it runs and after [Sidecar.Close].
func (s *Sidecar) Err() error {
	select {
	case <-s.process.done:
	default:
		return nil
	}
	if s.closing.Load() {
		return nil
	}
	return fmt.Errorf("toolport: the sidecar ended by itself: %s", s.process.cmd.ProcessState)
}

// Close asks the process to end, waits for the calls in flight, kills it when
// the bound has passed, and removes the socket's folder. Closing again waits
// for the same end.
func (s *Sidecar) Close() error {
	s.closeOnce.Do(func() {
		select {
		case <-s.process.done:
		default:
			s.closing.Store(true)
		}
		s.closeErr = errors.Join(s.process.stop(s.closeTimeout), s.Client.Close())
	})
	return s.closeErr
}

func (s *Sidecar) watch(logger *slog.Logger) {
	<-s.process.done
	if !s.closing.Load() {
		logger.Error("the toolport sidecar ended by itself", "pid", s.PID(), "state", s.process.cmd.ProcessState.String())
	}
}
