package toolport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// DefaultMaxMessageBytes is how large a message may be, either way, unless
// [WithMaxMessageBytes] says otherwise: 64 MiB, as on the server.
const DefaultMaxMessageBytes = 64 << 20

// A DialOption configures [Dial].
type DialOption interface {
	applyDial(*dialConfig) error
}

// An Option configures [Dial] and [Spawn] alike.
type Option interface {
	DialOption
	SpawnOption
}

type dialConfig struct {
	token           string
	tls             *tls.Config
	authority       string
	logger          *slog.Logger
	maxMessageBytes int
	retryFor        time.Duration
	grpc            []grpc.DialOption
}

func newDialConfig() dialConfig {
	return dialConfig{logger: slog.Default(), maxMessageBytes: DefaultMaxMessageBytes}
}

type option func(*dialConfig) error

func (o option) applyDial(c *dialConfig) error   { return o(c) }
func (o option) applySpawn(c *spawnConfig) error { return o(&c.dialConfig) }

// WithToken sends this bearer token with every call, over plain connections
// too: a sidecar on the loopback interface asks for one and has no TLS.
func WithToken(token string) Option {
	return option(func(c *dialConfig) error {
		token = strings.TrimSpace(token)
		if token == "" {
			return errors.New("toolport: the token is empty; leave WithToken out where the server asks for none")
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("toolport: the token has a character that no header can carry; pass it as the server wrote it")
		}
		c.token = token
		return nil
	})
}

// WithTokenFile is [WithToken] with the text of a file, read once, without the
// white space around it.
func WithTokenFile(path string) Option {
	return option(func(c *dialConfig) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("toolport: the token file can't be read: %w", err)
		}
		if strings.TrimSpace(string(text)) == "" {
			return fmt.Errorf("toolport: the token file %s is empty", path)
		}
		return WithToken(string(text)).applyDial(c)
	})
}

// WithTLS encrypts the connection. For mutual TLS give the configuration a
// client certificate. The default is a plain connection.
func WithTLS(config *tls.Config) Option {
	return option(func(c *dialConfig) error {
		c.tls = config
		return nil
	})
}

// WithAuthority sets the :authority of every call. The default is `localhost`
// on a unix socket and the address on TCP.
func WithAuthority(authority string) Option {
	return option(func(c *dialConfig) error {
		c.authority = authority
		return nil
	})
}

// WithLogger logs to this logger: the sidecar's stderr at level Info, each
// call's end at level Debug. The default is [slog.Default].
func WithLogger(logger *slog.Logger) Option {
	return option(func(c *dialConfig) error {
		if logger == nil {
			return errors.New("toolport: WithLogger needs a logger; slog.New(slog.DiscardHandler) is a silent one")
		}
		c.logger = logger
		return nil
	})
}

// WithMaxMessageBytes bounds a message in bytes, either way. The default is
// [DefaultMaxMessageBytes]; a server with another limit says so in
// [ServerInfo].
func WithMaxMessageBytes(n int) Option {
	return option(func(c *dialConfig) error {
		if n <= 0 {
			return fmt.Errorf("toolport: WithMaxMessageBytes(%d): the limit must be positive", n)
		}
		c.maxMessageBytes = n
		return nil
	})
}

// WithGRPC adds options of grpc-go, such as interceptors or a stats handler.
// They come last and win.
func WithGRPC(options ...grpc.DialOption) Option {
	return option(func(c *dialConfig) error {
		c.grpc = append(c.grpc, options...)
		return nil
	})
}
