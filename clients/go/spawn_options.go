package toolport

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
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
	maxRestarts  int
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

// WithJournal keeps the calls of runs and their outcomes in this file, so that
// they outlive the process. The default is a journal in memory; see
// [WithRestart] too.
func WithJournal(file string) SpawnOption { return WithServeArgs("--journal", file) }

// WithRestart starts a sidecar that ended by itself again: the same command on
// the same tools, at most max times in a row; one that has served for a minute
// starts the count anew. The client stays the same and connects again, so
// [WithRetry] beside it lets calls outlast the restart. The default is 0: an
// end is an end.
//
// The journal stays the same, too. Where neither [WithJournal] nor an argument
// or variable of the sidecar's own says which, it is a file that lives as long
// as the [Sidecar], so that a call with a run id that is asked again gets its
// recorded outcome. A sidecar that comes back with another set of tools is
// ended: what a kernel has planned with is never exchanged under it.
func WithRestart(max int) SpawnOption {
	return spawnOption(func(c *spawnConfig) error {
		if max < 0 {
			return fmt.Errorf("toolport: WithRestart(%d): the number must not be negative", max)
		}
		c.maxRestarts = max
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

// statesJournal is true where the sidecar is told which journal to keep.
func (c *spawnConfig) statesJournal() bool {
	isJournal := func(arg string) bool { return arg == "--journal" || strings.HasPrefix(arg, "--journal=") }
	isVariable := func(entry string) bool { return strings.HasPrefix(entry, "TOOLPORT_JOURNAL=") }
	return slices.ContainsFunc(c.args, isJournal) ||
		slices.ContainsFunc(c.env, isVariable) || slices.ContainsFunc(os.Environ(), isVariable)
}
