package main

import (
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name   string
		events string
		want   string
		good   bool
	}{
		{
			name: "all passed",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}
				{"Action":"pass","Package":"p","Test":"TestA"}
				{"Action":"output","Package":"p","Output":"PASS\n"}
				{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
				{"Action":"pass","Package":"p"}`,
			want: "ok  \tp\t0.1s\n1 tests passed, 0 failed, 0 skipped\n",
			good: true,
		},
		{
			name: "one skipped",
			events: `{"Action":"pass","Package":"p","Test":"TestA"}
				{"Action":"output","Package":"p","Test":"TestB","Output":"needs root\n"}
				{"Action":"skip","Package":"p","Test":"TestB"}
				{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
				{"Action":"pass","Package":"p"}`,
			want: "needs root\nok  \tp\t0.1s\n\nsummary:\nskip: p TestB\nok  \tp\t0.1s\n1 tests passed, 0 failed, 1 skipped\n",
		},
		{
			name: "the process ended in a test",
			events: `{"Action":"pass","Package":"p","Test":"TestA"}
				{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN TestB\n"}
				{"Action":"output","Package":"q","Test":"TestC","Output":"of another\n"}
				{"Action":"output","Package":"p","Output":"FAIL\tp\t9s\n"}
				{"Action":"fail","Package":"p"}`,
			want: "never ended: p TestB, begun 0s before\n=== RUN TestB\nFAIL\tp\t9s\n" +
				"never ended: q TestC, begun 0s before\nof another\nnever ended: q, begun 0s before\n" +
				"\nsummary:\nnever ended: p TestB, begun 0s before\n" +
				"never ended: q TestC, begun 0s before\nnever ended: q, begun 0s before\n" +
				"FAIL\tp\t9s\n1 tests passed, 2 failed, 0 skipped\n",
		},
		{
			name: "go has something to say",
			events: `{"Action":"pass","Package":"p","Test":"TestA"}
				go: warning
				{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
				{"Action":"pass","Package":"p"}`,
			want: "go: warning\nok  \tp\t0.1s\n1 tests passed, 0 failed, 0 skipped\n",
			good: true,
		},
		{
			name: "the process ended outside of a test",
			events: `{"Action":"pass","Package":"p","Test":"TestA"}
				{"Action":"output","Package":"p","Output":"left behind: x\n"}
				{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
				{"Action":"fail","Package":"p"}`,
			want: "left behind: x\nFAIL\tp\t0.1s\n\nsummary:\nFAIL\tp\t0.1s\n1 tests passed, 1 failed, 0 skipped\n",
		},
		{
			name: "did not build",
			events: `{"Action":"build-output","ImportPath":"p","Output":"p.go:1: no\n"}
				{"Action":"fail","Package":"p","FailedBuild":"p"}`,
			want: "p.go:1: no\nFAIL\tp\n\nsummary:\nFAIL\tp\n0 tests passed, 1 failed, 0 skipped\n",
		},
		{
			name: "no tests",
			want: "\nsummary:\n0 tests passed, 0 failed, 0 skipped\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			v := newVerdict(&out)
			if err := v.read(t.Context(), strings.NewReader(tc.events)); err != nil {
				t.Fatal(err)
			}
			if good := v.print(); good != tc.good {
				t.Errorf("good: got %v, want %v", good, tc.good)
			}
			if out.String() != tc.want {
				t.Errorf("got %q, want %q", out.String(), tc.want)
			}
		})
	}
}
