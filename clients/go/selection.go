package toolport

import (
	"context"
	"encoding/json"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// SelectRequest asks which tools to offer the model this turn.
type SelectRequest struct {
	// Role is the role whose palette applies; empty: none.
	Role string
	// Candidates are the tools to choose among, in this order. nil: the whole
	// set. Empty: none.
	Candidates []string
	// ForcedChoice is the stamp: a tool's exact name, or one of the words any,
	// auto, none, required. nil: no stamp, the configured resolver is asked.
	// Empty: no force, and it is not asked.
	ForcedChoice *string
	// ResolvedTools are those that an upstream step settled on; nil or empty:
	// the whole set.
	ResolvedTools []string
	// Intent is what intent classification found; nil: no verdict.
	Intent *IntentVerdict
	// Query is the user's request, for stages that match on it.
	Query string
	// Extra is for stages of the adopter's own; nil means `{}`. It marshals as
	// [Request.Arguments] does.
	Extra any
	// Messages are the conversation so far, oldest first.
	Messages []Message
	// IncludeDescriptors also returns the descriptors of the selected tools.
	IncludeDescriptors bool
	// Format also renders the forced choice for this provider.
	Format Format
}

// IntentVerdict is what an intent classifier found.
type IntentVerdict struct {
	// Label is `action`, `knowledge` or `ambiguous`; any other abstains.
	Label string
	// MatchedTools are the tools whose keywords matched.
	MatchedTools []string
}

// A Role says who spoke a message.
type Role int32

// The roles.
const (
	RoleSystem    = Role(toolportv1.Role_ROLE_SYSTEM)
	RoleUser      = Role(toolportv1.Role_ROLE_USER)
	RoleAssistant = Role(toolportv1.Role_ROLE_ASSISTANT)
	RoleTool      = Role(toolportv1.Role_ROLE_TOOL)
)

// A Message is one of the conversation.
type Message struct {
	// Role says who spoke; a message without one is ignored.
	Role Role
	// Name is the tool's name, for RoleTool. Empty: that of the call that
	// ToolCallID refers to.
	Name string
	// ToolCallID is the id of the call that it answers, for RoleTool.
	ToolCallID string
	// ToolCalls are the calls that it makes, for RoleAssistant.
	ToolCalls []ToolCallRef
	// Text is the text; may be empty.
	Text string
}

// A ToolCallRef is a call that an assistant message makes.
type ToolCallRef struct {
	// ID is the call's id.
	ID string
	// Name is the tool's name.
	Name string
}

// A StageAction says what a stage of the selection came to: `ABSTAINED`,
// `FORCED`, `RELEASED`, `DEGRADED`, `NARROWED`, `EXTENDED`, `EMPTIED` or
// `UNCHANGED`.
type StageAction string

// A StageRecord says what one stage of the selection did.
type StageRecord struct {
	// Stage is `intent_routing`, `forced_choice`, `role_palette`, or one of the
	// adopter's own.
	Stage string
	// Action is what it came to.
	Action StageAction
	// Kept, Dropped and Reinstated are together the stage's input, and Added
	// what it brought in; all empty where it said nothing about the set.
	Kept, Dropped, Added, Reinstated []string
	// ForcedChoice is the choice that this stage forced; nil everywhere else.
	ForcedChoice *string
	// Detail is why, for people.
	Detail string
}

// A Selection is the tools to offer, and why.
type Selection struct {
	// Tools are names in the order to offer them.
	Tools []string
	// Decided is false where every stage abstained and Tools is simply the whole
	// set.
	Decided bool
	// ForcedChoice is what the model must choose; nil: nothing.
	ForcedChoice *string
	// Trace has one record a stage, in the order they ran.
	Trace []StageRecord
	// Descriptors are those of the selected tools, if asked for.
	Descriptors []ToolDescriptor
	// Digest names the whole set.
	Digest string
	// ProviderToolChoice goes into the provider's tool choice; nil without a
	// format or a force.
	ProviderToolChoice json.RawMessage
}

// Select says which tools to offer the model this turn, which one to force, and
// why. Nothing is kept between calls.
func (c *Client) Select(ctx context.Context, request SelectRequest) (*Selection, error) {
	extra, err := marshalArguments(request.Extra)
	if err != nil {
		return nil, &ArgumentsError{Tool: "Select", Err: err}
	}
	message := &toolportv1.SelectRequest{
		Candidates: toolNames(request.Candidates),
		State: &toolportv1.SelectionState{
			ForcedChoice:  request.ForcedChoice,
			ResolvedTools: toolNames(request.ResolvedTools),
			Query:         request.Query,
			ExtraJson:     extra,
		},
		IncludeDescriptors: request.IncludeDescriptors,
		Format:             toolportv1.ManifestFormat(request.Format),
	}
	if request.Role != "" {
		message.Role = &request.Role
	}
	if intent := request.Intent; intent != nil {
		message.State.Intent = &toolportv1.IntentVerdict{Label: intent.Label, MatchedTools: intent.MatchedTools}
	}
	for _, m := range request.Messages {
		message.Messages = append(message.Messages, historyMessage(m))
	}
	response, err := retrying(ctx, c, func() (*toolportv1.SelectResponse, error) { return c.service.Select(ctx, message) })
	if err != nil {
		return nil, err
	}
	result := response.GetResult()
	selection := &Selection{
		Tools:              result.GetTools(),
		Decided:            result.GetDecided(),
		Digest:             response.GetDigest(),
		ProviderToolChoice: readJSON(response.GetProviderToolChoiceJson()),
	}
	if result != nil {
		selection.ForcedChoice = result.ForcedChoice
	}
	for _, record := range result.GetTrace() {
		selection.Trace = append(selection.Trace, StageRecord{
			Stage:        record.GetStage(),
			Action:       readEnum[StageAction](record.GetAction(), "STAGE_ACTION_"),
			Kept:         record.GetKept(),
			Dropped:      record.GetDropped(),
			Added:        record.GetAdded(),
			Reinstated:   record.GetReinstated(),
			ForcedChoice: record.ForcedChoice,
			Detail:       record.GetDetail(),
		})
	}
	if request.IncludeDescriptors {
		selection.Descriptors = readDescriptors(response.GetTools())
	}
	return selection, nil
}

func historyMessage(m Message) *toolportv1.HistoryMessage {
	message := &toolportv1.HistoryMessage{
		Role:       toolportv1.Role(m.Role),
		Name:       m.Name,
		ToolCallId: m.ToolCallID,
		Text:       m.Text,
	}
	for _, call := range m.ToolCalls {
		message.ToolCalls = append(message.ToolCalls, &toolportv1.ToolCallRef{Id: call.ID, Name: call.Name})
	}
	return message
}
