package toolport_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// absent is what a key that is not there holds.
type absent struct{}

// compareData holds what came to what a case expects, both as JSON data, and
// gives a sentence for each difference. What `$capture` names goes into
// captured. The suite's README says what the matchers mean.
func compareData(got, want any, captured map[string]string, at string) []string {
	switch want := want.(type) {
	case nil:
		if got != (absent{}) {
			return differs(at, got, "it to be absent")
		}
		return nil
	case []any:
		list, isList := got.([]any)
		if !isList || len(list) != len(want) {
			return differs(at, got, fmt.Sprintf("%d of %s", len(want), show(want)))
		}
		var found []string
		for i := range want {
			found = append(found, compareData(list[i], want[i], captured, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return found
	case map[string]any:
		return compareObject(got, want, captured, at)
	default:
		if !equal(got, want) {
			return differs(at, got, show(want))
		}
		return nil
	}
}

func compareObject(got any, want map[string]any, captured map[string]string, at string) []string {
	if len(want) == 1 {
		for name, operand := range want {
			if strings.HasPrefix(name, "$") {
				return matchData(name, got, operand, captured, at)
			}
		}
	}
	object, isObject := got.(map[string]any)
	if !isObject && got != (absent{}) {
		return differs(at, got, "an object")
	}
	var found []string
	for key, part := range want {
		// What is absent has no parts; that is no difference where none is asked
		// for.
		if !isObject && part != nil {
			return differs(at, got, "an object")
		}
		found = append(found, compareData(member(object, key), part, captured, at+"."+key)...)
	}
	return found
}

func matchData(name string, got, operand any, captured map[string]string, at string) []string {
	text, isText := got.(string)
	list, _ := got.([]any)
	switch name {
	case "$any":
		if got == (absent{}) {
			return differs(at, got, "anything")
		}
	case "$capture":
		if got == (absent{}) {
			return differs(at, got, "anything")
		}
		if !isText {
			text = show(got)
		}
		captured[operand.(string)] = text
	case "$matches":
		if !isText || !regexp.MustCompile(operand.(string)).MatchString(text) {
			return differs(at, got, "a text that matches "+operand.(string))
		}
	case "$contains":
		if part, isOne := operand.(string); isOne {
			operand = []any{part}
		}
		for _, part := range texts(operand) {
			if !isText || !strings.Contains(text, part) {
				return differs(at, got, fmt.Sprintf("a text with %q", part))
			}
		}
	case "$json":
		var value any
		if !isText || decodeJSON([]byte(text), &value) != nil || !equal(value, operand) {
			return differs(at, got, "JSON of "+show(operand))
		}
	case "$range":
		return matchRange(got, operand.([]any), at)
	case "$size":
		size := len(list)
		if isText {
			size = len(text)
		}
		if (!isText && list == nil) || !equal(json.Number(fmt.Sprint(size)), operand) {
			return differs(at, got, fmt.Sprintf("the size %s", show(operand)))
		}
	case "$includes":
		for _, part := range operand.([]any) {
			if !slices.ContainsFunc(list, func(item any) bool { return compareData(item, part, captured, at) == nil }) {
				return differs(at, got, "a list with "+show(part))
			}
		}
	case "$exactly":
		return matchExactly(got, operand.(map[string]any), captured, at)
	case "$all":
		var found []string
		for _, part := range operand.([]any) {
			found = append(found, compareData(got, part, captured, at)...)
		}
		return found
	case "$fault":
		return compareFault(got, operand.(map[string]any), captured, at)
	default:
		return []string{"there is no matcher " + name}
	}
	return nil
}

func matchRange(got any, bounds []any, at string) []string {
	if got == (absent{}) {
		got = json.Number("0")
	}
	n, isNumber := number(got)
	for i, bound := range bounds {
		if limit, ok := number(bound); isNumber && ok && n.Cmp(limit) == 1-2*(1-i) {
			isNumber = false
		}
	}
	if !isNumber {
		return differs(at, got, "a number within "+show(bounds))
	}
	return nil
}

func matchExactly(got any, parts map[string]any, captured map[string]string, at string) []string {
	given, _ := got.(map[string]any)
	var found []string
	for key, part := range parts {
		found = append(found, compareData(member(given, key), part, captured, at+"."+key)...)
	}
	for key := range given {
		if _, isExpected := parts[key]; !isExpected {
			found = append(found, fmt.Sprintf("%s has %q, expected no such key", at, key))
		}
	}
	return found
}

func member(object map[string]any, key string) any {
	if value, ok := object[key]; ok {
		return value
	}
	return absent{}
}

func differs(at string, got any, want string) []string {
	return []string{fmt.Sprintf("%s is %s, expected %s", at, show(got), want)}
}

func show(data any) string {
	if data == (absent{}) {
		return "absent"
	}
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Sprint(data)
	}
	if len(text) > 400 {
		return fmt.Sprintf("%s… (%d bytes)", text[:400], len(text))
	}
	return string(text)
}

// TestContractMatching holds the matchers to the table that every runner is
// held to.
func TestContractMatching(t *testing.T) {
	var table []struct {
		Expected         any
		Matches, Differs []map[string]any
	}
	readRepositoryFile(t, filepath.Join("test", "conformance", "contract", "matching.json"), &table)
	for _, row := range table {
		for _, each := range row.Matches {
			if found := compareData(member(each, "value"), row.Expected, map[string]string{}, "it"); len(found) > 0 {
				t.Errorf("%s: %s", show(row.Expected), found)
			}
		}
		for _, each := range row.Differs {
			if found := compareData(member(each, "value"), row.Expected, map[string]string{}, "it"); len(found) == 0 {
				t.Errorf("%s matches %s", show(row.Expected), show(member(each, "value")))
			}
		}
	}
}
