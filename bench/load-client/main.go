// Command load-client drives one server as hard as it can and prints what it
// measured as one line of JSON.
//
// It is a closed loop: a fixed number of calls is in flight, each replaced as
// soon as its answer has come and has been compared with the one that is due.
// The first wrong answer ends it with exit code 1.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	mode     string
	address  string
	method   string
	tool     string
	inFlight int
	warmUp   time.Duration
	window   time.Duration
	pid      int
	command  []string
}

func main() {
	o := options{}
	flag.StringVar(&o.mode, "mode", "unary", "how to call: unary, run, mcp-http or mcp-stdio")
	flag.StringVar(&o.address, "address", "", "the server: unix:/path or host:port, a URL for mcp-http")
	flag.StringVar(&o.method, "method", "Execute", "the unary method: Execute, Refuse or Echo")
	flag.StringVar(&o.tool, "tool", "add", "the tool to call: add, whose answer is small, or page, of 64 KiB")
	flag.IntVar(&o.inFlight, "in-flight", 16, "how many calls are in flight")
	flag.DurationVar(&o.warmUp, "warm-up", time.Second, "how long calls are made before it measures")
	flag.DurationVar(&o.window, "window", 3*time.Second, "how long it measures")
	flag.IntVar(&o.pid, "server-pid", 0, "the process whose processor time is measured, with its descendants")
	flag.Parse()
	o.command = flag.Args()

	measured, err := load(o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "load-client: %v\n", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(measured); err != nil {
		os.Exit(1)
	}
}

func load(o options) (Measured, error) {
	work, err := findWorkload(o.tool)
	if err != nil {
		return Measured{}, err
	}
	if o.inFlight < 1 {
		return Measured{}, errors.New("-in-flight must be at least 1")
	}
	meter := NewMeter(o.warmUp, o.window, o.pid)
	switch o.mode {
	case "unary":
		err = loadUnary(o, work, meter)
	case "run":
		err = loadRun(o, work, meter)
	case "mcp-http":
		err = loadMCPOverHTTP(o, work, meter)
	case "mcp-stdio":
		err = loadMCPOverStdio(o, work, meter)
	default:
		err = fmt.Errorf("there is no mode %q; there are unary, run, mcp-http and mcp-stdio", o.mode)
	}
	if err != nil {
		return Measured{}, err
	}
	return meter.Measured()
}
