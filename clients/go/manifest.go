package toolport

import (
	"context"
	"encoding/json"
	"time"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// A Format is a provider's form of a tool list.
type Format int32

// The formats.
const (
	FormatNone            = Format(toolportv1.ManifestFormat_MANIFEST_FORMAT_UNSPECIFIED)
	FormatOpenAIChat      = Format(toolportv1.ManifestFormat_MANIFEST_FORMAT_OPENAI_CHAT)
	FormatOpenAIResponses = Format(toolportv1.ManifestFormat_MANIFEST_FORMAT_OPENAI_RESPONSES)
	FormatAnthropic       = Format(toolportv1.ManifestFormat_MANIFEST_FORMAT_ANTHROPIC)
	FormatGemini          = Format(toolportv1.ManifestFormat_MANIFEST_FORMAT_GEMINI)
	FormatMCP             = Format(toolportv1.ManifestFormat_MANIFEST_FORMAT_MCP)
)

// ManifestRequest asks for the tools. The zero value asks for all that are not
// hidden.
type ManifestRequest struct {
	// IncludeHidden also lists hidden tools.
	IncludeHidden bool
	// Names lists only these, in the set's order. nil: all. Empty: none.
	Names []string
	// BudgetTokens is the size of Text in tokens of four characters; nil:
	// unlimited.
	BudgetTokens *uint32
	// Query lists only tools whose name or description contains it in Text.
	Query string
	// Format also renders the tools for this provider.
	Format Format
	// Strict rewrites schemas for the provider's strict mode where it has one.
	Strict bool
}

// A Manifest is what the tools are: the same for the life of the sidecar.
type Manifest struct {
	// Tools are in the set's order: the adopter's first, then each capability's.
	Tools []ToolDescriptor
	// Digest names the whole set, whatever the request asked to list.
	Digest string
	// Text is the manifest for a prompt: a line an entry, within the budget.
	Text string
	// ProviderTools goes into the provider's `tools`; nil without a format.
	ProviderTools json.RawMessage
	// ProviderNames maps the provider's name of a tool to the name that Execute
	// takes; nil without a format.
	ProviderNames map[string]string
	// Server is what a client must know of the server.
	Server ServerInfo
}

// ServerInfo is what a client must know of the server.
type ServerInfo struct {
	// Version is the server's version.
	Version string
	// Contract is the contract that it serves: `toolport.v1`.
	Contract string
	// MaxMessageBytes is the largest message in bytes, either way.
	MaxMessageBytes int
	// MaxCallsInFlight is how many calls may be in flight before they queue.
	MaxCallsInFlight int
	// Features is what it offers beyond the contract's minimum.
	Features []string
}

// A ToolDescriptor is a reading of one tool. A nil field is one that the
// author did not state.
type ToolDescriptor struct {
	// Name is the name that Execute takes.
	Name string
	// Description is the whole description; may be empty.
	Description string
	// Summary is the first line of the description that is not blank, trimmed.
	Summary string
	// ManifestEntry is `name: summary`, or the bare name.
	ManifestEntry string
	// Hidden tools are left out of the manifest unless asked for, and treated
	// like any other by Select and Execute.
	Hidden bool
	// InputSchema is the JSON Schema of the arguments.
	InputSchema json.RawMessage
	// OutputSchema is the JSON Schema of the structured result.
	OutputSchema json.RawMessage
	// Category is one such as `web`, `memory`, `data` or `custom`.
	Category *string
	// SafetyLevel is `safe`, `restricted` or `dangerous`.
	SafetyLevel *string
	// CostUSD is what one call costs in US dollars.
	CostUSD *float64
	// Requires is a capability of the kernel that the tool asks for.
	Requires *string
	// MaxCallsPerInvocation is how many calls one run may make.
	MaxCallsPerInvocation *uint32
	// Scope is `public`, `internal` or `admin`.
	Scope *string
	// RoutingMode is `off`, `observe` or `enforce`.
	RoutingMode *string
	// Timeout is the tool's own time limit, from its start.
	Timeout *time.Duration
	// RunAware tools need a live run.
	RunAware bool
	// Idempotent tools are safe to run again.
	Idempotent bool
	// ReadOnly: nil is to be treated as false.
	ReadOnly *bool
	// Destructive: nil is to be treated as true.
	Destructive *bool
	// OpenWorld: nil is to be treated as true.
	OpenWorld *bool
	// Capability contributed the tool; empty for the adopter's own.
	Capability string
}

// Manifest lists the tools.
func (c *Client) Manifest(ctx context.Context, request ManifestRequest) (*Manifest, error) {
	message := &toolportv1.ManifestRequest{
		IncludeHidden: request.IncludeHidden,
		Names:         toolNames(request.Names),
		BudgetTokens:  request.BudgetTokens,
		Query:         request.Query,
		Format:        toolportv1.ManifestFormat(request.Format),
		Strict:        request.Strict,
	}
	response, err := retrying(ctx, c, func() (*toolportv1.ManifestResponse, error) { return c.service.Manifest(ctx, message) })
	if err != nil {
		return nil, err
	}
	return &Manifest{
		Tools:         readDescriptors(response.GetTools()),
		Digest:        response.GetDigest(),
		Text:          response.GetText(),
		ProviderTools: readJSON(response.GetProviderToolsJson()),
		ProviderNames: response.GetProviderNames(),
		Server: ServerInfo{
			Version:          response.GetServer().GetVersion(),
			Contract:         response.GetServer().GetContract(),
			MaxMessageBytes:  int(response.GetServer().GetMaxMessageBytes()),
			MaxCallsInFlight: int(response.GetServer().GetMaxCallsInFlight()),
			Features:         response.GetServer().GetFeatures(),
		},
	}, nil
}

// toolNames keeps nil and empty apart.
func toolNames(names []string) *toolportv1.ToolNames {
	if names == nil {
		return nil
	}
	return &toolportv1.ToolNames{Names: names}
}

func readJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func readDescriptors(messages []*toolportv1.ToolDescriptor) []ToolDescriptor {
	descriptors := make([]ToolDescriptor, 0, len(messages))
	for _, m := range messages {
		descriptor := ToolDescriptor{
			Name:                  m.GetName(),
			Description:           m.GetDescription(),
			Summary:               m.GetSummary(),
			ManifestEntry:         m.GetManifestEntry(),
			Hidden:                m.GetHidden(),
			InputSchema:           readJSON(m.GetInputSchemaJson()),
			OutputSchema:          readJSON(m.GetOutputSchemaJson()),
			Category:              m.Category,
			SafetyLevel:           m.SafetyLevel,
			CostUSD:               m.CostUsd,
			Requires:              m.Requires,
			MaxCallsPerInvocation: m.MaxCallsPerInvocation,
			Scope:                 m.Scope,
			RoutingMode:           m.RoutingMode,
			RunAware:              m.GetRunAware(),
			Idempotent:            m.GetIdempotent(),
			ReadOnly:              m.ReadOnly,
			Destructive:           m.Destructive,
			OpenWorld:             m.OpenWorld,
			Capability:            m.GetCapability(),
		}
		if m.TimeoutMs != nil {
			timeout := time.Duration(m.GetTimeoutMs()) * time.Millisecond
			descriptor.Timeout = &timeout
		}
		descriptors = append(descriptors, descriptor)
	}
	return descriptors
}
