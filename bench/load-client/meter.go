package main

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// Measured is what a window came to.
type Measured struct {
	// Calls is how many ended within the window.
	Calls int `json:"calls"`
	// Seconds is how long the window was.
	Seconds float64 `json:"seconds"`
	// P50Us and P99Us are the median and the 99th percentile of the calls'
	// times, in microseconds.
	P50Us float64 `json:"p50Us"`
	P99Us float64 `json:"p99Us"`
	// ServerCPUUs is the processor time that the server took in the window, in
	// microseconds a call, and ClientCPUUs what this process took.
	ServerCPUUs float64 `json:"serverCpuUs"`
	ClientCPUUs float64 `json:"clientCpuUs"`
	// Others is how much of one core all other processes took in the window, of
	// the two that server and client are pinned to: above a few hundredths, the
	// rest is not worth much.
	Others float64 `json:"others"`
}

// Meter counts the calls that end in a window after a warm-up. The window
// begins and ends with the end of a call. It may be used by several goroutines.
type Meter struct {
	warm   time.Time
	window time.Duration
	pid    int

	mu       sync.Mutex
	times    []time.Duration
	from, to time.Time
	usedFrom usage
	usedTo   usage
	err      error
}

// NewMeter makes a meter whose warm-up begins now. pid is the server's process.
func NewMeter(warmUp, window time.Duration, pid int) *Meter {
	return &Meter{
		warm:   time.Now().Add(warmUp),
		window: window,
		pid:    pid,
		times:  make([]time.Duration, 0, 1<<20),
	}
}

// Restart begins the warm-up anew, for a server that has only now started.
func (m *Meter) Restart(warmUp time.Duration, pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.warm = time.Now().Add(warmUp)
	m.pid = pid
}

// Ended takes a call that began at start and has just been answered rightly. It
// returns false once no more calls are to be made.
func (m *Meter) Ended(start time.Time) bool {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.err != nil || !m.to.IsZero():
		return false
	case now.Before(m.warm):
		return true
	case m.from.IsZero():
		m.usedFrom, m.err = usageNow(m.pid)
		m.from = time.Now()
		return m.err == nil
	}
	m.times = append(m.times, now.Sub(start))
	if now.Sub(m.from) < m.window {
		return true
	}
	m.to = now
	m.usedTo, m.err = usageNow(m.pid)
	return false
}

// Failed ends the measurement: the first error is the one that counts.
func (m *Meter) Failed(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

// Measured is what the window came to, or why there is none.
func (m *Meter) Measured() (Measured, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return Measured{}, m.err
	}
	if m.to.IsZero() || len(m.times) == 0 {
		return Measured{}, errors.New("no call ended within the window: make it longer")
	}
	slices.Sort(m.times)
	calls := float64(len(m.times))
	server := m.usedTo.server - m.usedFrom.server
	client := m.usedTo.client - m.usedFrom.client
	others := m.usedTo.all - m.usedFrom.all - server - client
	seconds := m.to.Sub(m.from).Seconds()
	return Measured{
		Calls:       len(m.times),
		Seconds:     seconds,
		P50Us:       micros(percentile(m.times, 0.5)),
		P99Us:       micros(percentile(m.times, 0.99)),
		ServerCPUUs: micros(server) / calls,
		ClientCPUUs: micros(client) / calls,
		Others:      max(0, others.Seconds()/seconds),
	}, nil
}

// percentile is the smallest of the sorted times that a share of them does not
// exceed.
func percentile(sorted []time.Duration, share float64) time.Duration {
	rank := int(share*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

func micros(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1000
}
