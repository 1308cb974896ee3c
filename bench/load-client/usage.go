package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/PID/stat, which Linux fixes at a hundredth of a
// second for all that read it.
const tick = 10 * time.Millisecond

// usage is processor time. all is what every process took on the two cores that
// server and client are pinned to.
type usage struct {
	server, client, all time.Duration
}

// usageNow is the processor time that the server with its descendants, and this
// process, have taken so far. A pid of 0 stands for no server.
func usageNow(pid int) (usage, error) {
	processes, err := readProcesses()
	if err != nil {
		return usage{}, err
	}
	used := usage{client: processes[os.Getpid()].used}
	if used.all, err = usedOfCores(); err != nil {
		return usage{}, err
	}
	if pid == 0 {
		return used, nil
	}
	if _, lives := processes[pid]; !lives {
		return usage{}, fmt.Errorf("the server's process %d is gone", pid)
	}
	for each := range processes {
		if descends(processes, each, pid) {
			used.server += processes[each].used
		}
	}
	return used, nil
}

// usedOfCores is what the first two cores have worked, by proc_stat(5).
func usedOfCores() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	var ticks int64
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 9 || (fields[0] != "cpu0" && fields[0] != "cpu1") {
			continue
		}
		// user, nice, system, irq, softirq and steal; not idle and iowait.
		for _, at := range []int{1, 2, 3, 6, 7, 8} {
			n, err := strconv.ParseInt(fields[at], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/stat says %q", line)
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * tick, nil
}

type process struct {
	parent int
	used   time.Duration
}

func readProcesses() (map[int]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("cannot read /proc, which only Linux has: %v", err)
	}
	processes := make(map[int]process, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // It has ended meanwhile.
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil {
			continue
		}
		if each, ok := parseStat(string(text)); ok {
			processes[pid] = each
		}
	}
	return processes, nil
}

// parseStat reads a line of proc_pid_stat(5). The name in it may contain
// anything, so the fields are counted from its closing parenthesis.
func parseStat(line string) (process, bool) {
	_, rest, found := cutLast(line, ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 13 {
		return process{}, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	user, err2 := strconv.ParseInt(fields[11], 10, 64)
	system, err3 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return process{}, false
	}
	return process{parent: parent, used: time.Duration(user+system) * tick}, true
}

func cutLast(s, separator string) (before, after string, found bool) {
	at := strings.LastIndex(s, separator)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(separator):], true
}

func descends(processes map[int]process, pid, ancestor int) bool {
	for range len(processes) {
		if pid == ancestor {
			return true
		}
		each, known := processes[pid]
		if !known {
			return false
		}
		pid = each.parent
	}
	return false
}
