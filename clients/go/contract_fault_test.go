package toolport_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/code"
)

var stackLine = regexp.MustCompile(`\n\s+at `)

// contractReasons is each reason of the contract's table with the status that
// it travels as.
var contractReasons = sync.OnceValue(func() map[string]string {
	text, err := os.ReadFile(filepath.Join(repository, "proto", "toolport", "v1", "tool_port_service.proto"))
	if err != nil {
		panic(err)
	}
	reasons := make(map[string]string)
	for _, found := range regexp.MustCompile(`(?m)^// \| ([A-Z_]+) +\| ([A-Z_]+) +\|`).FindAllStringSubmatch(string(text), -1) {
		reasons[found[1]] = found[2]
	}
	return reasons
})

// compareFault holds a google.rpc.Status, as JSON data, to the fault that is
// expected and to what every fault of the contract has.
func compareFault(got any, want map[string]any, captured map[string]string, at string) []string {
	status, _ := got.(map[string]any)
	message, _ := status["message"].(string)
	if name := codeName(status["code"]); name != want["code"] {
		return []string{fmt.Sprintf("%s is %s (%s), expected %s", at, name, message, want["code"])}
	}
	if want["local"] == true {
		return nil
	}
	infos, retries := detailsOf(status, "google.rpc.ErrorInfo"), detailsOf(status, "google.rpc.RetryInfo")
	if len(infos) != 1 {
		return []string{fmt.Sprintf("%s has %d details of google.rpc.ErrorInfo, expected one", at, len(infos))}
	}
	info := infos[0]
	metadata, _ := info["metadata"].(map[string]any)
	reason, started := fmt.Sprint(info["reason"]), fmt.Sprint(metadata["started"])
	var found []string
	say := func(format string, args ...any) { found = append(found, at+"'s "+fmt.Sprintf(format, args...)) }
	if info["domain"] != "toolport" {
		say("domain is %v, expected toolport", info["domain"])
	}
	if contractReasons()[reason] != want["code"] {
		say("reason is %s, which is none of the contract's for %s", reason, want["code"])
	}
	if !slices.Contains([]string{"no", "yes", "unknown"}, started) {
		say("started is %s, expected no, yes or unknown", started)
	}
	if message == "" || stackLine.MatchString(message) {
		say("message is %q, expected a sentence without a stack", message)
	}
	if expected, stated := want["reason"]; stated && reason != expected {
		say("reason is %s (%s), expected %s", reason, message, expected)
	}
	if expected, stated := want["started"]; stated && started != expected {
		say("started is %s, expected %s", started, expected)
	}
	if expected, stated := want["message"]; stated {
		found = append(found, compareData(message, expected, captured, at+"'s message")...)
	}
	if want["retryInfo"] == true && !slices.ContainsFunc(retries, delays) {
		say("details have no google.rpc.RetryInfo with a delay above 0")
	}
	return found
}

// codeName is a status as the contract writes it.
func codeName(data any) string {
	number, _ := data.(json.Number)
	n, err := strconv.ParseInt(number.String(), 10, 32)
	if err != nil {
		return "OK"
	}
	return code.Code(n).String()
}

func detailsOf(status map[string]any, name string) []map[string]any {
	var found []map[string]any
	details, _ := status["details"].([]any)
	for _, detail := range details {
		fields, _ := detail.(map[string]any)
		if kind, _ := fields["@type"].(string); strings.HasSuffix(kind, "/"+name) {
			found = append(found, fields)
		}
	}
	return found
}

func delays(retry map[string]any) bool {
	text, _ := retry["retryDelay"].(string)
	delay, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
	return err == nil && delay > 0
}
