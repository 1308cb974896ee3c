package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"toolport.dev/toolport/gen/toolport/v1"
)

// callTimeout bounds every call: a server that never answers fails the run.
const callTimeout = 30 * time.Second

// method is a unary method of the contract: what is sent and where the answer
// is in what comes back. Execute answers a trivial call with one message, so it
// is called as a unary method too, at the same cost to the client.
type method struct {
	request func(w Workload, n uint64) proto.Message
	answer  func() (proto.Message, func() *toolportv1.ToolCall)
}

var methods = map[string]method{
	"Execute": {
		request: func(w Workload, n uint64) proto.Message {
			return &toolportv1.ExecuteRequest{Request: w.Request(n)}
		},
		answer: func() (proto.Message, func() *toolportv1.ToolCall) {
			response := &toolportv1.ExecuteResponse{}
			return response, response.GetCall
		},
	},
	"Refuse": {
		request: func(w Workload, n uint64) proto.Message {
			return &toolportv1.RefuseRequest{Request: w.Request(n)}
		},
		answer: refuseAnswer,
	},
	// A server that sends back what it gets: what it gets is the answer.
	"Echo": {
		request: func(w Workload, n uint64) proto.Message {
			return &toolportv1.RefuseResponse{Call: w.Answer(n)}
		},
		answer: refuseAnswer,
	},
}

func refuseAnswer() (proto.Message, func() *toolportv1.ToolCall) {
	response := &toolportv1.RefuseResponse{}
	return response, response.GetCall
}

func loadUnary(o options, work Workload, meter *Meter) error {
	m, found := methods[o.method]
	if !found {
		return fmt.Errorf("there is no method %q; there are Execute, Refuse and Echo", o.method)
	}
	conn, err := dial(o.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	path := "/toolport.v1.ToolPortService/" + o.method
	call := func(n uint64) error {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		response, answer := m.answer()
		if err := conn.Invoke(ctx, path, m.request(work, n), response); err != nil {
			return err
		}
		return work.Check(n, answer())
	}
	inLoops(o.inFlight, meter, call)
	return nil
}

// inLoops makes calls in as many loops as are to be in flight, until the meter
// has enough or one fails.
func inLoops(inFlight int, meter *Meter, call func(n uint64) error) {
	var last atomic.Uint64
	var loops sync.WaitGroup
	for range inFlight {
		loops.Go(func() {
			for {
				start := time.Now()
				if err := call(last.Add(1)); err != nil {
					meter.Failed(err)
					return
				}
				if !meter.Ended(start) {
					return
				}
			}
		})
	}
	loops.Wait()
}

// dial makes the one connection; it is the same for all servers.
func dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
	)
}
