package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestPercentileIsTheSmallestTimeThatTheShareDoesNotExceed(t *testing.T) {
	times := make([]time.Duration, 100)
	for i := range times {
		times[i] = time.Duration(i + 1)
	}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.99: 99, 0.995: 100, 1: 100} {
		if got := percentile(times, share); got != want {
			t.Errorf("the percentile of %v is %d, not %d", share, got, want)
		}
	}
	if got := percentile(times[:1], 0.99); got != 1 {
		t.Errorf("the percentile of one time is %d", got)
	}
}

func TestWarmUpIsNotMeasured(t *testing.T) {
	meter := NewMeter(time.Hour, 0, 0)
	for range 3 {
		if !meter.Ended(time.Now()) {
			t.Fatal("it has enough while it warms up")
		}
	}
	if _, err := meter.Measured(); err == nil {
		t.Error("it has measured something")
	}
}

func TestAServerThatIsGoneFailsTheMeasurement(t *testing.T) {
	meter := NewMeter(0, time.Hour, 1<<30)
	if meter.Ended(time.Now()) {
		t.Error("it goes on")
	}
	if _, err := meter.Measured(); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("it ends with %v", err)
	}
}

func TestStatOfAProcessWithAnyName(t *testing.T) {
	line := "42 (a) R 1 (b) S 7 42 42 0 -1 4194560 1 2 3 4 150 25 6 7 20 0 1 0 100"
	got, ok := parseStat(line)
	if want := (process{parent: 7, used: 1750 * time.Millisecond}); !ok || got != want {
		t.Errorf("it is read as %+v", got)
	}
	if _, ok := parseStat("42 (a) R"); ok {
		t.Error("a line that was cut is read")
	}
}

func TestUsageIsThatOfAProcessWithItsDescendants(t *testing.T) {
	processes := map[int]process{1: {parent: 0}, 2: {parent: 1}, 3: {parent: 2}, 4: {parent: 1}}
	for pid, want := range map[int]bool{1: false, 2: true, 3: true, 4: false, 9: false} {
		if descends(processes, pid, 2) != want {
			t.Errorf("%d descends from 2: %v", pid, !want)
		}
	}
	// It works until it has taken a tick.
	var used usage
	for start := time.Now(); used.server == 0 && time.Since(start) < time.Minute; {
		var err error
		if used, err = usageNow(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if used.server <= 0 || used.server != used.client || used.all < used.client {
		t.Errorf("it is %+v", used)
	}
}
