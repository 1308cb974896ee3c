package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// longestLine is more than any answer takes, in bytes.
const longestLine = 1 << 20

// loadMCPOverStdio starts the server as its child, which is what the transport
// asks for, and ends it by closing its standard input.
func loadMCPOverStdio(o options, work Workload, meter *Meter) (failure error) {
	if len(o.command) == 0 {
		return errors.New("mcp-stdio needs the server's command after the flags")
	}
	server := exec.Command(o.command[0], o.command[1:]...)
	server.Stderr = os.Stderr
	stdin, err := server.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	deadline := time.AfterFunc(o.warmUp+o.window+runSlack, func() { server.Process.Kill() })
	defer func() {
		stdin.Close()
		failure = errors.Join(failure, server.Wait())
		deadline.Stop()
	}()
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 0, longestLine), longestLine)
	if err := initializeOverStdio(stdin, lines); err != nil {
		return err
	}
	meter.Restart(o.warmUp, server.Process.Pid)
	return callOverStdio(o.inFlight, work, meter, stdin, lines)
}

func initializeOverStdio(stdin io.Writer, lines *bufio.Scanner) error {
	if err := writeLine(stdin, initializeRequest()); err != nil {
		return err
	}
	if _, err := readLine(lines); err != nil {
		return fmt.Errorf("the session was not opened: %w", err)
	}
	return writeLine(stdin, []byte(initialized))
}

func callOverStdio(
	inFlight int, work Workload, meter *Meter, stdin io.Writer, lines *bufio.Scanner,
) error {
	starts := make(map[uint64]time.Time, inFlight)
	var last uint64
	next := func() error {
		last++
		starts[last] = time.Now()
		return writeLine(stdin, toolsCall(work, last))
	}
	for range inFlight {
		if err := next(); err != nil {
			return err
		}
	}
	for len(starts) > 0 {
		answer, err := readLine(lines)
		if err != nil {
			return err
		}
		start, known := starts[answer.ID]
		if !known {
			return fmt.Errorf("there is no call %d in flight", answer.ID)
		}
		if err := answer.check(work); err != nil {
			return err
		}
		delete(starts, answer.ID)
		if !meter.Ended(start) {
			continue
		}
		if err := next(); err != nil {
			return err
		}
	}
	return nil
}

func writeLine(to io.Writer, message []byte) error {
	_, err := to.Write(append(message, '\n'))
	return err
}

func readLine(lines *bufio.Scanner) (mcpAnswer, error) {
	if lines.Scan() {
		return readMCPAnswer(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return mcpAnswer{}, err
	}
	return mcpAnswer{}, errors.New("the server's standard output has ended")
}
