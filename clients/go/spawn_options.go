package toolport

import (
	"errors"
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
