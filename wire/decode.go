package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// layout describes a struct to the decoder. A struct is encoded as an array of its fields. A later
// version of the protocol may append fields with the tag `since:"2"`, or `since:"1"` for fields
// that version 1 did not have from its beginning. A receiver ignores fields that it does not know,
// and leaves fields that it does not get zero. The msgpack package itself wants exactly as many
// elements as fields, so every addition would need a new type.
type layout struct {
	fields   []int // indices of the exported fields, in order
	required int   // number of leading fields that every version sends
	min      int   // bytes of the shortest encoding
}

// layouts has, for each message type decoded so far, every struct in it (reflect.Type to
// map[reflect.Type]*layout). It is filled on demand, because a short-lived program such as bpsh
// decodes only one or two messages.
var layouts sync.Map

func layoutsOf(message reflect.Type) map[reflect.Type]*layout {
	if known, ok := layouts.Load(message); ok {
		return known.(map[reflect.Type]*layout)
	}
	known := map[reflect.Type]*layout{}
	shortest(message, known)
	layouts.Store(message, known)
	return known
}

// shortest returns the minimal number of encoded bytes of a value of type t, and enters the structs
// in it into known.
func shortest(t reflect.Type, known map[reflect.Type]*layout) int {
	switch t.Kind() {
	case reflect.Struct:
		if l := known[t]; l != nil {
			return l.min
		}
		l := &layout{min: 1}
		known[t] = l
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				continue
			}
			l.fields = append(l.fields, i)
			size := shortest(f.Type, known)
			if f.Tag.Get("since") == "" {
				l.required = len(l.fields)
				l.min += size
			}
		}
		return l.min
	case reflect.Array:
		return 1 + t.Len()*shortest(t.Elem(), known)
	case reflect.Slice, reflect.Pointer:
		shortest(t.Elem(), known) // for the structs in it
	}
	return 1
}

// decoder fills structs from a validated payload.
type decoder struct {
	*msgpack.Decoder
	rest    *bytes.Reader // the input of the Decoder, which adds no buffer
	layouts map[reflect.Type]*layout
	room    int // memory that elements of slices may still take, in bytes
}

// Elements of slices may be larger in memory than on the wire: an empty string has one byte there,
// and 16 here. A message may take anyElements bytes of memory for elements, plus elementBytes for
// each of its own bytes: enough for all legitimate messages.
const (
	anyElements  = 1 << 20
	elementBytes = 8
)

// decode fills the struct that m points to.
func decode(payload []byte, m any) error {
	v := reflect.ValueOf(m).Elem()
	d := decoder{msgpack.GetDecoder(), bytes.NewReader(payload), layoutsOf(v.Type()), anyElements + elementBytes*len(payload)}
	defer msgpack.PutDecoder(d.Decoder)
	d.Reset(d.rest)
	return d.value(v)
}

func (d *decoder) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		return d.record(v)
	case reflect.Slice:
		return d.slice(v)
	case reflect.Array:
		return d.array(v)
	case reflect.Pointer:
		return d.pointer(v)
	case reflect.String:
		s, err := d.DecodeString()
		v.SetString(s)
		return err
	case reflect.Bool:
		b, err := d.DecodeBool()
		v.SetBool(b)
		return err
	default:
		return d.integer(v)
	}
}

func (d *decoder) record(v reflect.Value) error {
	l := d.layouts[v.Type()]
	n, err := d.DecodeArrayLen()
	switch {
	case err != nil:
		return err
	case n < l.required:
		return fmt.Errorf("%d fields for %v, at least %d expected", n, v.Type(), l.required)
	}
	for i := range n {
		if i >= len(l.fields) {
			err = d.Skip()
		} else {
			err = d.value(v.Field(l.fields[i]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) slice(v reflect.Value) error {
	elem := v.Type().Elem()
	if elem.Kind() == reflect.Uint8 {
		b, err := d.DecodeBytes()
		v.SetBytes(b)
		return err
	}
	n, err := d.DecodeArrayLen()
	if err != nil || n < 0 { // nil
		return err
	}
	// Allocate only if the payload can contain so many elements.
	if n*shortest(elem, d.layouts) > d.rest.Len() {
		return errShort
	}
	if d.room -= n * int(elem.Size()); d.room < 0 {
		return errLarge
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		if err := d.value(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) array(v reflect.Value) error {
	n, err := d.DecodeArrayLen()
	switch {
	case err != nil:
		return err
	case n != v.Len():
		return fmt.Errorf("%d elements for %v", n, v.Type())
	}
	for i := range n {
		if err := d.value(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) pointer(v reflect.Value) error {
	code, err := d.PeekCode()
	if err != nil {
		return err
	}
	if code == msgpcode.Nil {
		return d.DecodeNil()
	}
	v.Set(reflect.New(v.Type().Elem()))
	return d.value(v.Elem())
}

// integer decodes a number that must fit. The msgpack package itself would truncate it, and accept
// a float.
func (d *decoder) integer(v reflect.Value) error {
	code, err := d.PeekCode()
	if err != nil {
		return err
	}
	var n int64
	var u uint64
	switch {
	case code == msgpcode.Uint64:
		u, err = d.DecodeUint64()
		n = int64(u)
	case msgpcode.IsFixedNum(code), code >= msgpcode.Uint8 && code <= msgpcode.Int64:
		n, err = d.DecodeInt64()
		u = uint64(n)
	default:
		return fmt.Errorf("code %#x for a number", code)
	}
	// From 1<<63 on only an unsigned 64-bit number can be meant.
	huge := code == msgpcode.Uint64 && n < 0
	switch {
	case err != nil:
		return err
	case v.CanInt() && !huge && !v.OverflowInt(n):
		v.SetInt(n)
	case v.CanUint() && (huge || n >= 0) && !v.OverflowUint(u):
		v.SetUint(u)
	default:
		return fmt.Errorf("number out of the range of %v", v.Type())
	}
	return nil
}
