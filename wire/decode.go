package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// layout is what the decoder knows of a struct, which travels as an array of
// its fields. Fields may be appended in a later version of the protocol, with
// the tag `since:"2"`, or since:"1" where version 1 did not have them from its
// begin: a receiver that does not know a field ignores it, one
// that does not get it leaves it zero. The msgpack package itself wants exactly
// as many elements as fields, which would make every addition a new type.
type layout struct {
	fields   []int // of the struct, in order
	required int   // how many of them every version sends
	min      int   // bytes that the shortest form has
}

// layouts has, for each message that was decoded so far, every struct that is
// part of it (reflect.Type to map[reflect.Type]*layout). A program that is as
// short-lived as bpsh decodes one or two messages and pays for no others.
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

// shortest returns how many bytes a value of type t has at least, and enters
// the structs that it meets into known.
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

// decoder fills structs from a payload that was validated.
type decoder struct {
	*msgpack.Decoder
	rest    *bytes.Reader // what the Decoder reads from, without a buffer between
	layouts map[reflect.Type]*layout
	room    int // bytes that elements of slices may still take
}

// Elements of slices may be larger in memory than on the wire: an empty string has one
// byte there, and 16 here. A message may have so many bytes of elements, and so many more
// for each of its own: enough for all that is said in earnest.
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
	// Allocate them only when so many of them can be there.
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

// integer decodes a number that must fit. The msgpack package by itself would
// cut it, and accept a float.
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
	// Above 1<<63 only an unsigned number of 64 bits can be meant.
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
