package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"toolport.dev/toolport/gen/toolport/v1"
)

// port answers every call by answer.
type port struct {
	toolportv1.UnimplementedToolPortServiceServer
	answer func(*toolportv1.ToolRequest) *toolportv1.ToolCall
}

func (p port) Refuse(
	_ context.Context, request *toolportv1.RefuseRequest,
) (*toolportv1.RefuseResponse, error) {
	return &toolportv1.RefuseResponse{Call: p.answer(request.GetRequest())}, nil
}

func (p port) Run(
	stream grpc.BidiStreamingServer[toolportv1.RunRequest, toolportv1.RunResponse],
) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return nil
		}
		response := &toolportv1.RunResponse{
			Message: &toolportv1.RunResponse_Opened{Opened: &toolportv1.RunOpened{}},
		}
		if execute := request.GetExecute(); execute != nil {
			response.Message = &toolportv1.RunResponse_Event{Event: &toolportv1.CallEvent{
				Tag:   execute.GetTag(),
				Event: &toolportv1.CallEvent_Call{Call: p.answer(execute.GetRequest().GetRequest())},
			}}
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

// answerTo answers the calls of a workload until the one with the id wrong,
// whose answer is that of another.
func answerTo(work Workload, wrong string) func(*toolportv1.ToolRequest) *toolportv1.ToolCall {
	return func(request *toolportv1.ToolRequest) *toolportv1.ToolCall {
		var n uint64
		fmt.Sscanf(request.GetCallId(), "call-%d", &n)
		call := work.Answer(n)
		if request.GetCallId() == wrong {
			call.Result = work.Answer(n + 1).Result
		}
		return call
	}
}

func serve(t *testing.T, p port) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	toolportv1.RegisterToolPortServiceServer(server, p)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestCallsThatAreAnsweredRightlyAreCounted(t *testing.T) {
	for _, mode := range []string{"unary", "run"} {
		for _, tool := range []string{"add", "page"} {
			t.Run(mode+" "+tool, func(t *testing.T) {
				work, err := findWorkload(tool)
				if err != nil {
					t.Fatal(err)
				}
				measured, err := load(options{
					mode: mode, method: "Refuse", tool: tool, inFlight: 3, window: 50 * time.Millisecond,
					address: serve(t, port{answer: answerTo(work, "")}),
				})
				if err != nil {
					t.Fatal(err)
				}
				if measured.Calls < 1 || measured.Seconds < 0.05 || measured.P99Us < measured.P50Us {
					t.Errorf("it measured %+v", measured)
				}
			})
		}
	}
}

func TestAWrongAnswerFailsTheRun(t *testing.T) {
	for _, mode := range []string{"unary", "run"} {
		t.Run(mode, func(t *testing.T) {
			work, _ := findWorkload("add")
			_, err := load(options{
				mode: mode, method: "Refuse", tool: "add", inFlight: 3, window: time.Minute,
				address: serve(t, port{answer: answerTo(work, work.CallID(7))}),
			})
			if err == nil || !strings.Contains(err.Error(), `call 7 was answered with "8 and 25`) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

func TestAnAnswerMustBeThatOfItsCall(t *testing.T) {
	work, _ := findWorkload("page")
	if err := work.Check(5, work.Answer(5)); err != nil {
		t.Error(err)
	}
	other := work.Answer(6)
	refused := "refused"
	for name, call := range map[string]*toolportv1.ToolCall{
		"none":         nil,
		"another's":    other,
		"other result": {Id: work.CallID(5), Result: other.Result},
		"cut short":    {Id: work.CallID(5), Result: new(work.Answer(5).GetResult()[:1000])},
		"an error":     {Id: work.CallID(5), Error: &refused},
	} {
		if work.Check(5, call) == nil {
			t.Errorf("%s passes", name)
		}
	}
}
