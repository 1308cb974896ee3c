package toolport_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A contractMethod is an RPC by the name that cases have for it.
type contractMethod struct {
	path              string
	request, response proto.Message
	// stream is nil for an RPC of one request and one response.
	stream *grpc.StreamDesc
}

var contractMethods = map[string]contractMethod{
	"Manifest": {path: toolportv1.ToolPortService_Manifest_FullMethodName, request: &toolportv1.ManifestRequest{}, response: &toolportv1.ManifestResponse{}},
	"Select":   {path: toolportv1.ToolPortService_Select_FullMethodName, request: &toolportv1.SelectRequest{}, response: &toolportv1.SelectResponse{}},
	"Refuse":   {path: toolportv1.ToolPortService_Refuse_FullMethodName, request: &toolportv1.RefuseRequest{}, response: &toolportv1.RefuseResponse{}},
	"Execute":  {path: toolportv1.ToolPortService_Execute_FullMethodName, request: &toolportv1.ExecuteRequest{}, response: &toolportv1.ExecuteResponse{}, stream: &grpc.StreamDesc{ServerStreams: true}},
	"Run":      {path: toolportv1.ToolPortService_Run_FullMethodName, request: &toolportv1.RunRequest{}, response: &toolportv1.RunResponse{}, stream: &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}},
	"Health":   {path: healthv1.Health_Check_FullMethodName, request: &healthv1.HealthCheckRequest{}, response: &healthv1.HealthCheckResponse{}},
	// As a client of a later version would call it.
	"Unknown": {path: "/toolport.v1.ToolPortService/Unknown", request: &toolportv1.ManifestRequest{}, response: &toolportv1.ManifestResponse{}},
}

// read is what a step sends: the message under key, or the very bytes that the
// case has, as fields that a message does not know.
func (m contractMethod) read(step map[string]any, key string, fill func(any) any) (proto.Message, error) {
	message := proto.Clone(m.request)
	if text, ok := step["requestBytes"].(string); ok {
		bytes, err := base64.StdEncoding.DecodeString(text)
		message.ProtoReflect().SetUnknown(bytes)
		return message, err
	}
	data, stated := step[key]
	if !stated {
		return message, nil
	}
	text, err := json.Marshal(fill(data))
	if err != nil {
		return nil, err
	}
	return message, protojson.Unmarshal(text, message)
}

// A contractRPC is one RPC on a client's connection. What can't be sent any
// more is dropped: how the RPC ended says why.
type contractRPC struct {
	method contractMethod
	conn   *grpc.ClientConn
	ctx    context.Context
	cancel context.CancelFunc
	stream grpc.ClientStream
	// answer has what an RPC of one response gave, once.
	answer chan error
	reply  proto.Message
	isOver bool
	err    error
}

func openContractRPC(ctx context.Context, conn *grpc.ClientConn, method contractMethod, headers map[string]any, timeoutMs any) (*contractRPC, error) {
	ctx, cancel := context.WithCancel(ctx)
	if number, ok := timeoutMs.(json.Number); ok {
		ms, err := number.Int64()
		if err != nil {
			cancel()
			return nil, err
		}
		ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	}
	for name, value := range headers {
		ctx = metadata.AppendToOutgoingContext(ctx, name, fmt.Sprint(value))
	}
	r := &contractRPC{method: method, conn: conn, ctx: ctx, cancel: cancel, answer: make(chan error, 1)}
	if method.stream != nil {
		r.stream, r.err = conn.NewStream(ctx, method.stream, method.path)
		r.isOver = r.err != nil
	}
	return r, nil
}

func (r *contractRPC) send(message proto.Message) {
	switch {
	case r.isOver:
	case r.stream == nil:
		r.reply = proto.Clone(r.method.response)
		go func() { r.answer <- r.conn.Invoke(r.ctx, r.method.path, message, r.reply) }()
	default:
		if r.stream.SendMsg(message) == nil && !r.method.stream.ClientStreams {
			r.halfClose()
		}
	}
}

func (r *contractRPC) halfClose() {
	if r.stream != nil {
		_ = r.stream.CloseSend()
	}
}

// next is the next message; nil once there is none.
func (r *contractRPC) next() proto.Message {
	if r.isOver {
		return nil
	}
	if r.stream == nil {
		r.err, r.isOver = <-r.answer, true
		if r.err != nil {
			return nil
		}
		return r.reply
	}
	message := proto.Clone(r.method.response)
	if err := r.stream.RecvMsg(message); err != nil {
		r.isOver = true
		if !errors.Is(err, io.EOF) {
			r.err = err
		}
		return nil
	}
	return message
}

// ended is the status that the RPC ended with, as JSON data; nil for OK.
func (r *contractRPC) ended() any {
	for r.next() != nil {
	}
	if r.err == nil {
		return nil
	}
	return protoData(status.Convert(r.err).Proto())
}

// protoData is a message in the canonical JSON mapping.
func protoData(message proto.Message) any {
	text, err := protojson.Marshal(message)
	if err != nil {
		return err.Error()
	}
	var data any
	if err := decodeJSON(text, &data); err != nil {
		return err.Error()
	}
	return data
}
