package toolport

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
)

// An endpoint is where a client connects and what it shows there. Both may
// change while the client lives, when a sidecar is started again.
type endpoint struct {
	current atomic.Pointer[place]
}

type place struct {
	// address is as it was given.
	address string
	// network and target are what a dialer takes.
	network, target string
	// authority is the default one; empty where it is the target.
	authority string
	token     string
}

func (e *endpoint) dial(ctx context.Context, _ string) (net.Conn, error) {
	var d net.Dialer
	p := e.current.Load()
	return d.DialContext(ctx, p.network, p.target)
}

// GetRequestMetadata is the bearer token, over plain connections too.
func (e *endpoint) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token := e.current.Load().token
	if token == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity is false: see [WithToken].
func (e *endpoint) RequireTransportSecurity() bool { return false }

// parseAddress never lets a socket's path be read as a URL, where a percent
// sign or a question mark would change it.
func parseAddress(address string) (*place, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if strings.HasPrefix(path, "//") {
			path = strings.TrimPrefix(path, "//")
		}
		if path == "" {
			return nil, fmt.Errorf("toolport: the address %q names no socket; write unix:/path/to/socket", address)
		}
		return &place{address: address, network: "unix", target: path, authority: "localhost"}, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" || strings.ContainsAny(host, "/?#@") {
		return nil, fmt.Errorf("toolport: %q is no address; write unix:/path/to/socket or host:port", address)
	}
	target := address
	if host == "" {
		target = net.JoinHostPort("localhost", port)
	}
	return &place{address: address, network: "tcp", target: target}, nil
}
