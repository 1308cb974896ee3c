package toolport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// contractCaseTime is how long a case may take.
const contractCaseTime = 20 * time.Second

// A contractCase is one of the contract's, as every language reads it.
type contractCase struct {
	ID, Title, Server, KnownFailure string
	Only                            *struct {
		Protocols []string
		Why       string
	}
	Steps []map[string]any
}

// A contractRun is one execution of a case.
type contractRun struct {
	ctx       context.Context
	conn      *grpc.ClientConn
	variables map[string]string
	rpcs      map[string]*openedRPC
}

type openedRPC struct {
	*contractRPC
	reading contractReading
}

// runContractCase gives a sentence for each difference, after the step that
// showed it; none where the case passes.
func runContractCase(conn *grpc.ClientConn, c contractCase, variables map[string]string) []string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// What is waited for ends with its RPC.
	late := time.AfterFunc(contractCaseTime, cancel)
	defer late.Stop()
	run := &contractRun{ctx: ctx, conn: conn, variables: maps.Clone(variables), rpcs: make(map[string]*openedRPC)}
	run.variables["run"] = fmt.Sprintf("%s-%d", c.ID, time.Now().UnixNano())
	for i, step := range c.Steps {
		found := run.step(step)
		if ctx.Err() != nil {
			found = append(found, fmt.Sprintf("it did not come within %s", contractCaseTime))
		}
		if len(found) > 0 {
			return []string{fmt.Sprintf("step %d (%s): %s", i+1, describeStep(step), strings.Join(found, "; "))}
		}
	}
	return nil
}

func describeStep(step map[string]any) string {
	for _, verb := range []string{"call", "start", "send", "receive", "halfClose", "cancel", "end", "pauseMs"} {
		if of, ok := step[verb]; ok {
			return fmt.Sprintf("%s %v", verb, of)
		}
	}
	return "unknown"
}

// step takes a step and gives the differences that it shows.
func (r *contractRun) step(step map[string]any) []string {
	name := func(verb string) string { text, _ := step[verb].(string); return text }
	rpc := func(verb string) *openedRPC { return r.rpcs[name(verb)] }
	switch {
	case step["call"] != nil:
		if err := r.begin("the call", name("call"), step); err != nil {
			return []string{err.Error()}
		}
		return r.end("the call", step["expect"])
	case step["start"] != nil:
		if err := r.begin(name("start"), name("rpc"), step); err != nil {
			return []string{err.Error()}
		}
	case step["send"] != nil:
		message, err := rpc("send").method.read(step, "message", r.fill)
		if err != nil {
			return []string{err.Error()}
		}
		rpc("send").send(message)
	case step["receive"] != nil:
		if parts, ok := step["anyOrder"].([]any); ok {
			return r.receiveAll(rpc("receive"), parts)
		}
		return r.receive(rpc("receive"), step["message"])
	case step["halfClose"] != nil:
		rpc("halfClose").halfClose()
	case step["cancel"] != nil:
		rpc("cancel").cancel()
	case step["end"] != nil:
		return r.end(name("end"), step["expect"])
	case step["pauseMs"] != nil:
		ms, err := step["pauseMs"].(json.Number).Int64()
		if err != nil {
			return []string{err.Error()}
		}
		time.Sleep(time.Duration(ms) * time.Millisecond)
	default:
		return []string{"there is no such step"}
	}
	return nil
}

func (r *contractRun) begin(name, of string, step map[string]any) error {
	headers, _ := r.fill(step["metadata"]).(map[string]any)
	rpc, err := openContractRPC(r.ctx, r.conn, contractMethods[of], headers, step["timeoutMs"])
	if err != nil {
		return err
	}
	r.rpcs[name] = &openedRPC{contractRPC: rpc}
	if of == "Run" {
		return nil
	}
	message, err := rpc.method.read(step, "request", r.fill)
	if err != nil {
		return err
	}
	rpc.send(message)
	return nil
}

func (r *contractRun) receive(rpc *openedRPC, want any) []string {
	got := rpc.read()
	if got == (absent{}) {
		return []string{fmt.Sprintf("the RPC ended with %s, expected a message", show(rpc.ended()))}
	}
	return r.compare(got, want)
}

func (r *contractRun) receiveAll(rpc *openedRPC, parts []any) []string {
	left := slices.Clone(parts)
	for len(left) > 0 {
		got := rpc.read()
		if got == (absent{}) {
			return []string{fmt.Sprintf("the RPC ended with %s, expected a message", show(rpc.ended()))}
		}
		at := slices.IndexFunc(left, func(part any) bool { return len(r.compare(got, part)) == 0 })
		if at < 0 {
			return []string{fmt.Sprintf("%s came, expected any of %s", show(got), show(left))}
		}
		left = slices.Delete(left, at, at+1)
	}
	return nil
}

func (r *contractRun) end(name string, expected any) []string {
	rpc := r.rpcs[name]
	delete(r.rpcs, name)
	came := []any{}
	for got := rpc.read(); got != (absent{}); got = rpc.read() {
		came = append(came, got)
	}
	status := rpc.ended()
	rpc.cancel()
	rpc.reading.fault(rpc.err)
	expect := expected.(map[string]any)
	if fault, ok := expect["fault"]; ok {
		if found := r.compare(status, map[string]any{"$fault": fault}); len(found) > 0 {
			return found
		}
	} else if status != nil {
		return []string{fmt.Sprintf("the RPC ended with %s, expected OK", show(status))}
	}
	if len(rpc.reading.found) > 0 {
		return rpc.reading.found
	}
	if want, ok := expect["lastMessage"]; ok {
		if len(came) == 0 {
			return r.compare(absent{}, want)
		}
		return r.compare(came[len(came)-1], want)
	}
	if want, ok := expect["message"]; ok {
		return r.compare(came, []any{want})
	}
	want, _ := expect["messages"].([]any)
	return r.compare(came, want)
}

// read is the next message as JSON data; absent once there is none.
func (o *openedRPC) read() any {
	message := o.next()
	if message == nil {
		return absent{}
	}
	o.reading.message(message)
	return protoData(message)
}

func (r *contractRun) compare(got, want any) []string {
	return compareData(got, r.fill(want), r.variables, "it")
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// fill is data with its placeholders, `$repeat` and `$concat` replaced by what
// they stand for.
func (r *contractRun) fill(data any) any {
	switch data := data.(type) {
	case string:
		return placeholder.ReplaceAllStringFunc(data, func(found string) string {
			if value, ok := r.variables[found[2:len(found)-2]]; ok {
				return value
			}
			return found
		})
	case []any:
		filled := make([]any, len(data))
		for i := range data {
			filled[i] = r.fill(data[i])
		}
		return filled
	case map[string]any:
		if parts, ok := data["$repeat"].([]any); ok && len(data) == 1 {
			times, _ := parts[1].(json.Number).Int64()
			return strings.Repeat(parts[0].(string), int(times))
		}
		if parts, ok := data["$concat"].([]any); ok && len(data) == 1 {
			return strings.Join(texts(r.fill(parts)), "")
		}
		filled := make(map[string]any, len(data))
		for key, value := range data {
			filled[r.fill(key).(string)] = r.fill(value)
		}
		return filled
	default:
		return data
	}
}
