package toolport

import (
	"context"
	"fmt"
	"log/slog"
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
	endpoint        *endpoint
	conn            *grpc.ClientConn
	service         toolportv1.ToolPortServiceClient
	logger          *slog.Logger
	maxMessageBytes int
	retryFor        time.Duration
	// explain says what became of the other side, if it knows.
	explain func() string
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
	place, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	place.token = config.token
	endpoint := &endpoint{}
	endpoint.current.Store(place)
	target, authority := "passthrough:///"+place.target, place.authority
	if authority != "" {
		target = "passthrough:///" + authority
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport(config)),
		// A dialer of our own never goes through a proxy.
		grpc.WithContextDialer(endpoint.dial),
		grpc.WithPerRPCCredentials(endpoint),
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
		// A call may have had its effect by the time that it fails: whether to
		// ask again depends on what the transport knows nothing of.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
	}
	if config.authority != "" {
		authority = config.authority
	}
	if authority != "" {
		options = append(options, grpc.WithAuthority(authority))
	}
	conn, err := grpc.NewClient(target, append(options, config.grpc...)...)
	if err != nil {
		return nil, fmt.Errorf("toolport: no client for the address %q: %w", address, err)
	}
	return &Client{
		endpoint:        endpoint,
		conn:            conn,
		service:         toolportv1.NewToolPortServiceClient(conn),
		logger:          config.logger,
		maxMessageBytes: config.maxMessageBytes,
		retryFor:        config.retryFor,
		explain:         func() string { return "" },
	}, nil
}

// Address is what the client was dialed with. A sidecar that was started again
// on TCP has another.
func (c *Client) Address() string { return c.endpoint.current.Load().address }

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
			return c.fault(ctx, err, StartedNo)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("toolport: waited for %s to serve (%w): %v", c.Address(), ctx.Err(), err)
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
