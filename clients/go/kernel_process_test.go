package toolport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"toolport.dev/toolport"
)

// A kernelReport is what the kernel of the test prints once it is at work.
type kernelReport struct {
	PID     int
	Address string
}

// fakeKernel has a call in flight on a sidecar of its own until it is killed.
func fakeKernel(toolsFile string) int {
	ctx := context.Background()
	sidecar, err := toolport.Spawn(ctx, toolsFile, toolport.WithRestart(3))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	run, err := sidecar.Run(ctx, "r", toolport.WithContinueOnDisconnect())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stream, err := run.Stream(ctx, toolport.Request{CallID: "c", Name: "sleep"})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = json.NewEncoder(os.Stdout).Encode(kernelReport{PID: sidecar.PID(), Address: sidecar.Address()})
	_, err = stream.Result()
	fmt.Fprintln(os.Stderr, err)
	return 1
}
