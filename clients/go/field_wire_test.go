package toolport_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"toolport.dev/toolport"
)

const mebibyte = 1 << 20

func fieldLarge(t *testing.T, client *toolport.Client) {
	if made := execute(t, client, "make", map[string]any{"size": 8 * mebibyte}); len(made.Text()) != 8*mebibyte+1 {
		t.Errorf("got %d bytes", len(made.Text()))
	}
	filler := strings.Repeat("y", 6*mebibyte)
	if counted := execute(t, client, "make", map[string]any{"size": 0, "filler": filler}); counted.Text() != fmt.Sprint(6*mebibyte) {
		t.Errorf("got %.100s", counted.Text())
	}
}

// fieldPings is the shipped setting at the highest frequency that grpc-go
// allows, and in idle times too: minutes become seconds.
func fieldPings(t *testing.T, sidecar *toolport.Client) {
	watched := &watchedConns{socket: strings.TrimPrefix(sidecar.Address(), "unix:")}
	client, err := toolport.Dial(sidecar.Address(), toolport.WithGRPC(
		grpc.WithContextDialer(watched.dial),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, PermitWithoutStream: true}),
	))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if call := execute(t, client, "silent", map[string]any{"ms": 10_500}); call.Text() != "at last" {
		t.Errorf("got %s", call.Text())
	}
	_, whileSilent := watched.counts()
	// The next ping is due after 10 s without a word; how long it takes beyond
	// that is the machine's business.
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if _, pings := watched.counts(); pings > whileSilent {
			break
		}
	}
	if call := execute(t, client, "silent", map[string]any{"ms": 0}); call.Text() != "at last" {
		t.Errorf("got %s", call.Text())
	}
	conns, pings := watched.counts()
	if conns != 1 || whileSilent == 0 || pings == whileSilent {
		t.Errorf("%d connections, %d pings during the call and %d in all", conns, whileSilent, pings)
	}
}

// watchedConns counts connections and the pings that the client sends on them.
type watchedConns struct {
	socket string
	mu     sync.Mutex
	conns  int
	pings  int
}

func (w *watchedConns) counts() (conns, pings int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns, w.pings
}

func (w *watchedConns) dial(ctx context.Context, _ string) (net.Conn, error) {
	w.mu.Lock()
	w.conns++
	w.mu.Unlock()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", w.socket)
	return &watchedConn{Conn: conn, of: w, skip: len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")}, err
}

// A watchedConn reads the head of every frame that is written.
type watchedConn struct {
	net.Conn
	of     *watchedConns
	skip   int
	unread []byte
}

func (c *watchedConn) Write(data []byte) (int, error) {
	const headSize, ping, ack = 9, 6, 1
	c.unread = append(c.unread, data...)
	for len(c.unread) >= c.skip+headSize {
		c.unread = c.unread[c.skip:]
		size := binary.BigEndian.Uint32(append([]byte{0}, c.unread[:3]...))
		if c.unread[3] == ping && c.unread[4]&ack == 0 {
			c.of.mu.Lock()
			c.of.pings++
			c.of.mu.Unlock()
		}
		c.skip = headSize + int(size)
	}
	return c.Conn.Write(data)
}

func TestFieldLimits(t *testing.T) {
	t.Run("B75 a manifest of 2,000 tools passes", func(t *testing.T) {
		manifest, err := spawnOn(t, fieldTools, toolport.WithEnv("FIELD_CROWD=1")).Manifest(t.Context(), toolport.ManifestRequest{})
		if err != nil || len(manifest.Tools) != 2009 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("B75 above the limit a call says so and the others go on", func(t *testing.T) {
		client := spawnOn(t, fieldTools, toolport.WithEnv(fmt.Sprintf("TOOLPORT_MAX_MESSAGE_BYTES=%d", mebibyte))).Client
		tooMuch := map[string]any{"size": 0, "filler": strings.Repeat("y", 2*mebibyte)}
		_, err := client.Execute(t.Context(), toolport.Request{CallID: "c", Name: "make", Arguments: tooMuch})
		if fault := asFault(t, err); fault.Reason != toolport.ReasonMessageTooLarge || !strings.Contains(fault.Message, fmt.Sprint(mebibyte)) {
			t.Errorf("got %v", fault)
		}
		size := map[string]any{"size": 2 * mebibyte}
		if call := execute(t, client, "make", size); call.ErrorKind != toolport.ResultTooLarge || !strings.Contains(call.Text(), fmt.Sprintf("%d bytes", 2*mebibyte+1)) {
			t.Errorf("got %.200s", call.Text())
		}
		if call := execute(t, client, "make", size, toolport.WithLargeResults()); len(call.Text()) != 2*mebibyte+1 {
			t.Errorf("got %.200s", call.Text())
		}
		if call := execute(t, client, "make", map[string]any{"size": 1}); call.Text() != "x0" {
			t.Errorf("got %s", call.Text())
		}
	})
}

func TestFieldTokens(t *testing.T) {
	const token = "a-token-that-is-long-enough"
	sidecar := spawnOn(t, fieldTools, toolport.WithServeArgs("--address", "127.0.0.1:0"), toolport.WithEnv("TOOLPORT_TOKEN="+token), toolport.WithToken(token))
	t.Run("B80 no request passes without a valid token", func(t *testing.T) {
		for name, options := range map[string][]toolport.DialOption{"no token": nil, "another": {toolport.WithToken("wrong-token")}} {
			stranger, err := toolport.Dial(sidecar.Address(), options...)
			if err != nil {
				t.Fatal(err)
			}
			request := toolport.Request{CallID: "c", Name: "add"}
			_, executed := stranger.Execute(t.Context(), request)
			_, refused := stranger.Refuse(t.Context(), request, "")
			_, listed := stranger.Manifest(t.Context(), toolport.ManifestRequest{})
			_, selected := stranger.Select(t.Context(), toolport.SelectRequest{})
			_, opened := stranger.Run(t.Context(), "r")
			for _, err := range []error{executed, refused, listed, selected, opened} {
				fault := asFault(t, err)
				if fault.Reason != toolport.ReasonUnauthenticated || fault.Started != toolport.StartedNo {
					t.Errorf("%s: got %v", name, fault)
				}
				for _, secret := range []string{token, "wrong-token", ".ts", "node:"} {
					if strings.Contains(fault.Error(), secret) {
						t.Errorf("%s: the fault says %q: %v", name, secret, fault)
					}
				}
			}
			_ = stranger.Close()
		}
		if call := execute(t, sidecar.Client, "add", nil); call.Text() != "1" {
			t.Errorf("got %s: a tool ran for a stranger", call.Text())
		}
	})
}
