package toolport

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// An ArgumentsError says that a call was not sent, because something in it
// can't be carried as it is. Find it with [errors.As].
type ArgumentsError struct {
	// CallID and Tool are the call's.
	CallID, Tool string
	// Err is what is wrong.
	Err error
}

// Error names the call, the tool and what is wrong.
func (e *ArgumentsError) Error() string {
	return fmt.Sprintf("toolport: call %q of %q can't be sent: %v", e.CallID, e.Tool, e.Err)
}

// Unwrap is what is wrong.
func (e *ArgumentsError) Unwrap() error { return e.Err }

// marshalArguments writes arguments as the text of one JSON object. Text that
// the caller wrote is passed on as it is, malformed text included: the outcome
// then tells the model what is wrong with it.
func marshalArguments(arguments any) (string, error) {
	switch v := arguments.(type) {
	case nil:
		return "", nil
	case json.RawMessage:
		if !utf8.Valid(v) {
			return "", fmt.Errorf("the arguments' text is not UTF-8")
		}
		return string(v), nil
	}
	text, err := marshal(arguments)
	if err != nil {
		return "", err
	}
	if text[0] != '{' && text != "null" {
		return "", fmt.Errorf("the arguments are a %T, which is no JSON object; give a map or a struct", arguments)
	}
	return text, nil
}

// marshal writes a value as JSON, and refuses what would not arrive as it is.
func marshal(value any) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	text := bytes.TrimSpace(buffer.Bytes())
	if !utf8.Valid(text) {
		return "", errors.New("its JSON text is not UTF-8")
	}
	// The encoder replaces bytes that are not UTF-8, and writes an escape there.
	if bytes.Contains(text, []byte(`\ufffd`)) {
		if bad, found := invalidString(reflect.ValueOf(value)); found {
			return "", fmt.Errorf("the string %q is not UTF-8; send bytes as base64", bad)
		}
	}
	return string(text), nil
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// invalidString finds a string that is not UTF-8 in a value that marshals, and
// that therefore has no cycle.
func invalidString(v reflect.Value) (string, bool) {
	if !v.IsValid() || v.Type().Implements(jsonMarshaler) || v.Type().Implements(textMarshaler) {
		return "", false
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), !utf8.ValidString(v.String())
	case reflect.Interface, reflect.Pointer:
		return invalidString(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if bad, found := invalidString(v.Index(i)); found {
				return bad, true
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if bad, found := invalidString(key); found {
				return bad, true
			}
			if bad, found := invalidString(v.MapIndex(key)); found {
				return bad, true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() && !field.Anonymous || field.Tag.Get("json") == "-" {
				continue
			}
			if bad, found := invalidString(v.Field(i)); found {
				return bad, true
			}
		}
	}
	return "", false
}
