package toolport_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

type executeStream = grpc.ServerStreamingServer[toolportv1.ExecuteResponse]

func TestExecuteKeepsEveryDigitThereAndBack(t *testing.T) {
	client := connect(t, &fakeServer{execute: echo})
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo", Arguments: map[string]any{
		"id":      int64(9107199254740993),
		"max":     uint64(math.MaxUint64),
		"exact":   json.Number("1.10"),
		"huge":    huge,
		"html":    "<a & b>",
		"nested":  []any{map[string]any{"id": int64(math.MinInt64)}},
		"replace": "\ufffd",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"exact":1.10,"html":"<a & b>","huge":123456789012345678901234567890,"id":9107199254740993,` +
		`"max":18446744073709551615,"nested":[{"id":-9223372036854775808}],"replace":"` + "\ufffd" + `"}`
	if call.ArgumentsJSON != want {
		t.Errorf("sent %s, want %s", call.ArgumentsJSON, want)
	}
	var typed struct {
		ID int64 `json:"id"`
	}
	if err := call.Decode(&typed); err != nil || typed.ID != 9107199254740993 {
		t.Errorf("decoded %d (%v)", typed.ID, err)
	}
	var untyped map[string]any
	if err := call.Decode(&untyped); err != nil || untyped["max"] != json.Number("18446744073709551615") {
		t.Errorf("decoded %v (%v)", untyped["max"], err)
	}
	var sent map[string]any
	if err := call.DecodeArguments(&sent); err != nil || sent["exact"] != json.Number("1.10") {
		t.Errorf("decoded %v (%v)", sent["exact"], err)
	}
}

func TestArgumentsThatCannotBeCarriedAreAnErrorBeforeSending(t *testing.T) {
	client := connect(t, &fakeServer{execute: func(*toolportv1.ExecuteRequest, executeStream) error {
		t.Error("the call was sent")
		return nil
	}})
	type nested struct{ Names []string }
	for name, arguments := range map[string]any{
		"NaN":                   map[string]any{"x": math.NaN()},
		"infinity":              map[string]any{"x": math.Inf(1)},
		"channel":               map[string]any{"x": make(chan int)},
		"function":              map[string]any{"x": func() {}},
		"bad number":            map[string]any{"x": json.Number("0x1")},
		"list":                  []int{1},
		"text":                  "x",
		"bytes":                 []byte(`{}`),
		"not UTF-8":             map[string]any{"x": "\xff"},
		"key that is not UTF-8": map[string]any{"\xff": 1},
		"nested, not UTF-8":     &struct{ A any }{nested{[]string{"ok", "a\xc3"}}},
		"raw text, not UTF-8":   json.RawMessage("\"\xff\""),
	} {
		_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo", Arguments: arguments})
		var refused *toolport.ArgumentsError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), `"c"`) {
			t.Errorf("%s: got %v, want an ArgumentsError that names the call", name, err)
		}
	}
	if _, err := client.Execute(t.Context(), toolport.Request{CallID: "\xff", Name: "echo"}); err == nil || !strings.Contains(err.Error(), "call id") {
		t.Errorf("got %v, want an error that names the call id", err)
	}
}

func TestRawTextIsSentByteForByte(t *testing.T) {
	client := connect(t, &fakeServer{execute: echo})
	for _, text := range []string{` { "a" : 1.0e+2 } `, `{"a":`, `{"a":1,"a":2}`, `"\ufffd"`, ""} {
		call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "echo", Arguments: json.RawMessage(text)})
		if err != nil {
			t.Fatal(err)
		}
		if call.ArgumentsJSON != text {
			t.Errorf("sent %q, want %q", call.ArgumentsJSON, text)
		}
	}
}

func TestResultAndErrorAreToldApartByPresence(t *testing.T) {
	empty, reason := "", "ValueError: "
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		call := succeeded(r, empty)
		switch r.GetRequest().GetName() {
		case "fails":
			call.Result, call.Error, call.ErrorKind = nil, &reason, toolportv1.ErrorKind_ERROR_KIND_RAISED
		case "newer":
			call.Result, call.Error, call.ErrorKind = nil, &reason, 99
		case "neither":
			call.Result = nil
		case "both":
			call.Error = &reason
		}
		return stream.Send(outcome(call))
	}})
	call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "empty"})
	if err != nil || call.Failed() || call.Result == nil || call.Text() != "" || call.Err() != nil || call.ErrorKind != "" {
		t.Errorf("got %+v (%v), want an empty success", call, err)
	}
	call, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "fails"})
	var toolError *toolport.ToolError
	if err != nil || !call.Failed() || call.Text() != reason || call.ErrorKind != toolport.Raised {
		t.Errorf("got %+v (%v), want a failure", call, err)
	} else if !errors.As(call.Decode(&struct{}{}), &toolError) || toolError.Kind != toolport.Raised {
		t.Errorf("decoding a failure gave %v", toolError)
	}
	if call, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "newer"}); err != nil || call.ErrorKind != "99" {
		t.Errorf("got %+v (%v), want the number of the unknown kind", call, err)
	}
	for _, name := range []string{"neither", "both"} {
		_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: name})
		if fault := asFault(t, err); fault.Reason != toolport.ReasonInternal {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDecodeReadsTextAndStructuredResults(t *testing.T) {
	text := func(s string) *toolport.ToolCall { return &toolport.ToolCall{Result: &s} }
	var s string
	if err := text("plain").Decode(&s); err != nil || s != "plain" {
		t.Errorf("got %q (%v)", s, err)
	}
	var n any
	if err := text("plain").Decode(&n); err == nil {
		t.Errorf("got %v for text that is no JSON", n)
	}
	if err := text(`{} {}`).Decode(&n); err == nil {
		t.Errorf("got %v for two values", n)
	}
	if err := text("42").Decode(&n); err != nil || n != json.Number("42") {
		t.Errorf("got %v (%v)", n, err)
	}
	structured := text("a table for people")
	structured.Structured = json.RawMessage(`"the value"`)
	if err := structured.Decode(&s); err != nil || s != "the value" {
		t.Errorf("got %q (%v)", s, err)
	}
}

func TestStreamGivesEventsInOrderAndTheOutcomeLast(t *testing.T) {
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		if r.GetTimeoutMs() != 2 || r.GetExpectedDigest() != "sha256:1" || r.GetMetadata()["k"] != "v" ||
			r.GetOnDisconnect() != toolportv1.OnDisconnect_ON_DISCONNECT_CONTINUE {
			t.Errorf("the options arrived as %v", r)
		}
		for _, event := range []*toolportv1.ExecuteResponse{
			progress(1, 2, "half"),
			{Event: &toolportv1.ExecuteResponse_Output{Output: &toolportv1.ToolOutput{Output: &toolportv1.ToolOutput_Text{Text: "a"}}}},
			{Event: &toolportv1.ExecuteResponse_Output{Output: &toolportv1.ToolOutput{Output: &toolportv1.ToolOutput_Json{Json: "[1]"}}}},
			{Event: &toolportv1.ExecuteResponse_Output{Output: &toolportv1.ToolOutput{Output: &toolportv1.ToolOutput_Content{
				Content: &toolportv1.Content{MimeType: "image/png", Source: &toolportv1.Content_Data{Data: []byte{1}}},
			}}}},
			{}, // an event of a newer contract
			outcome(succeeded(r, "done")),
		} {
			if err := stream.Send(event); err != nil {
				return err
			}
		}
		return nil
	}})
	stream, err := client.Stream(t.Context(), toolport.Request{CallID: "c", Name: "t"},
		toolport.WithToolTimeout(1500*time.Microsecond), toolport.WithExpectedDigest("sha256:1"),
		toolport.WithMetadata(map[string]string{"k": "v"}), toolport.WithContinueOnDisconnect())
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for event, err := range stream.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case *toolport.Progress:
			if e.Done != 1 || *e.Total != 2 {
				t.Errorf("got %+v", e)
			}
			seen = append(seen, e.Message)
		case *toolport.Output:
			switch {
			case e.Text != nil:
				seen = append(seen, *e.Text)
			case e.JSON != nil:
				seen = append(seen, string(e.JSON))
			default:
				seen = append(seen, e.Content.MIMEType)
			}
		case *toolport.ToolCall:
			seen = append(seen, e.Text())
		}
	}
	if got := strings.Join(seen, " "); got != "half a [1] image/png done" {
		t.Errorf("got %s", got)
	}
	if call, err := stream.Result(); err != nil || call.Text() != "done" || call.Duration != 1500*time.Microsecond {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestAResultInPartsIsJoined(t *testing.T) {
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		if !r.GetAcceptChunks() {
			t.Error("the client does not take parts")
		}
		for part, data := range []string{"caf\xc3", "\xa9"} {
			if r.GetRequest().GetName() == "gap" {
				part++
			}
			chunk := &toolportv1.ResultChunk{Part: uint32(part), Data: []byte(data)}
			if err := stream.Send(&toolportv1.ExecuteResponse{Event: &toolportv1.ExecuteResponse_Chunk{Chunk: chunk}}); err != nil {
				return err
			}
		}
		return stream.Send(outcome(succeeded(r, "")))
	}})
	call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"}, toolport.WithLargeResults())
	if err != nil || call.Text() != "café" {
		t.Errorf("got %+v (%v)", call, err)
	}
	_, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "gap"}, toolport.WithLargeResults())
	if fault := asFault(t, err); fault.Reason != toolport.ReasonInternal {
		t.Errorf("got %v", err)
	}
}

func TestCancellingReachesTheToolAndIsAFault(t *testing.T) {
	aborted := make(chan struct{}, 1)
	client := connect(t, &fakeServer{execute: func(_ *toolportv1.ExecuteRequest, stream executeStream) error {
		if err := stream.Send(progress(0, 1, "")); err != nil {
			return err
		}
		<-stream.Context().Done()
		aborted <- struct{}{}
		return status.FromContextError(stream.Context().Err()).Err()
	}})
	request := toolport.Request{CallID: "c", Name: "t"}
	run := func(name string, ctx context.Context, stop func(*toolport.Stream), code codes.Code, reason string, cause error) {
		stream, err := client.Stream(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		stop(stream)
		_, err = stream.Result()
		<-aborted
		fault := asFault(t, err)
		if fault.Code != code || fault.Reason != reason || fault.Started != toolport.StartedUnknown || !errors.Is(err, cause) {
			t.Errorf("%s: got %v, started %s", name, err, fault.Started)
		}
		if _, again := stream.Recv(); again != err {
			t.Errorf("%s: the fault does not stay: %v", name, again)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	run("cancel", ctx, func(*toolport.Stream) { cancel() }, codes.Canceled, toolport.ReasonCancelled, context.Canceled)
	run("close", t.Context(), (*toolport.Stream).Close, codes.Canceled, toolport.ReasonCancelled, context.Canceled)
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	run("deadline", ctx, func(*toolport.Stream) {}, codes.DeadlineExceeded, toolport.ReasonDeadlineExceeded, context.DeadlineExceeded)
}

func TestAbandonedStreamsLeaveNothingBehind(t *testing.T) {
	var running sync.WaitGroup
	client := connect(t, &fakeServer{execute: func(_ *toolportv1.ExecuteRequest, stream executeStream) error {
		running.Add(1)
		defer running.Done()
		if err := stream.Send(progress(0, 1, "")); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}})
	for range 100 {
		stream, err := client.Stream(t.Context(), toolport.Request{CallID: "c", Name: "t"})
		if err != nil {
			t.Fatal(err)
		}
		for range stream.Events() {
			break
		}
	}
	running.Wait()
}

func TestAFaultCarriesReasonStartedAndRetryAfter(t *testing.T) {
	calls := 0
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, _ executeStream) error {
		calls++
		if r.GetRequest().GetName() == "bare" {
			return status.Error(codes.Unavailable, "gone")
		}
		s, err := status.New(codes.ResourceExhausted, "the queue is full").WithDetails(
			&errdetails.ErrorInfo{Domain: "toolport", Reason: "OVERLOADED", Metadata: map[string]string{"started": "no"}},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)},
		)
		if err != nil {
			return err
		}
		return s.Err()
	}})
	_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	fault := asFault(t, err)
	if fault.Code != codes.ResourceExhausted || fault.Reason != toolport.ReasonOverloaded ||
		fault.Started != toolport.StartedNo || fault.RetryAfter != 1500*time.Millisecond {
		t.Errorf("got %+v", fault)
	}
	if want := "toolport: OVERLOADED (ResourceExhausted): the queue is full"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("grpc reads it as %s", status.Code(err))
	}
	_, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "bare"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonConnectionLost || fault.Started != toolport.StartedUnknown {
		t.Errorf("got %+v", fault)
	}
	if calls != 2 {
		t.Errorf("the server saw %d calls where 2 were made", calls)
	}
	if got := toolport.AsFault(status.Error(codes.Unavailable, "gone")); got.Reason != toolport.ReasonConnectionLost {
		t.Errorf("AsFault gave %+v", got)
	}
	if got := toolport.AsFault(nil); got != nil {
		t.Errorf("AsFault(nil) = %v", got)
	}
}

func TestAStreamThatEndsWithoutAnOutcomeIsAFault(t *testing.T) {
	client := connect(t, &fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream executeStream) error {
		if r.GetRequest().GetName() == "twice" {
			return errors.Join(stream.Send(outcome(succeeded(r, ""))), stream.Send(outcome(succeeded(r, ""))))
		}
		return nil
	}})
	for _, name := range []string{"never", "twice"} {
		_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: name})
		if fault := asFault(t, err); fault.Reason != toolport.ReasonInternal || fault.Started != toolport.StartedUnknown {
			t.Errorf("%s: got %+v", name, fault)
		}
	}
}

func TestWhereNobodyListensTheCallDidNotStart(t *testing.T) {
	checkGoroutines(t)
	client, err := toolport.Dial("unix:" + filepath.Join(t.TempDir(), "nobody"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	_, err = client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	if fault := asFault(t, err); fault.Reason != toolport.ReasonConnectionLost || fault.Started != toolport.StartedNo {
		t.Errorf("got %+v", fault)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := client.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v", err)
	}
}

func TestDialRefusesWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"", "unix:", "localhost", "http://localhost:1", "host:", "a/b:1"} {
		client, err := toolport.Dial(address)
		if err == nil {
			t.Errorf("%q: no error", address)
			_ = client.Close()
		} else if !strings.Contains(err.Error(), "unix:/path/to/socket") {
			t.Errorf("%q: %v does not say what to write", address, err)
		}
	}
	for name, option := range map[string]toolport.DialOption{
		"empty token":        toolport.WithToken(" "),
		"token of two lines": toolport.WithToken("a\nb"),
		"no token file":      toolport.WithTokenFile(filepath.Join(t.TempDir(), "none")),
		"nil logger":         toolport.WithLogger(nil),
		"no room":            toolport.WithMaxMessageBytes(0),
	} {
		if _, err := toolport.Dial("localhost:1", option); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTheTokenTravelsOverPlainTCP(t *testing.T) {
	checkGoroutines(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan metadata.MD, 1)
	serve(t, &fakeServer{manifest: func(ctx context.Context, _ *toolportv1.ManifestRequest) (*toolportv1.ManifestResponse, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		seen <- md
		return &toolportv1.ManifestResponse{}, nil
	}}, listener)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := toolport.Dial(listener.Addr().String(), toolport.WithTokenFile(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Manifest(t.Context(), toolport.ManifestRequest{}); err != nil {
		t.Fatal(err)
	}
	md := <-seen
	if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer s3cret" {
		t.Errorf("authorization arrived as %q", got)
	}
	if got := md.Get(":authority"); len(got) != 1 || got[0] != listener.Addr().String() {
		t.Errorf(":authority arrived as %q", got)
	}
}

func TestAUnixSocketsPathIsTakenAsItIs(t *testing.T) {
	checkGoroutines(t)
	dir := filepath.Join(t.TempDir(), "a%2Fb c?d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	authority := make(chan []string, 2)
	serve(t, &fakeServer{manifest: func(ctx context.Context, _ *toolportv1.ManifestRequest) (*toolportv1.ManifestResponse, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		authority <- md.Get(":authority")
		return &toolportv1.ManifestResponse{}, nil
	}}, listener)
	for _, address := range []string{"unix:" + socket, "unix://" + socket} {
		client, err := toolport.Dial(address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		if _, err := client.Manifest(t.Context(), toolport.ManifestRequest{}); err != nil {
			t.Fatal(err)
		}
		if got := <-authority; len(got) != 1 || got[0] != "localhost" {
			t.Errorf(":authority arrived as %q", got)
		}
	}
}

func TestMessagesUpToTheLimitPassAndLargerOnesAreAFault(t *testing.T) {
	client := connect(t, &fakeServer{execute: echo})
	for _, size := range []int{5 << 20, toolport.DefaultMaxMessageBytes} {
		arguments := map[string]any{"x": strings.Repeat("x", size)}
		call, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t", Arguments: arguments})
		switch {
		case size < toolport.DefaultMaxMessageBytes/2:
			if err != nil || len(call.Text()) < size {
				t.Errorf("%d bytes: %v", size, err)
			}
		default:
			if fault := asFault(t, err); fault.Reason != toolport.ReasonMessageTooLarge || fault.Started != toolport.StartedNo {
				t.Errorf("%d bytes: %+v", size, fault)
			}
		}
	}
}

func TestRefuseGivesTheRecordOfACallThatDidNotRun(t *testing.T) {
	client := connect(t, &fakeServer{refuse: func(_ context.Context, r *toolportv1.RefuseRequest) (*toolportv1.RefuseResponse, error) {
		return &toolportv1.RefuseResponse{Call: &toolportv1.ToolCall{
			Id: r.GetRequest().GetCallId(), Name: r.GetRequest().GetName(), ArgumentsJson: r.GetRequest().GetArgumentsJson(),
			Error: &r.Reason, ErrorKind: toolportv1.ErrorKind_ERROR_KIND_REFUSED,
		}}, nil
	}})
	call, err := client.Refuse(t.Context(), toolport.Request{CallID: "c", Name: "t", Arguments: map[string]any{"a": 1}}, "needs approval")
	if err != nil || call.Text() != "needs approval" || call.ErrorKind != toolport.Refused || call.Duration != 0 || call.ArgumentsJSON != `{"a":1}` {
		t.Errorf("got %+v (%v)", call, err)
	}
}

func TestManifestKeepsAbsentAndEmptyApart(t *testing.T) {
	var asked *toolportv1.ManifestRequest
	cost, timeout, no := 0.02, uint32(1500), false
	client := connect(t, &fakeServer{manifest: func(_ context.Context, r *toolportv1.ManifestRequest) (*toolportv1.ManifestResponse, error) {
		asked = r
		return &toolportv1.ManifestResponse{
			Digest: "sha256:1",
			Tools: []*toolportv1.ToolDescriptor{
				{Name: "a", InputSchemaJson: `{"type":"object"}`, CostUsd: &cost, TimeoutMs: &timeout, Destructive: &no},
				{Name: "b"},
			},
			Server: &toolportv1.ServerInfo{Contract: "toolport.v1", MaxMessageBytes: 64 << 20},
		}, nil
	}})
	manifest, err := client.Manifest(t.Context(), toolport.ManifestRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if asked.GetNames() != nil || asked.BudgetTokens != nil {
		t.Errorf("asked %v, want nothing stated", asked)
	}
	a, b := manifest.Tools[0], manifest.Tools[1]
	if *a.CostUSD != 0.02 || *a.Timeout != 1500*time.Millisecond || *a.Destructive || string(a.InputSchema) != `{"type":"object"}` {
		t.Errorf("got %+v", a)
	}
	if b.CostUSD != nil || b.Timeout != nil || b.Destructive != nil || b.OutputSchema != nil {
		t.Errorf("got %+v, want nothing stated", b)
	}
	if manifest.Server.Contract != "toolport.v1" || manifest.Digest != "sha256:1" || manifest.ProviderTools != nil {
		t.Errorf("got %+v", manifest)
	}
	budget := uint32(0)
	if _, err := client.Manifest(t.Context(), toolport.ManifestRequest{Names: []string{}, BudgetTokens: &budget, Format: toolport.FormatAnthropic}); err != nil {
		t.Fatal(err)
	}
	if asked.GetNames() == nil || asked.BudgetTokens == nil || asked.GetFormat() != toolportv1.ManifestFormat_MANIFEST_FORMAT_ANTHROPIC {
		t.Errorf("asked %v, want empty names and a budget of 0", asked)
	}
}

func TestSelectCarriesTheStateAndGivesTheReasons(t *testing.T) {
	var asked *toolportv1.SelectRequest
	forced := "b"
	client := connect(t, &fakeServer{selects: func(_ context.Context, r *toolportv1.SelectRequest) (*toolportv1.SelectResponse, error) {
		asked = r
		return &toolportv1.SelectResponse{Result: &toolportv1.SelectionResult{
			Tools: []string{"b"}, Decided: true, ForcedChoice: &forced,
			Trace: []*toolportv1.StageRecord{{Stage: "forced_choice", Action: toolportv1.StageAction_STAGE_ACTION_FORCED, ForcedChoice: &forced}},
		}}, nil
	}})
	if _, err := client.Select(t.Context(), toolport.SelectRequest{}); err != nil {
		t.Fatal(err)
	}
	if asked.Role != nil || asked.GetCandidates() != nil || asked.GetState().ForcedChoice != nil || asked.GetState().GetIntent() != nil {
		t.Errorf("asked %v, want nothing stated", asked)
	}
	empty := ""
	selection, err := client.Select(t.Context(), toolport.SelectRequest{
		Role: "action", Candidates: []string{}, ForcedChoice: &empty, Extra: map[string]any{"id": int64(9107199254740993)},
		Intent:   &toolport.IntentVerdict{Label: "action", MatchedTools: []string{"b"}},
		Messages: []toolport.Message{{Role: toolport.RoleAssistant, ToolCalls: []toolport.ToolCallRef{{ID: "1", Name: "b"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	state := asked.GetState()
	if asked.GetRole() != "action" || asked.GetCandidates() == nil || state.ForcedChoice == nil || state.GetExtraJson() != `{"id":9107199254740993}` ||
		state.GetIntent().GetLabel() != "action" || asked.GetMessages()[0].GetToolCalls()[0].GetName() != "b" {
		t.Errorf("asked %v", asked)
	}
	if !selection.Decided || *selection.ForcedChoice != "b" || selection.Trace[0].Action != "FORCED" || *selection.Trace[0].ForcedChoice != "b" {
		t.Errorf("got %+v", selection)
	}
}

func TestCloseMayBeCalledAgain(t *testing.T) {
	client := connect(t, &fakeServer{})
	for range 2 {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "t"})
	if fault := asFault(t, err); fault.Started != toolport.StartedNo {
		t.Errorf("got %+v", fault)
	}
}
