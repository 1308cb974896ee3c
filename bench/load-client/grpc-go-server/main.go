// Command grpc-go-server answers the benchmark's calls with grpc-go, as it
// comes. Refuse is the contract's unary method that takes a request and answers
// a call, so it stands in for a plain unary RPC.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"

	"toolport.dev/toolport/gen/toolport/v1"
)

const pageBytes = 64 << 10

type server struct {
	toolportv1.UnimplementedToolPortServiceServer
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer()
	toolportv1.RegisterToolPortServiceServer(s, server{})
	fmt.Printf("{\"address\":%q,\"pid\":%d}\n", listener.Addr(), os.Getpid())
	log.Fatal(s.Serve(listener))
}

func (server) Refuse(
	_ context.Context, request *toolportv1.RefuseRequest,
) (*toolportv1.RefuseResponse, error) {
	call, err := answer(request.GetRequest())
	return &toolportv1.RefuseResponse{Call: call}, err
}

func (server) Run(
	stream grpc.BidiStreamingServer[toolportv1.RunRequest, toolportv1.RunResponse],
) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		response, err := respond(request)
		if err != nil {
			return err
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

func respond(request *toolportv1.RunRequest) (*toolportv1.RunResponse, error) {
	execute := request.GetExecute()
	if execute == nil {
		return &toolportv1.RunResponse{
			Message: &toolportv1.RunResponse_Opened{Opened: &toolportv1.RunOpened{}},
		}, nil
	}
	call, err := answer(execute.GetRequest().GetRequest())
	return &toolportv1.RunResponse{Message: &toolportv1.RunResponse_Event{
		Event: &toolportv1.CallEvent{
			Tag:    execute.GetTag(),
			CallId: call.GetId(),
			Event:  &toolportv1.CallEvent_Call{Call: call},
		},
	}}, err
}

var padding = strings.Repeat("x", pageBytes)

func answer(request *toolportv1.ToolRequest) (*toolportv1.ToolCall, error) {
	var numbers struct{ A, B int64 }
	if err := json.Unmarshal([]byte(request.GetArgumentsJson()), &numbers); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%d and %d make %d, which is the sum of the two numbers.",
		numbers.A, numbers.B, numbers.A+numbers.B)
	if request.GetName() == "page" {
		text += padding[len(text):]
	}
	return &toolportv1.ToolCall{
		Id:            request.GetCallId(),
		Name:          request.GetName(),
		ArgumentsJson: request.GetArgumentsJson(),
		Result:        &text,
	}, nil
}
