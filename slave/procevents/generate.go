package procevents

// One object serves all little-endian machines: raw tracepoints read no registers, and the offsets
// of fields are found when the program is loaded. It is committed, so that only generating it needs
// clang and libbpf-dev (the directories are those of linux-libc-dev on Debian).
//
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -target bpfel -type record -type control -cflags "-O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu -I/usr/include/aarch64-linux-gnu" process bpf/process.c
