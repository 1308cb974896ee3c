package toolport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Started says whether the tool had started for the request that failed.
type Started string

const (
	// StartedNo: the tool did not start for this request; asking again is safe.
	StartedNo Started = "no"
	// StartedYes: the tool started.
	StartedYes Started = "yes"
	// StartedUnknown: it may have started. Ask again only with a run id, so that
	// the journal keeps the call from running twice.
	StartedUnknown Started = "unknown"
)

// The reasons of a [Fault].
const (
	ReasonCallIDMissing      = "CALL_ID_MISSING"
	ReasonRequestInvalid     = "REQUEST_INVALID"
	ReasonMessageUnparsable  = "MESSAGE_UNPARSABLE"
	ReasonUnauthenticated    = "UNAUTHENTICATED"
	ReasonPermissionDenied   = "PERMISSION_DENIED"
	ReasonDigestMismatch     = "DIGEST_MISMATCH"
	ReasonRunRequired        = "RUN_REQUIRED"
	ReasonRunEnded           = "RUN_ENDED"
	ReasonRunExpired         = "RUN_EXPIRED"
	ReasonCallIDReused       = "CALL_ID_REUSED"
	ReasonRunTakenOver       = "RUN_TAKEN_OVER"
	ReasonOverloaded         = "OVERLOADED"
	ReasonMessageTooLarge    = "MESSAGE_TOO_LARGE"
	ReasonDraining           = "DRAINING"
	ReasonJournalUnavailable = "JOURNAL_UNAVAILABLE"
	ReasonCancelled          = "CANCELLED"
	ReasonDeadlineExceeded   = "DEADLINE_EXCEEDED"
	ReasonUnimplemented      = "UNIMPLEMENTED"
	ReasonInternal           = "INTERNAL"
	// ReasonConnectionLost is this client's own: the sidecar can't be reached or
	// went away before it answered.
	ReasonConnectionLost = "CONNECTION_LOST"
)

// A Fault is a failure that a kernel's author must mend; the model never sees
// it. Find it with [errors.As]. A fault that the caller's own context caused
// also matches [context.Canceled] or [context.DeadlineExceeded] with
// [errors.Is].
type Fault struct {
	// Code is the gRPC status.
	Code codes.Code
	// Reason is one of the Reason constants; a newer server may have others.
	Reason string
	// Started says whether asking again could run the tool a second time.
	Started Started
	// RetryAfter is how long to wait before asking again; 0 where the server
	// did not say.
	RetryAfter time.Duration
	// Message is a sentence for people.
	Message string

	cause error
	// isFinal is true where asking the same way again can't help.
	isFinal bool
}

// Error is one line: reason, status and message.
func (f *Fault) Error() string {
	return fmt.Sprintf("toolport: %s (%s): %s", f.Reason, f.Code, f.Message)
}

// Unwrap is what caused the fault: the context's error, or the one of grpc-go.
func (f *Fault) Unwrap() error { return f.cause }

// GRPCStatus lets the status package of grpc-go read a fault.
func (f *Fault) GRPCStatus() *status.Status { return status.New(f.Code, f.Message) }

// AsFault reads an error of the generated client as a [*Fault]; nil stays nil.
// Where the server did not say whether the tool started, it is
// [StartedUnknown].
func AsFault(err error) *Fault {
	if err == nil {
		return nil
	}
	return newFault(context.Background(), err, StartedUnknown)
}

// newFault reads an error of grpc-go. What the server did not state is filled
// in: started from what the client knows, the reason from the status.
func newFault(ctx context.Context, err error, started Started) *Fault {
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault
	}
	s := status.Convert(err)
	fault := &Fault{Code: s.Code(), Message: s.Message(), Started: started, cause: err}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() != "toolport" {
				continue
			}
			fault.Reason = d.GetReason()
			switch said := Started(d.GetMetadata()["started"]); said {
			case StartedNo, StartedYes, StartedUnknown:
				fault.Started = said
			}
		case *errdetails.RetryInfo:
			fault.RetryAfter = max(0, d.GetRetryDelay().AsDuration())
		}
	}
	if fault.Reason == "" {
		fault.Reason = reasonOf(fault.Code)
	}
	// The server's text for the caller's own decision says less than the
	// context does.
	if cause := ctx.Err(); cause != nil && (fault.Code == codes.Canceled || fault.Code == codes.DeadlineExceeded) {
		fault.cause = cause
		if errors.Is(cause, context.DeadlineExceeded) {
			fault.Code, fault.Reason = codes.DeadlineExceeded, ReasonDeadlineExceeded
		}
	} else if fault.Code == codes.DeadlineExceeded {
		fault.cause = errors.Join(context.DeadlineExceeded, err)
	}
	return fault
}

// fault is [newFault] with a text that says who was lost.
func (c *Client) fault(ctx context.Context, err error, started Started) *Fault {
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault
	}
	fault := newFault(ctx, err, started)
	if fault.Reason == ReasonConnectionLost {
		fault.Message = fmt.Sprintf("the sidecar at %s can't be reached or went away: %s", c.Address(), fault.Message)
		if why := c.explain(); why != "" {
			fault.Message += "; " + why
		}
	}
	return fault
}

func reasonOf(code codes.Code) string {
	switch code {
	case codes.Canceled:
		return ReasonCancelled
	case codes.DeadlineExceeded:
		return ReasonDeadlineExceeded
	case codes.Unavailable:
		return ReasonConnectionLost
	case codes.Unauthenticated:
		return ReasonUnauthenticated
	case codes.PermissionDenied:
		return ReasonPermissionDenied
	case codes.Unimplemented:
		return ReasonUnimplemented
	case codes.ResourceExhausted:
		return ReasonMessageTooLarge
	case codes.InvalidArgument:
		return ReasonRequestInvalid
	default:
		return ReasonInternal
	}
}

// contextFault is the fault of a caller whose context is done.
func contextFault(ctx context.Context, started Started) *Fault {
	return newFault(ctx, status.FromContextError(ctx.Err()).Err(), started)
}

// brokenContract is the fault of a server that does not keep the contract.
func brokenContract(format string, args ...any) *Fault {
	return &Fault{
		Code:    codes.Internal,
		Reason:  ReasonInternal,
		Started: StartedUnknown,
		Message: fmt.Sprintf(format, args...),
	}
}
