package toolport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A SpawnOption configures [Spawn].
type SpawnOption interface {
	applySpawn(*spawnConfig) error
}

type spawnConfig struct {
	dialConfig
	command      []string
	args         []string
	env          []string
	dir          string
	startTimeout time.Duration
	closeTimeout time.Duration
}

type spawnOption func(*spawnConfig) error

func (o spawnOption) applySpawn(c *spawnConfig) error { return o(c) }

// WithCommand runs this command instead of looking for one, such as
// `WithCommand("npx", "toolport")`. The environment variable TOOLPORT_COMMAND
// does the same, split at white space.
func WithCommand(command ...string) SpawnOption {
	return spawnOption(func(c *spawnConfig) error {
		if len(command) == 0 || command[0] == "" {
			return errors.New("toolport: WithCommand needs a command")
		}
		c.command = command
		return nil
	})
}

// WithServeArgs adds arguments to `toolport serve`.
func WithServeArgs(args ...string) SpawnOption {
	return spawnOption(func(c *spawnConfig) error {
		c.args = append(c.args, args...)
		return nil
	})
}

// WithEnv adds `KEY=value` entries to the environment of the sidecar.
func WithEnv(entries ...string) SpawnOption {
	return spawnOption(func(c *spawnConfig) error {
		c.env = append(c.env, entries...)
		return nil
	})
}

// WithDir runs the sidecar in this folder. The default is the current one.
func WithDir(dir string) SpawnOption {
	return spawnOption(func(c *spawnConfig) error {
		c.dir = dir
		return nil
	})
}

// WithStartTimeout bounds the time up to health SERVING. The default is 30 s.
func WithStartTimeout(timeout time.Duration) SpawnOption {
	return spawnOption(func(c *spawnConfig) error {
		c.startTimeout = timeout
		return nil
	})
}

// WithCloseTimeout bounds how long [Sidecar.Close] waits for calls in flight
// before it kills the process. The default is 15 s.
func WithCloseTimeout(timeout time.Duration) SpawnOption {
	return spawnOption(func(c *spawnConfig) error {
		c.closeTimeout = timeout
		return nil
	})
}

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

// A process owns a started command, its pipes and the socket's folder.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *logLines
	ready  chan readyLine
	alive  context.Context
	done   <-chan struct{}
}

func startProcess(cmd *exec.Cmd, dir string, logger *slog.Logger) (*process, error) {
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
		return nil, errors.Join(fmt.Errorf("toolport: %s can't be started: %w", cmd.Path, err), os.RemoveAll(dir))
	}
	// The open pipe tells the sidecar that its parent lives.
	p.stdin = stdin
	go func() {
		defer ended()
		// How it ended is in ProcessState; the error adds nothing to it.
		_ = cmd.Wait()
		if err := os.RemoveAll(dir); err != nil {
			logger.Warn("the socket's folder can't be removed", "dir", dir, "error", err)
		}
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
