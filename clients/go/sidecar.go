package toolport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
	config  spawnConfig
	command func() *exec.Cmd
	digest  string
	done    chan struct{}
	closing context.Context
	close   context.CancelFunc

	closeOnce sync.Once
	closeErr  error

	mu       sync.Mutex
	process  *process
	restarts int
	gaveUp   error
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
	if config.maxRestarts > 0 && !config.statesJournal() {
		args = append(args, "--journal", filepath.Join(dir, "journal.db"))
	}
	args = append(args, config.args...)
	s := &Sidecar{config: config, done: make(chan struct{})}
	s.closing, s.close = context.WithCancel(context.Background())
	s.command = func() *exec.Cmd {
		cmd := exec.Command(launch.name, args...)
		cmd.Dir = config.dir
		cmd.Env = append(launch.environ(), config.env...)
		return cmd
	}
	if err := s.start(ctx); err != nil {
		s.close()
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go s.supervise(dir)
	return s, nil
}

// Digest names the set of tools that the sidecar serves.
func (s *Sidecar) Digest() string { return s.digest }

// PID is the id of the process, the newest one where it was started again.
func (s *Sidecar) PID() int { return s.current().cmd.Process.Pid }

// Restarts is how often the process was started again; see [WithRestart].
func (s *Sidecar) Restarts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restarts
}

// Done is closed when the process has ended, whoever ended it, and won't be
// started again.
func (s *Sidecar) Done() <-chan struct{} { return s.done }

// Err says how the process ended: nil before [Sidecar.Done] is closed, and
// where [Sidecar.Close] ended it.
func (s *Sidecar) Err() error {
	select {
	case <-s.done:
	default:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gaveUp
}

// Close asks the process to end, waits for the calls in flight, kills it when
// the bound has passed, and removes the socket's folder. Closing again waits
// for the same end.
func (s *Sidecar) Close() error {
	s.closeOnce.Do(func() {
		s.close()
		err := s.current().stop(s.config.closeTimeout)
		<-s.done
		s.closeErr = errors.Join(err, s.Client.Close())
	})
	return s.closeErr
}

func (s *Sidecar) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}
