package client

import "bproc/internal/widepipe"

// widen gives a standard descriptor of a command room for much data, if it is a pipe.
func widen(stream any) {
	if p, ok := stream.(*OutputPipe); ok {
		stream = p.writer
	}
	if i, ok := stream.(*fileInput); ok {
		stream = i.f
	}
	if f, ok := FileOf(stream); ok {
		widepipe.Widen(f)
	}
}
