package main

import (
	"encoding/json"
	"errors"
	"fmt"
)

// mcpVersion is the revision of the Model Context Protocol that is spoken, the
// last one with sessions.
const mcpVersion = "2025-11-25"

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func initializeRequest() []byte {
	return fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,`+
			`"capabilities":{},"clientInfo":{"name":"load-client","version":"1"}}}`, mcpVersion)
}

// toolsCall is the n-th call; its id is n.
func toolsCall(work Workload, n uint64) []byte {
	return fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		n, work.Tool, work.Arguments(n))
}

type mcpAnswer struct {
	ID     uint64 `json:"id"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func readMCPAnswer(message []byte) (mcpAnswer, error) {
	var answer mcpAnswer
	if err := json.Unmarshal(message, &answer); err != nil {
		return answer, fmt.Errorf("%.80q is no answer: %w", message, err)
	}
	if answer.Error != nil {
		return answer, errors.New(answer.Error.Message)
	}
	return answer, nil
}

// check returns an error unless the answer is that of the call whose id it bears.
func (a mcpAnswer) check(work Workload) error {
	if a.Result.IsError || len(a.Result.Content) != 1 {
		return fmt.Errorf("call %d failed: %.200v", a.ID, a.Result)
	}
	return work.CheckText(a.ID, a.Result.Content[0].Text)
}
