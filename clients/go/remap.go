package toolport

import (
	"fmt"
	"maps"
	"slices"
)

// RemapToolCallIDs gives the tool calls of an assistant message other ids: the
// kernel's, which are unique in its run, for the provider's, which may not be.
// They change in `tool_calls`, in the `tool_use` blocks of a `content` list, and
// in `tool_call_chunks`; everything else, and message itself, stays as it is.
//
// The message is plain data, as [encoding/json] reads it, in OpenAI's or
// Anthropic's shape; a list is a []any or a []map[string]any.
//
// A slice of ids applies by position, and its length must be that of the calls:
// `tool_calls`, else the `tool_use` blocks, else the chunks.
// A map applies by each call's own id, all at once, and leaves ids that it does
// not name. Where nothing changes, the result is message itself.
func RemapToolCallIDs[IDs []string | map[string]string](message map[string]any, ids IDs) (map[string]any, error) {
	switch ids := any(ids).(type) {
	case []string:
		return remapByPosition(message, ids)
	case map[string]string:
		return remapEach(message, func(_ int, own any) (any, bool) {
			id, isString := own.(string)
			other, found := ids[id]
			return other, isString && found && other != id
		}), nil
	default:
		panic("unreachable")
	}
}

func remapByPosition(message map[string]any, ids []string) (map[string]any, error) {
	chunks := entries(message["tool_call_chunks"], "")
	blocks := entries(message["content"], "tool_use")
	what, counted := "tool calls", entries(message["tool_calls"], "")
	// A message without the list of calls has them in its blocks or its chunks.
	switch {
	case message["tool_calls"] != nil:
	case len(blocks) > 0:
		what, counted = "tool_use blocks", blocks
	case len(chunks) > 0:
		what, counted = "tool call chunks", chunks
	}
	if len(counted) != len(ids) {
		return nil, fmt.Errorf("toolport: the message has %d %s and %d ids were given; give one for each", len(counted), what, len(ids))
	}
	same := true
	for i, call := range counted {
		same = same && call["id"] == any(ids[i])
	}
	if same {
		return message, nil
	}
	for _, other := range [...]struct {
		name  string
		count int
	}{{"tool_use blocks", len(blocks)}, {"tool call chunks", len(chunks)}} {
		if other.count > len(ids) {
			return nil, fmt.Errorf("toolport: the message has %d %s and %d ids were given; give one for each", other.count, other.name, len(ids))
		}
	}
	return remapEach(message, func(i int, _ any) (any, bool) { return ids[i], true }), nil
}

// remapEach copies what changes. id is asked for the new id of the i-th entry
// of each list, counting only those that have one.
func remapEach(message map[string]any, id func(i int, own any) (any, bool)) map[string]any {
	remapped, copied := message, false
	for _, part := range [...]struct{ key, blocks string }{
		{"tool_calls", ""}, {"content", "tool_use"}, {"tool_call_chunks", ""},
	} {
		list, changed := remapList(message[part.key], part.blocks, id)
		if !changed {
			continue
		}
		if !copied {
			remapped, copied = maps.Clone(message), true
		}
		remapped[part.key] = list
	}
	return remapped
}

func remapList(list any, blocks string, id func(int, any) (any, bool)) (any, bool) {
	switch list := list.(type) {
	case []any:
		return remapSlice(list, func(e any) (map[string]any, bool) { return entry(e, blocks) }, id)
	case []map[string]any:
		return remapSlice(list, func(e map[string]any) (map[string]any, bool) { return entry(e, blocks) }, id)
	default:
		return list, false
	}
}

func remapSlice[E any](list []E, read func(E) (map[string]any, bool), id func(int, any) (any, bool)) ([]E, bool) {
	changed := false
	i := 0
	for at, element := range list {
		fields, counts := read(element)
		if !counts {
			continue
		}
		other, differs := id(i, fields["id"])
		i++
		if !differs {
			continue
		}
		if !changed {
			list, changed = slices.Clone(list), true
		}
		fields = maps.Clone(fields)
		fields["id"] = other
		list[at] = any(fields).(E)
	}
	return list, changed
}

// entries are those of a list that have an id to change.
func entries(list any, blocks string) []map[string]any {
	var found []map[string]any
	switch list := list.(type) {
	case []any:
		for _, element := range list {
			if fields, ok := entry(element, blocks); ok {
				found = append(found, fields)
			}
		}
	case []map[string]any:
		for _, element := range list {
			if fields, ok := entry(element, blocks); ok {
				found = append(found, fields)
			}
		}
	}
	return found
}

// entry is false for what is no object, or a block of another type than asked.
func entry(element any, blocks string) (map[string]any, bool) {
	fields, ok := element.(map[string]any)
	return fields, ok && (blocks == "" || fields["type"] == any(blocks))
}
