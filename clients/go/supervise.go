package toolport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// A sidecar that has served this long has its restarts back.
const steadyAfter = time.Minute

// Bounds of the wait before a restart; the first one comes at once.
const (
	minRestartDelay = 100 * time.Millisecond
	maxRestartDelay = 5 * time.Second
)

// start starts the process, the first or another, and waits until it serves.
func (s *Sidecar) start(ctx context.Context) error {
	cmd := s.command()
	process, err := startProcess(cmd, s.config.logger)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.startTimeout)
	defer cancel()
	ready, err := process.awaitReady(ctx)
	if err == nil {
		err = s.connect(ctx, ready, process)
	}
	if err != nil {
		process.kill()
		return &StartError{Command: cmd.Args, ExitCode: cmd.ProcessState.ExitCode(), Stderr: process.stderr.tail(), Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = process
	return nil
}

// connect makes the client, or leads the one that there is to where the process
// serves now.
func (s *Sidecar) connect(ctx context.Context, ready readyLine, process *process) error {
	if s.digest != "" && ready.Digest != s.digest {
		return fmt.Errorf("it came back with another set of tools: %s instead of %s", ready.Digest, s.digest)
	}
	config := s.config.dialConfig
	if ready.TokenFile != "" && config.token == "" {
		if err := WithTokenFile(ready.TokenFile).applyDial(&config); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(process.alive, cancel)
	defer stop()
	if s.Client != nil {
		place, err := parseAddress(ready.Address)
		if err != nil {
			return err
		}
		place.token = config.token
		s.endpoint.current.Store(place)
		s.conn.ResetConnectBackoff()
		return s.WaitReady(ctx)
	}
	client, err := dial(ready.Address, config)
	if err != nil {
		return err
	}
	client.explain = s.explain
	s.digest = ready.Digest
	if err := client.WaitReady(ctx); err != nil {
		return errors.Join(err, client.Close())
	}
	s.Client = client
	return nil
}

// explain waits a moment for the end that a lost connection points to.
func (s *Sidecar) explain() string {
	process := s.current()
	if process == nil {
		return ""
	}
	if how := process.endWithin(100 * time.Millisecond); how != "" {
		return fmt.Sprintf("its process %d has ended (%s)", process.cmd.Process.Pid, how)
	}
	return ""
}

// supervise owns the folder and the processes in turn.
func (s *Sidecar) supervise(dir string) {
	defer close(s.done)
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			s.config.logger.Warn("the socket's folder can't be removed", "dir", dir, "error", err)
		}
	}()
	defer s.close()
	failures := 0
	for {
		process, since := s.current(), time.Now()
		<-process.done
		if s.closing.Err() != nil {
			return
		}
		err := fmt.Errorf("toolport: the sidecar ended by itself: %s", process.cmd.ProcessState)
		s.config.logger.Error("the toolport sidecar ended by itself", "pid", process.cmd.Process.Pid, "state", process.cmd.ProcessState.String())
		if time.Since(since) >= steadyAfter {
			failures = 0
		}
		if err = s.restart(&failures, err); err != nil {
			s.mu.Lock()
			s.gaveUp = err
			s.mu.Unlock()
			return
		}
		if s.closing.Err() != nil {
			s.stopLate()
			return
		}
	}
}

// restart tries until a process serves or there were too many failures in a
// row; the error then is of the last one. Nil, too, where the sidecar is being
// closed.
func (s *Sidecar) restart(failures *int, err error) error {
	for *failures < s.config.maxRestarts {
		*failures++
		delay := time.Duration(0)
		if *failures > 1 {
			delay = min(minRestartDelay<<min(*failures-2, 10), maxRestartDelay)
		}
		select {
		case <-time.After(delay):
		case <-s.closing.Done():
			return nil
		}
		if err = s.start(s.closing); err == nil {
			s.mu.Lock()
			s.restarts++
			s.mu.Unlock()
			s.config.logger.Info("the toolport sidecar was started again", "pid", s.PID(), "failures", *failures)
			return nil
		}
		if s.closing.Err() != nil {
			return nil
		}
		s.config.logger.Error("the toolport sidecar can't be started again", "error", err)
	}
	return err
}

// stopLate ends a process that came up while the sidecar was being closed.
func (s *Sidecar) stopLate() {
	if err := s.current().stop(s.config.closeTimeout); err != nil {
		s.config.logger.Warn("the toolport sidecar had to be killed", "error", err)
	}
}
