package load

// One object serves all little-endian machines: the places of fields, also those of registers,
// are found when the program is loaded. The object is committed, so builds need neither clang nor
// libbpf-dev. Generating it needs both; the directories are those of linux-libc-dev on Debian.
//
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -target bpfel -type kill -cflags "-O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu -I/usr/include/aarch64-linux-gnu" kills bpf/groupkill.c
