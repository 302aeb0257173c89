package bpcp

import (
	"testing"
	"time"
)

func TestOperands(t *testing.T) {
	for text, want := range map[string][2]string{
		"x":                               {"", "x"},
		"3:x":                             {"3", "x"},
		"0-4,up:/a:b":                     {"0-4,up", "/a:b"},
		"./3:x":                           {"", "./3:x"},
		"/a/3:x":                          {"", "/a/3:x"},
		"3:":                              {"3", "."},
		"[fd00::1]:/x":                    {"fd00::1", "/x"},
		"[fd00::1,2]:a:b":                 {"fd00::1,2", "a:b"},
		"tag:gpu:/x":                      {"tag:gpu", "/x"},
		"!tag:gpu,1:x":                    {"!tag:gpu,1", "x"},
		"random:3/up:/x":                  {"random:3/up", "/x"},
		"(attr:a>=1,random:1/tag:b)&up:x": {"(attr:a>=1,random:1/tag:b)&up", "x"},
		"random/3:x":                      {"", "random/3:x"},
		"tags:x":                          {"tags", "x"},
	} {
		if op, err := parseOperand(text); err != nil || op.nodes != want[0] || op.path != want[1] {
			t.Errorf("%s: got %q %q, %v, want %q", text, op.nodes, op.path, err, want)
		}
	}
}

func TestMeter(t *testing.T) {
	m := &meter{parts: []part{{total: 1000 << 20, done: 250 << 20, members: 8}}}
	if got, want := m.line(10*time.Second), " 25%  250 MiB of 1.0 GiB  25.0 MiB/s  0:30 left  8 machines"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.parts = append(m.parts, part{done: 1 << 30, members: 1})
	if got, want := m.line(2*time.Second), "1.2 GiB  637 MiB/s  9 machines"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.parts = []part{{total: 4 << 40, done: 1 << 20, members: 1}}
	if got, want := m.line(10*time.Second), "  0%  1.0 MiB of 4.0 TiB  102 KiB/s  11650:50:30 left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
