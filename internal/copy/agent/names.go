package agent

import "encoding/json"

// Name is a path, or a part of one: any bytes, of which JSON strings change those that are not
// UTF-8.
type Name string

// Names are several of these.
type Names []string

// MarshalJSON implements [json.Marshaler].
func (n Name) MarshalJSON() ([]byte, error) { return json.Marshal([]byte(n)) }

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Name) UnmarshalJSON(text []byte) error {
	var b []byte
	err := json.Unmarshal(text, &b)
	*n = Name(b)
	return err
}

// MarshalJSON implements [json.Marshaler].
func (n Names) MarshalJSON() ([]byte, error) {
	var list [][]byte
	for _, name := range n {
		list = append(list, []byte(name))
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Names) UnmarshalJSON(text []byte) error {
	var list [][]byte
	err := json.Unmarshal(text, &list)
	*n = nil
	for _, name := range list {
		*n = append(*n, string(name))
	}
	return err
}
