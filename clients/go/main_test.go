package toolport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// TestMain is also the sidecar that the tests of Spawn start, and the kernel
// that one of them kills: this very binary, told by the environment what to be.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if mode := os.Getenv("TOOLPORT_TEST_SIDECAR"); mode != "" {
		os.Exit(fakeSidecar(mode))
	}
	if toolsFile := os.Getenv("TOOLPORT_TEST_KERNEL"); toolsFile != "" {
		os.Exit(fakeKernel(toolsFile))
	}
	os.Exit(m.Run())
}

// fakeServer is the service with one function for each RPC that a test needs.
type fakeServer struct {
	toolportv1.UnimplementedToolPortServiceServer
	execute  func(*toolportv1.ExecuteRequest, grpc.ServerStreamingServer[toolportv1.ExecuteResponse]) error
	refuse   func(context.Context, *toolportv1.RefuseRequest) (*toolportv1.RefuseResponse, error)
	manifest func(context.Context, *toolportv1.ManifestRequest) (*toolportv1.ManifestResponse, error)
	selects  func(context.Context, *toolportv1.SelectRequest) (*toolportv1.SelectResponse, error)
	run      func(runStream) error
}

func (s *fakeServer) Execute(r *toolportv1.ExecuteRequest, stream grpc.ServerStreamingServer[toolportv1.ExecuteResponse]) error {
	return s.execute(r, stream)
}

func (s *fakeServer) Refuse(ctx context.Context, r *toolportv1.RefuseRequest) (*toolportv1.RefuseResponse, error) {
	return s.refuse(ctx, r)
}

func (s *fakeServer) Manifest(ctx context.Context, r *toolportv1.ManifestRequest) (*toolportv1.ManifestResponse, error) {
	return s.manifest(ctx, r)
}

func (s *fakeServer) Select(ctx context.Context, r *toolportv1.SelectRequest) (*toolportv1.SelectResponse, error) {
	return s.selects(ctx, r)
}

func (s *fakeServer) Run(stream runStream) error { return s.run(stream) }

// echo answers every call with its own arguments as the result.
func echo(r *toolportv1.ExecuteRequest, stream grpc.ServerStreamingServer[toolportv1.ExecuteResponse]) error {
	return stream.Send(outcome(succeeded(r, r.GetRequest().GetArgumentsJson())))
}

func succeeded(r *toolportv1.ExecuteRequest, result string) *toolportv1.ToolCall {
	return &toolportv1.ToolCall{
		Id:            r.GetRequest().GetCallId(),
		Name:          r.GetRequest().GetName(),
		ArgumentsJson: r.GetRequest().GetArgumentsJson(),
		Result:        &result,
		DurationMs:    1.5,
		Attempt:       1,
	}
}

func outcome(call *toolportv1.ToolCall) *toolportv1.ExecuteResponse {
	return &toolportv1.ExecuteResponse{Event: &toolportv1.ExecuteResponse_Call{Call: call}}
}

func progress(done, total float64, message string) *toolportv1.ExecuteResponse {
	return &toolportv1.ExecuteResponse{Event: &toolportv1.ExecuteResponse_Progress{
		Progress: &toolportv1.ToolProgress{Done: done, Total: &total, Message: message},
	}}
}

// listen serves on a unix socket of the test's own and gives its address.
func listen(t testing.TB, server *fakeServer, options ...grpc.ServerOption) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listenAt(t, server, socket, options...)
	return "unix:" + socket
}

func listenAt(t testing.TB, server *fakeServer, socket string, options ...grpc.ServerOption) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Error(err)
		return
	}
	serve(t, server, listener, options...)
}

func serve(t testing.TB, server *fakeServer, listener net.Listener, options ...grpc.ServerOption) {
	t.Helper()
	s := newServer(server, options...)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		// A test may be over before its server has begun.
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
}

