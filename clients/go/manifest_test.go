package toolport_test

import (
	"context"
	"testing"
	"time"

	"toolport.dev/toolport"
	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

func TestManifestKeepsAbsentAndEmptyApart(t *testing.T) {
	var asked *toolportv1.ManifestRequest
	cost, timeout, no := 0.02, uint32(1500), false
	client := connect(t, &fakeServer{manifest: func(_ context.Context, r *toolportv1.ManifestRequest) (*toolportv1.ManifestResponse, error) {
		asked = r
		return &toolportv1.ManifestResponse{
			Digest: "sha256:1",
			Tools: []*toolportv1.ToolDescriptor{
				{Name: "a", InputSchemaJson: `{"type":"object"}`, CostUsd: &cost, TimeoutMs: &timeout, Destructive: &no},
				{Name: "b"},
			},
			Server: &toolportv1.ServerInfo{Contract: "toolport.v1", MaxMessageBytes: 64 << 20},
		}, nil
	}})
	manifest, err := client.Manifest(t.Context(), toolport.ManifestRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if asked.GetNames() != nil || asked.BudgetTokens != nil {
		t.Errorf("asked %v, want nothing stated", asked)
	}
	a, b := manifest.Tools[0], manifest.Tools[1]
	if *a.CostUSD != 0.02 || *a.Timeout != 1500*time.Millisecond || *a.Destructive || string(a.InputSchema) != `{"type":"object"}` {
		t.Errorf("got %+v", a)
	}
	if b.CostUSD != nil || b.Timeout != nil || b.Destructive != nil || b.OutputSchema != nil {
		t.Errorf("got %+v, want nothing stated", b)
	}
	if manifest.Server.Contract != "toolport.v1" || manifest.Digest != "sha256:1" || manifest.ProviderTools != nil {
		t.Errorf("got %+v", manifest)
	}
	budget := uint32(0)
	if _, err := client.Manifest(t.Context(), toolport.ManifestRequest{Names: []string{}, BudgetTokens: &budget, Format: toolport.FormatAnthropic}); err != nil {
		t.Fatal(err)
	}
	if asked.GetNames() == nil || asked.BudgetTokens == nil || asked.GetFormat() != toolportv1.ManifestFormat_MANIFEST_FORMAT_ANTHROPIC {
		t.Errorf("asked %v, want empty names and a budget of 0", asked)
	}
}

func TestSelectCarriesTheStateAndGivesTheReasons(t *testing.T) {
	var asked *toolportv1.SelectRequest
	forced := "b"
	client := connect(t, &fakeServer{selects: func(_ context.Context, r *toolportv1.SelectRequest) (*toolportv1.SelectResponse, error) {
		asked = r
		return &toolportv1.SelectResponse{Result: &toolportv1.SelectionResult{
			Tools: []string{"b"}, Decided: true, ForcedChoice: &forced,
			Trace: []*toolportv1.StageRecord{{Stage: "forced_choice", Action: toolportv1.StageAction_STAGE_ACTION_FORCED, ForcedChoice: &forced}},
		}}, nil
	}})
	if _, err := client.Select(t.Context(), toolport.SelectRequest{}); err != nil {
		t.Fatal(err)
	}
	if asked.Role != nil || asked.GetCandidates() != nil || asked.GetState().ForcedChoice != nil || asked.GetState().GetIntent() != nil {
		t.Errorf("asked %v, want nothing stated", asked)
	}
	empty := ""
	selection, err := client.Select(t.Context(), toolport.SelectRequest{
		Role: "action", Candidates: []string{}, ForcedChoice: &empty, Extra: map[string]any{"id": int64(9107199254740993)},
		Intent:   &toolport.IntentVerdict{Label: "action", MatchedTools: []string{"b"}},
		Messages: []toolport.Message{{Role: toolport.RoleAssistant, ToolCalls: []toolport.ToolCallRef{{ID: "1", Name: "b"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	state := asked.GetState()
	if asked.GetRole() != "action" || asked.GetCandidates() == nil || state.ForcedChoice == nil || state.GetExtraJson() != `{"id":9107199254740993}` ||
		state.GetIntent().GetLabel() != "action" || asked.GetMessages()[0].GetToolCalls()[0].GetName() != "b" {
		t.Errorf("asked %v", asked)
	}
	if !selection.Decided || *selection.ForcedChoice != "b" || selection.Trace[0].Action != "FORCED" || *selection.Trace[0].ForcedChoice != "b" {
		t.Errorf("got %+v", selection)
	}
}
