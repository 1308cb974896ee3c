package toolport_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

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

func TestWaitReadyDoesNotWaitForAWrongToken(t *testing.T) {
	checkGoroutines(t)
	address := listen(t, &fakeServer{}, grpc.UnaryInterceptor(
		func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
			return nil, status.Error(codes.Unauthenticated, "the token is wrong")
		}))
	client, err := toolport.Dial(address, toolport.WithToken("wrong"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if fault := asFault(t, client.WaitReady(t.Context())); fault.Reason != toolport.ReasonUnauthenticated {
		t.Errorf("got %+v", fault)
	}
}
