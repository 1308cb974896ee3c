package toolport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

type hostCallKey struct{}

// HostCallID is the id of the call that asks, in the context of a [HostFunc];
// false in any other context.
func HostCallID(ctx context.Context) (string, bool) {
	id, ok := ctx.Value(hostCallKey{}).(string)
	return id, ok
}

// A host runs a run's host functions. Each question has one goroutine, and is
// answered once: a run that was lost and opened again asks for the answer, not
// for another run of the function.
type host struct {
	ctx       context.Context
	functions map[string]HostFunc
	logger    *slog.Logger
	// keeps is true where an answer may be asked for again.
	keeps bool
	// limit is how many bytes an answer may have.
	limit func() int
	send  func(*toolportv1.RunRequest)

	mu      sync.Mutex
	asked   map[string]*question
	running sync.WaitGroup
}

type question struct {
	callID string
	cancel context.CancelFunc
	reply  *toolportv1.HostReply
}

// ask starts the function, or sends the answer that it gave before.
func (h *host) ask(request *toolportv1.HostRequest) {
	id := request.GetRequestId()
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.asked[id]; known != nil {
		if known.reply != nil {
			h.send(replyMessage(known.reply))
		}
		return
	}
	ctx, cancel := context.WithCancel(context.WithValue(h.ctx, hostCallKey{}, request.GetCallId()))
	q := &question{callID: request.GetCallId(), cancel: cancel}
	h.asked[id] = q
	h.running.Go(func() {
		defer cancel()
		// Deferred, since a function may end its goroutine: the tool waits for an answer.
		reply := failed(request, fmt.Sprintf("the host function %q ended its goroutine", request.GetName()), h.limit())
		defer func() { h.answered(q, reply) }()
		reply = h.answer(ctx, request)
	})
}

func (h *host) answered(q *question, reply *toolportv1.HostReply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := reply.GetRequestId()
	if h.asked[id] != q {
		return
	}
	q.reply = reply
	if !h.keeps {
		delete(h.asked, id)
	}
	h.send(replyMessage(reply))
}

// cancel ends a question that needs no answer any more.
func (h *host) cancel(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q := h.asked[id]; q != nil {
		q.cancel()
		delete(h.asked, id)
	}
}

// forget ends what a call has asked.
func (h *host) forget(callID string) {
	h.forgetAll(func(q *question) bool { return q.callID == callID })
}

// close ends every question.
func (h *host) close() {
	h.forgetAll(func(*question) bool { return true })
}

func (h *host) forgetAll(isOver func(*question) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.asked, func(_ string, q *question) bool {
		if !isOver(q) {
			return false
		}
		q.cancel()
		return true
	})
}

func (h *host) answer(ctx context.Context, request *toolportv1.HostRequest) *toolportv1.HostReply {
	text, err := h.run(ctx, request)
	limit := h.limit()
	if err == nil && len(text) > limit {
		err = fmt.Errorf("the answer of the host function %q has %d bytes, more than the %d that a message carries", request.GetName(), len(text), limit)
	}
	if err != nil {
		return failed(request, err.Error(), limit)
	}
	return &toolportv1.HostReply{
		RequestId: request.GetRequestId(),
		Reply:     &toolportv1.HostReply_ResultJson{ResultJson: text},
	}
}

// failed is the answer that there is none. Its text is cut short where no
// message could carry it, which would end the run with every call on it.
func failed(request *toolportv1.HostRequest, text string, limit int) *toolportv1.HostReply {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if size := len(text); size > limit {
		note := fmt.Sprintf(" … (%d bytes in all)", size)
		text = strings.ToValidUTF8(text[:max(0, limit-len(note))], "") + note
	}
	return &toolportv1.HostReply{
		RequestId: request.GetRequestId(),
		Reply:     &toolportv1.HostReply_Error{Error: text},
	}
}

func (h *host) run(ctx context.Context, request *toolportv1.HostRequest) (text string, err error) {
	name := request.GetName()
	function := h.functions[name]
	if function == nil {
		return "", fmt.Errorf("the kernel has no host function named %q; it has %s", name, listed(slices.Sorted(maps.Keys(h.functions))))
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			h.logger.ErrorContext(ctx, "a host function panicked", "name", name, "call", request.GetCallId(), "panic", thrown, "stack", string(debug.Stack()))
			err = fmt.Errorf("the host function %q panicked: %v", name, thrown)
		}
	}()
	payload := request.GetPayloadJson()
	if strings.TrimSpace(payload) == "" {
		payload = "null"
	}
	value, err := function(ctx, json.RawMessage(payload))
	if err != nil {
		// Here, where its own panic is caught: a nil pointer may be an error.
		return "", errors.New(err.Error())
	}
	if text, err = marshal(value); err != nil {
		return "", fmt.Errorf("the answer of the host function %q has no JSON form: %w", name, err)
	}
	return text, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func replyMessage(reply *toolportv1.HostReply) *toolportv1.RunRequest {
	return &toolportv1.RunRequest{Message: &toolportv1.RunRequest_HostReply{HostReply: reply}}
}
