package wire_test

import (
	"reflect"

	"bproc/wire"
)

// sample returns a message of type t without zero fields. It is the same for each call.
func sample(t wire.Type) wire.Message {
	m := wire.New(t)
	f := filler{next: uint64(t)}
	f.fill(reflect.ValueOf(m).Elem())
	return m
}

// filler gives each field another value.
type filler struct{ next uint64 }

func (f *filler) fill(v reflect.Value) {
	f.next++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.elements(v)
	case reflect.Array:
		f.elements(v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.String:
		v.SetString("text \xff " + string(rune('a'+f.next%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Int8:
		f.number(v, 1+f.next%100)
	case reflect.Uint16:
		f.number(v, 300+f.next)
	case reflect.Uint64, reflect.Int64:
		f.number(v, 1<<40+f.next)
	default:
		f.number(v, 1<<20+f.next)
	}
}

func (f *filler) elements(v reflect.Value) {
	for i := range v.Len() {
		f.fill(v.Index(i))
	}
}

func (f *filler) number(v reflect.Value, n uint64) {
	if v.CanInt() {
		v.SetInt(-int64(n))
	} else {
		v.SetUint(n)
	}
}
