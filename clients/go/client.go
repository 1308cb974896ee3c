package toolport

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A Client speaks to one sidecar. It is safe for concurrent use; make one and
// keep it.
type Client struct {
	address string
	conn    *grpc.ClientConn
	service toolportv1.ToolPortServiceClient
	logger  *slog.Logger
}

// Dial makes a client for the sidecar at address: `unix:/path/to/socket` or
// `host:port`. It connects with the first call, so an address where nobody
// listens shows as a [*Fault] of that call; [Client.WaitReady] waits instead.
//
// Close the client when it is no longer needed.
func Dial(address string, options ...DialOption) (*Client, error) {
	config := newDialConfig()
	for _, o := range options {
		if err := o.applyDial(&config); err != nil {
			return nil, err
		}
	}
	return dial(address, config)
}

func dial(address string, config dialConfig) (*Client, error) {
	target, authority, dialer, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport(config)),
		grpc.WithContextDialer(dialer),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(config.maxMessageBytes),
			grpc.MaxCallSendMsgSize(config.maxMessageBytes),
		),
		// The server allows a ping every 10 s; a dead peer is found within 30 s.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:    20 * time.Second,
			Timeout: 10 * time.Second,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay:  50 * time.Millisecond,
				Multiplier: 1.6,
				Jitter:     0.2,
				MaxDelay:   2 * time.Second,
			},
			MinConnectTimeout: 5 * time.Second,
		}),
		// A call may have had its effect by the time that it fails: who asks
		// again is the kernel's decision, not the transport's.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
	}
	if config.authority != "" {
		authority = config.authority
	}
	if authority != "" {
		options = append(options, grpc.WithAuthority(authority))
	}
	if config.token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(config.token)))
	}
	conn, err := grpc.NewClient(target, append(options, config.grpc...)...)
	if err != nil {
		return nil, fmt.Errorf("toolport: no client for the address %q: %w", address, err)
	}
	return &Client{
		address: address,
		conn:    conn,
		service: toolportv1.NewToolPortServiceClient(conn),
		logger:  config.logger,
	}, nil
}

// Address is what the client was dialed with.
func (c *Client) Address() string { return c.address }

// Service is the generated client underneath, for what this package does not
// wrap. Its errors are those of grpc-go; [AsFault] reads them.
func (c *Client) Service() toolportv1.ToolPortServiceClient { return c.service }

// WaitReady waits until the sidecar's health is SERVING, or until ctx is done,
// which is the error then. What waiting can't mend, such as a wrong token, is a
// [*Fault] at once.
func (c *Client) WaitReady(ctx context.Context) error {
	health := healthv1.NewHealthClient(c.conn)
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, 200*time.Millisecond) {
		answer, err := health.Check(ctx, &healthv1.HealthCheckRequest{})
		if err == nil && answer.GetStatus() == healthv1.HealthCheckResponse_SERVING {
			return nil
		}
		switch status.Code(err) {
		case codes.OK:
			err = fmt.Errorf("its health is %s", answer.GetStatus())
		case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented:
			return newFault(ctx, err, StartedNo)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("toolport: waited for %s to serve (%w): %v", c.address, ctx.Err(), err)
		case <-time.After(delay):
		}
	}
}

// Close ends the connection; calls in flight end as faults. Closing again does
// nothing.
func (c *Client) Close() error {
	err := c.conn.Close()
	if err != nil && strings.Contains(err.Error(), grpc.ErrClientConnClosing.Error()) {
		return nil
	}
	return err
}

func transport(config dialConfig) credentials.TransportCredentials {
	if config.tls != nil {
		return credentials.NewTLS(config.tls)
	}
	return insecure.NewCredentials()
}

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (b bearer) RequireTransportSecurity() bool { return false }

type dialer = func(context.Context, string) (net.Conn, error)

// parseAddress never lets a socket's path be read as a URL, where a percent
// sign or a question mark would change it, and never goes through a proxy.
func parseAddress(address string) (target, authority string, dial dialer, err error) {
	var d net.Dialer
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if strings.HasPrefix(path, "//") {
			path = strings.TrimPrefix(path, "//")
		}
		if path == "" {
			return "", "", nil, fmt.Errorf("toolport: the address %q names no socket; write unix:/path/to/socket", address)
		}
		return "passthrough:///localhost", "localhost", func(ctx context.Context, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" || strings.ContainsAny(host, "/?#@") {
		return "", "", nil, fmt.Errorf("toolport: %q is no address; write unix:/path/to/socket or host:port", address)
	}
	if host == "" {
		address = net.JoinHostPort("localhost", port)
	}
	return "passthrough:///" + address, "", func(ctx context.Context, target string) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", target)
	}, nil
}