// listenForExamples serves on the loopback interface, outside of any test.
func listenForExamples(server *fakeServer) (address string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := newServer(server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(listener)
	}()
	return listener.Addr().String(), func() { s.Stop(); <-served }, nil
}

func newServer(server *fakeServer, options ...grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(append([]grpc.ServerOption{grpc.MaxRecvMsgSize(toolport.DefaultMaxMessageBytes)}, options...)...)
	toolportv1.RegisterToolPortServiceServer(s, server)
	healthv1.RegisterHealthServer(s, health.NewServer())
	return s
}

// connect gives a client that the test's end closes, for a server of its own,
// and fails the test if a goroutine outlives them.
func connect(t testing.TB, server *fakeServer, options ...toolport.DialOption) *toolport.Client {
	t.Helper()
	checkGoroutines(t)
	client, err := toolport.Dial(listen(t, server), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// checkGoroutines fails the test if, in the end, more goroutines run than now.
// Call it before anything whose cleanup ends some.
func checkGoroutines(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		if err := waitForGoroutines(before); err != nil {
			t.Error(err)
		}
	})
}

func waitForGoroutines(atMost int) error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		n := runtime.NumGoroutine()
		if n <= atMost {
			return nil
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines are left where %d were:\n%s", n, atMost, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func asFault(t testing.TB, err error) *toolport.Fault {
	t.Helper()
	var fault *toolport.Fault
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want a fault", err)
	}
	return fault
}

// fakeSidecar does what `toolport serve` does, as far as the client can see.
func fakeSidecar(mode string) int {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	args := strings.Join(os.Args[1:], " ")
	_, rest, _ := strings.Cut(args, "--address unix:")
	socket, flags, _ := strings.Cut(rest, " ")
	fmt.Fprintln(os.Stderr, "args:", args)
	if !strings.HasPrefix(args, "serve ") || !strings.Contains(flags, "--exit-with-parent") {
		return 64
	}
	switch mode {
	case "misconfigured":
		fmt.Fprintln(os.Stderr, "tools[1] resolves to the name 'add', which is already registered")
		return 2
	case "silent":
		<-terminated
		return 0
	case "newer":
		fmt.Println(`{"toolport":2,"address":"unix:/x"}`)
		<-terminated
		return 0
	}
	digest, starts := "sha256:ab", countStarts(filepath.Join(filepath.Dir(socket), "starts"))
	switch {
	case mode == "changing" && starts > 1:
		digest = "sha256:cd"
	case mode == "once" && starts > 1:
		fmt.Fprintln(os.Stderr, "the disk is full")
		return 9
	case mode == "stuck" && starts > 1:
		<-terminated
		return 0
	}
	// One that was killed left its socket behind.
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	started := make(chan struct{}, 1)
	server := newServer(&fakeServer{execute: func(r *toolportv1.ExecuteRequest, stream grpc.ServerStreamingServer[toolportv1.ExecuteResponse]) error {
		switch r.GetRequest().GetName() {
		case "exit":
			os.Exit(7)
		case "slow":
			started <- struct{}{}
			if err := stream.Send(progress(0, 1, "")); err != nil {
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
		return echo(r, stream)
	}})
	go func() {
		fmt.Println("a tool's own noise")
		fmt.Println(`{"level":"info"}`)
		fmt.Printf("{\"toolport\":1,\"address\":\"unix:%s\",\"digest\":\"%s\",\"pid\":%d}\n", socket, digest, os.Getpid())
		// An orphan ends: nothing else ends it.
		if _, err := io.Copy(io.Discard, os.Stdin); err == nil {
			os.Exit(3)
		}
	}()
	go func() {
		for range terminated {
			if mode != "deaf" {
				server.GracefulStop()
			}
		}
	}()
	if err := server.Serve(listener); err != nil {
		return 1
	}
	return 0
}

// countStarts is how often a sidecar was started in this folder.
func countStarts(file string) int {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString("."); err != nil {
		return 0
	}
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return int(info.Size())
}
