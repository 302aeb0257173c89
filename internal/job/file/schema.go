package file

import (
	"encoding/json"
	"slices"
	"time"
)

// schema is a JSON schema or a part of one.
type schema map[string]any

// Schema returns the JSON schema of job files, for editors (draft 7). [Read] rejects all files that
// the schema rejects, except for the words yes, no, on and off of YAML 1.1. Read checks more rules.
func Schema() []byte {
	s := merged(schema{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"title":   "bproc job file",
	}, object{jobKeys(new(Job))}.schema())
	text, _ := json.MarshalIndent(s, "", "  ") // maps and texts only
	return append(text, '\n')
}

// scalars are the types of values that count as texts.
var scalars = []string{"string", "number", "boolean"}

func (o object) schema() schema {
	properties, needed := schema{}, []string{}
	for _, k := range o.keys {
		s := merged(schema{"description": k.text}, k.value.schema())
		if k.needed {
			needed = append(needed, k.name)
		} else {
			s = optional(s)
		}
		properties[k.name] = s
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(needed) > 0 {
		s["required"] = needed
	}
	return s
}

// optional returns a schema that also allows an empty value.
func optional(s schema) schema {
	switch {
	case s["anyOf"] != nil:
		s["anyOf"] = append(s["anyOf"].([]schema), schema{"type": "null"})
	case s["enum"] != nil:
		s["enum"] = append(slices.Clone(s["enum"].([]any)), nil)
	default:
		s["type"] = append(types(s), "null")
	}
	return s
}

func types(s schema) []string {
	if one, ok := s["type"].(string); ok {
		return []string{one}
	}
	return slices.Clone(s["type"].([]string))
}

func (s sequence[T]) schema() schema {
	return schema{"type": "array", "items": s.of(new(T)).schema()}
}

func (t text) schema() schema {
	if t.pattern == "" {
		return schema{"type": append(slices.Clone(scalars), "null")}
	}
	return schema{"type": scalars, "pattern": t.pattern}
}

func (w word) schema() schema { return schema{"enum": anyOf(w.all)} }

func (c choice[T]) schema() schema { return schema{"enum": anyOf(c.names())} }

func anyOf(words []string) (all []any) {
	for _, w := range words {
		all = append(all, w)
	}
	return all
}

func (pairs) schema() schema {
	return schema{"type": "object", "additionalProperties": schema{"type": append(slices.Clone(scalars), "null")}}
}

func (flag) schema() schema { return schema{"type": "boolean"} }

func (c count) schema() schema { return schema{"type": "integer", "minimum": c.least} }

func (size) schema() schema { return schema{"type": "string", "pattern": sizePattern} }

func (d duration) schema() schema {
	return schema{"anyOf": []schema{
		{"type": "number", "minimum": d.least.Seconds(), "maximum": d.most.Seconds()},
		{"type": "string", "pattern": `^(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`},
	}, "examples": []any{"20s", "1m30s", time.Minute.Seconds()}}
}

func (nodes) schema() schema { return schema{"type": []string{"string", "integer"}} }

func (s restart) schema() schema {
	e := s.value()
	return schema{"anyOf": []schema{e.other.schema(), e.mapping.schema()}}
}
