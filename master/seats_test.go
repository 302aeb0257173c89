package master

import "testing"

func TestSeats(t *testing.T) {
	for _, tc := range []struct {
		descriptors, silent int
		most                int64
	}{
		{64, 8, 32},
		{1024, 128, 512},
		{4096, 256, 3072},
		{1 << 20, 256, 1<<20 - 1024},
		{1, 1, 0},
	} {
		s := newSeats(tc.descriptors)
		if s.silent != tc.silent || s.most != tc.most {
			t.Errorf("of %d descriptors: got %d and %d, want %d and %d", tc.descriptors, s.silent, s.most, tc.silent, tc.most)
		}
		for i := range min(tc.most, 1000) {
			if !s.take() {
				t.Fatalf("of %d seats, only %d are to be had", tc.most, i)
			}
		}
		if tc.most > 1000 {
			continue
		}
		if s.take() {
			t.Errorf("there are more than %d seats", tc.most)
		}
		if tc.most == 0 {
			continue
		}
		if s.leave(); !s.take() {
			t.Error("a seat that was left is not free")
		}
	}
}
