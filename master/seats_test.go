package master

import "testing"

func TestSeats(t *testing.T) {
	for _, tc := range []struct {
		descriptors, silent, waiting int
		most                         int
	}{
		{64, 8, 8, 32},
		{1024, 128, 128, 512},
		{4096, 128, 512, 2560},
		{1 << 20, 128, 4096, 1<<20 - 5120},
		{1, 1, 0, 0},
	} {
		s := newSeats(tc.descriptors)
		if s.silent != tc.silent || s.waiting != tc.waiting || s.most != tc.most {
			t.Errorf("of %d descriptors: got %d, %d and %d, want %d, %d and %d", tc.descriptors, s.silent, s.waiting, s.most, tc.silent, tc.waiting, tc.most)
		}
		for i := range min(tc.most/2, 1000) {
			if !s.shares.Take(7, 1) {
				t.Fatalf("of %d seats, only %d are to be had", tc.most, i)
			}
		}
		if tc.most < 2000 && s.shares.Take(7, 1) {
			t.Errorf("a user has more than half of %d seats", tc.most)
		}
		if tc.most > 1 && !s.shares.Take(8, 1) {
			t.Error("there is no seat for another user")
		}
	}
}
