package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"toolport.dev/toolport/gen/toolport/v1"
)

// runSlack is how much longer than warm-up and window a run may take.
const runSlack = 30 * time.Second

// loadRun makes all calls on one stream. One goroutine reads and answers each
// end with the next call, so a message costs no switch between goroutines.
func loadRun(o options, work Workload, meter *Meter) error {
	conn, err := dial(o.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), o.warmUp+o.window+runSlack)
	defer cancel()
	stream, err := toolportv1.NewToolPortServiceClient(conn).Run(ctx)
	if err != nil {
		return err
	}
	if err := openRun(stream); err != nil {
		return err
	}
	starts := make(map[uint64]time.Time, o.inFlight)
	var last uint64
	for range o.inFlight {
		last++
		starts[last] = time.Now()
		if err := stream.Send(runCall(work, last)); err != nil {
			return streamError(stream, err)
		}
	}
	for len(starts) > 0 {
		response, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("the run ended with %d calls in flight: %w", len(starts), err)
		}
		event := response.GetEvent()
		start, known := starts[event.GetTag()]
		if !known {
			return fmt.Errorf("nothing is known of what came: %.200s", response)
		}
		if err := checkEvent(work, event); err != nil {
			return err
		}
		delete(starts, event.GetTag())
		if !meter.Ended(start) {
			continue
		}
		last++
		starts[last] = time.Now()
		if err := stream.Send(runCall(work, last)); err != nil {
			return streamError(stream, err)
		}
	}
	return closeRun(stream)
}

type runStream = grpc.BidiStreamingClient[toolportv1.RunRequest, toolportv1.RunResponse]

func openRun(stream runStream) error {
	open := &toolportv1.OpenRun{RunId: "bench-" + rand.Text()}
	if err := stream.Send(&toolportv1.RunRequest{
		Message: &toolportv1.RunRequest_Open{Open: open},
	}); err != nil {
		return streamError(stream, err)
	}
	response, err := stream.Recv()
	if err != nil {
		return fmt.Errorf("the run was not opened: %w", err)
	}
	if response.GetOpened() == nil {
		return fmt.Errorf("the run was not opened: %.200s came", response)
	}
	return nil
}

func runCall(work Workload, n uint64) *toolportv1.RunRequest {
	return &toolportv1.RunRequest{Message: &toolportv1.RunRequest_Execute{
		Execute: &toolportv1.RunCall{
			Tag:     n,
			Request: &toolportv1.ExecuteRequest{Request: work.Request(n)},
		},
	}}
}

func checkEvent(work Workload, event *toolportv1.CallEvent) error {
	if fault := event.GetFault(); fault != nil {
		return fmt.Errorf("call %d ended with the fault %q", event.GetTag(), fault.GetMessage())
	}
	return work.Check(event.GetTag(), event.GetCall())
}

func closeRun(stream runStream) error {
	if err := stream.CloseSend(); err != nil {
		return err
	}
	response, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the run ended badly: %w", err)
	}
	return fmt.Errorf("%.200s came after the last call's end", response)
}

// streamError finds the status behind the io.EOF of a Send.
func streamError(stream runStream, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	_, err = stream.Recv()
	return fmt.Errorf("the run ended while calls were sent: %w", err)
}
