package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"bproc/wire"
)

// begin takes the place of the type for a configuration.
const begin = "begin"

// ErrLine is the error for a text that is not a line of a recording.
var ErrLine = errors.New("no line of a recording")

// Line returns the line of an input. Values of interface types must be messages or errors.
func Line(now time.Time, in any) (string, error) {
	v := reflect.ValueOf(in)
	return line(now, v.Type().Name(), v)
}

// Begin returns the line of a configuration.
func Begin(now time.Time, config any) (string, error) {
	return line(now, begin, reflect.ValueOf(config))
}

func line(now time.Time, name string, v reflect.Value) (string, error) {
	fields := map[string]any{}
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() {
			continue
		}
		field := v.Type().Field(i).Name
		fields[field] = f.Interface()
		if f.Kind() != reflect.Interface {
			continue
		}
		switch value := f.Interface().(type) {
		case wire.Message:
			fields[field] = message{value.Type(), value}
		case error:
			fields[field] = value.Error()
		default:
			fields[field] = map[string]any{f.Elem().Type().Name(): value}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Sprintf("%d %s %s", now.UnixNano(), name, out.String()), nil
}

// message is the form of a message in a line.
type message struct {
	Type wire.Type
	Body any
}

// parse parses a line. The type of its value is looked up in types by name.
func parse(text string, types map[string]reflect.Type) (now time.Time, name string, v any, err error) {
	words := strings.SplitN(strings.TrimSpace(text), " ", 3)
	if len(words) != 3 {
		return now, "", nil, ErrLine
	}
	nanoseconds, err := strconv.ParseInt(words[0], 10, 64)
	t := types[words[1]]
	if err != nil || t == nil {
		return now, "", nil, fmt.Errorf("%w: %s at %s", ErrLine, words[1], words[0])
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(words[2]), &fields); err != nil {
		return now, "", nil, fmt.Errorf("%w: %w", ErrLine, err)
	}
	value := reflect.New(t).Elem()
	for i := range t.NumField() {
		raw, is := fields[t.Field(i).Name]
		if !is {
			continue
		}
		if err := parseField(raw, value.Field(i)); err != nil {
			return now, "", nil, fmt.Errorf("%w: %s of %s: %w", ErrLine, t.Field(i).Name, words[1], err)
		}
	}
	return time.Unix(0, nanoseconds).UTC(), words[1], value.Interface(), nil
}

func parseField(raw json.RawMessage, into reflect.Value) error {
	switch {
	case into.Type() == reflect.TypeFor[error]():
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		into.Set(reflect.ValueOf(errors.New(text)))
		return nil
	case into.Type() == reflect.TypeFor[wire.Message]():
		var m struct {
			Type wire.Type
			Body json.RawMessage
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		body := wire.New(m.Type)
		if body == nil {
			return fmt.Errorf("there is no message of type %d", m.Type)
		}
		into.Set(reflect.ValueOf(body))
		return json.Unmarshal(m.Body, body)
	}
	return json.Unmarshal(raw, into.Addr().Interface())
}
