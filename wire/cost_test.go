package wire_test

import (
	"reflect"
	"runtime"
	"testing"

	"bproc/wire"
)

// TestDecodeCost gives every message as many elements in each of its lists as a frame of a common
// size holds, each as short as possible. The decoded message takes a small multiple of that in
// memory, or is refused.
func TestDecodeCost(t *testing.T) {
	const size = 400_000
	for _, typ := range wire.Types() {
		fields := reflect.TypeOf(wire.New(typ)).Elem()
		for i := range fields.NumField() {
			f := fields.Field(i)
			if !f.IsExported() {
				continue
			}
			for _, path := range lists(f.Type, []int{i}) {
				measure(t, typ, path, size)
			}
		}
	}
}

// lists returns the paths of lists in a value of a type, in structs of structs.
func lists(t reflect.Type, at []int) (paths [][]int) {
	switch t.Kind() {
	case reflect.Slice:
		return [][]int{at}
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				paths = append(paths, lists(t.Field(i).Type, append(at[:len(at):len(at)], i))...)
			}
		}
	}
	return paths
}

func measure(t *testing.T, typ wire.Type, path []int, size int) {
	limit, _ := wire.MaxPayload(typ)
	m := wire.New(typ)
	list := reflect.ValueOf(m).Elem().FieldByIndex(path)
	list.Set(reflect.MakeSlice(list.Type(), 1000, 1000))
	frame, err := wire.Append(nil, 1, m)
	if err != nil {
		return // an element may be longer than the whole message
	}
	n := 1000 * min(size, limit) / len(frame) * 9 / 10
	list.Set(reflect.MakeSlice(list.Type(), n, n))
	if frame, err = wire.Append(nil, 1, m); err != nil {
		t.Fatalf("type %d, list %v: %v", typ, path, err)
	}
	h, err := wire.ParseHeader(frame)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = wire.Decode(h, frame[wire.HeaderSize:])
	runtime.ReadMemStats(&after)
	const multiple, any = 9, 3 << 19
	if took := after.TotalAlloc - before.TotalAlloc; took > multiple*uint64(len(frame))+any {
		t.Errorf("type %d, list %v: %d elements in %d bytes take %d bytes (error %v)", typ, path, n, len(frame), took, err)
	}
}
