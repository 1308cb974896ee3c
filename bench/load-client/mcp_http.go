package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// mcpSession is a session over Streamable HTTP. HTTP/1.1 has one request on a
// connection, so there are as many connections as calls in flight.
type mcpSession struct {
	url    string
	id     string
	client *http.Client
}

func loadMCPOverHTTP(o options, work Workload, meter *Meter) error {
	session := &mcpSession{url: o.address, client: &http.Client{
		Timeout: callTimeout,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: o.inFlight,
			MaxConnsPerHost:     o.inFlight,
		},
	}}
	defer session.client.CloseIdleConnections()
	if err := session.open(); err != nil {
		return fmt.Errorf("the session was not opened: %w", err)
	}
	inLoops(o.inFlight, meter, func(n uint64) error {
		message, err := session.post(toolsCall(work, n))
		if err != nil {
			return err
		}
		answer, err := readMCPAnswer(message)
		if err != nil {
			return err
		}
		if answer.ID != n {
			return fmt.Errorf("call %d was answered with the id %d", n, answer.ID)
		}
		return answer.check(work)
	})
	return nil
}

func (s *mcpSession) open() error {
	message, err := s.post(initializeRequest())
	if err != nil {
		return err
	}
	if _, err := readMCPAnswer(message); err != nil {
		return err
	}
	_, err = s.post([]byte(initialized))
	return err
}

// post sends a message and returns the one that answers it; none to a
// notification.
func (s *mcpSession) post(message []byte) ([]byte, error) {
	request, err := http.NewRequest(http.MethodPost, s.url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if s.id != "" {
		request.Header.Set("Mcp-Session-Id", s.id)
		request.Header.Set("Mcp-Protocol-Version", mcpVersion)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if id := response.Header.Get("Mcp-Session-Id"); id != "" && s.id == "" {
		s.id = id
	}
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return nil, fmt.Errorf("the server answers %s: %s", response.Status, text)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return lastEvent(response.Body)
	}
	return io.ReadAll(response.Body)
}

// lastEvent reads an event stream to its end.
func lastEvent(body io.Reader) ([]byte, error) {
	var last []byte
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if data, found := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); found {
			last = bytes.Clone(data)
		}
	}
	return last, lines.Err()
}
