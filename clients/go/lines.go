package toolport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// maxLine bounds a line that is kept, in bytes; the rest of it is dropped.
const maxLine = 64 << 10

// tailLines is how many lines of stderr an error quotes.
const tailLines = 20

// lines cuts what is written into lines. A writer is used by one goroutine.
type lines struct {
	partial []byte
	line    func(string)
}

func (l *lines) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		piece, rest, ended := bytes.Cut(data, []byte("\n"))
		l.partial = append(l.partial, piece[:min(len(piece), maxLine-len(l.partial))]...)
		if ended {
			l.line(strings.TrimRight(string(l.partial), "\r"))
			l.partial = l.partial[:0]
		}
		data = rest
	}
	return n, nil
}

// logLines logs every line that is not blank and keeps the last ones.
type logLines struct {
	lines
	mu   sync.Mutex
	last []string
}

func newLogLines(log func(string)) *logLines {
	l := &logLines{}
	l.line = func(line string) {
		if strings.TrimSpace(line) == "" {
			return
		}
		l.mu.Lock()
		l.last = append(l.last[max(0, len(l.last)-tailLines+1):], line)
		l.mu.Unlock()
		log(line)
	}
	return l
}

func (l *logLines) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "\n")
}

// A readyLine is what a sidecar prints when it listens.
type readyLine struct {
	Version   int    `json:"toolport"`
	Address   string `json:"address"`
	Digest    string `json:"digest"`
	PID       int    `json:"pid"`
	TokenFile string `json:"tokenFile"`

	err error
}

// newReadyLines sends the first ready line, and logs every other one.
func newReadyLines(ready chan<- readyLine, log func(string)) *lines {
	found := false
	return &lines{line: func(line string) {
		if !found {
			if r, ok := parseReadyLine(line); ok {
				found = true
				ready <- r
				return
			}
		}
		log(line)
	}}
}

// parseReadyLine is false for any other line.
func parseReadyLine(line string) (readyLine, bool) {
	if !strings.HasPrefix(line, "{") {
		return readyLine{}, false
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &keys) != nil || keys["toolport"] == nil {
		return readyLine{}, false
	}
	var ready readyLine
	switch err := json.Unmarshal([]byte(line), &ready); {
	case err != nil:
		ready.err = fmt.Errorf("its ready line can't be read: %w", err)
	case ready.Version != 1:
		ready.err = fmt.Errorf("its ready line is of version %d, and this client reads version 1; update the client", ready.Version)
	case ready.Address == "":
		ready.err = fmt.Errorf("its ready line names no address: %s", line)
	}
	return ready, true
}
