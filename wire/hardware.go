package wire

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// ReadHardware asks a slave for the hardware of its machine.
type ReadHardware struct {
	_msgpack struct{} `msgpack:",as_array"`

	Fresh bool // read it again even if it is known
}

// Type implements [Message].
func (*ReadHardware) Type() Type { return TypeReadHardware }

// Hardware describes a machine. A value that could not be determined is empty or 0.
type Hardware struct {
	_msgpack struct{} `msgpack:",as_array"`

	Maker   string // of the machine
	Model   string
	Arch    string // uname -m
	Kernel  string // uname -r
	System  string // as in /etc/os-release
	BootID  string // /proc/sys/kernel/random/boot_id
	CPU     string // model of the processors
	Sockets uint32
	Cores   uint32
	CPUs    uint32 // hardware threads
	Memory  uint64 // bytes, physical
	Usable  uint64 // bytes that the kernel can use

	Interfaces []Interface
	Disks      []Disk
	GPUs       []GPU
	Failed     []string // values that could not be read, and why
}

// Type implements [Message].
func (*Hardware) Type() Type { return TypeHardware }

// Interface is a network interface.
type Interface struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name  string
	MAC   string
	Speed uint32 // Mbit/s; 0: not known
	Addrs []string
}

// Disk is a disk.
type Disk struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name  string
	Kind  string // SSD, HDD, ...
	Model string
	Size  uint64 // bytes
}

// GPU is a graphics or compute processor.
type GPU struct {
	_msgpack struct{} `msgpack:",as_array"`

	Address string // on its bus
	Model   string
}

// Bounds of the description of a machine. Lists are cut to their first elements.
const (
	maxHardwareText = 128 // bytes
	maxInterfaces   = 32
	maxAddrs        = 8
	maxDisks        = 64
	maxGPUs         = 32
	maxFailed       = 8
)

// texts calls each for every text.
func (h *Hardware) texts(each func(*string)) {
	for _, s := range []*string{&h.Maker, &h.Model, &h.Arch, &h.Kernel, &h.System, &h.BootID, &h.CPU} {
		each(s)
	}
	for i := range h.Interfaces {
		each(&h.Interfaces[i].Name)
		each(&h.Interfaces[i].MAC)
		for j := range h.Interfaces[i].Addrs {
			each(&h.Interfaces[i].Addrs[j])
		}
	}
	for i := range h.Disks {
		each(&h.Disks[i].Name)
		each(&h.Disks[i].Kind)
		each(&h.Disks[i].Model)
	}
	for i := range h.GPUs {
		each(&h.GPUs[i].Address)
		each(&h.GPUs[i].Model)
	}
	for i := range h.Failed {
		each(&h.Failed[i])
	}
}

// Trim makes h pass Check: it removes excess elements, and replaces characters that cannot be
// shown.
func (h *Hardware) Trim() {
	h.Interfaces = h.Interfaces[:min(len(h.Interfaces), maxInterfaces)]
	for i := range h.Interfaces {
		h.Interfaces[i].Addrs = h.Interfaces[i].Addrs[:min(len(h.Interfaces[i].Addrs), maxAddrs)]
	}
	h.Disks = h.Disks[:min(len(h.Disks), maxDisks)]
	h.GPUs = h.GPUs[:min(len(h.GPUs), maxGPUs)]
	h.Failed = h.Failed[:min(len(h.Failed), maxFailed)]
	h.texts(func(s *string) { *s = shown(*s) })
}

// shown returns a text without unprintable characters, cut to its bound.
func shown(s string) string {
	b := make([]byte, 0, min(len(s), maxHardwareText))
	for _, r := range s {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			r = '?'
		}
		if len(b)+utf8.RuneLen(r) > maxHardwareText {
			break
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// Check returns an error if h breaks a bound. A valid h has a few KiB, and is safe for a terminal.
func (h *Hardware) Check() (err error) {
	if len(h.Interfaces) > maxInterfaces || len(h.Disks) > maxDisks || len(h.GPUs) > maxGPUs || len(h.Failed) > maxFailed {
		return fmt.Errorf("%w: a machine has more parts than are told", ErrFrame)
	}
	for i := range h.Interfaces {
		if len(h.Interfaces[i].Addrs) > maxAddrs {
			return fmt.Errorf("%w: an interface has more addresses than are told", ErrFrame)
		}
	}
	h.texts(func(s *string) {
		if err == nil && *s != shown(*s) {
			err = fmt.Errorf("%w: %q is no text of a machine", ErrFrame, (*s)[:min(len(*s), maxHardwareText)])
		}
	})
	return err
}

// Check returns an ErrFrame if a text of the inventory cannot be shown, or is too long.
func (i *Inventory) Check() error {
	if i.Kernel != shown(i.Kernel) {
		return fmt.Errorf("%w: %q is no version of a kernel", ErrFrame, i.Kernel[:min(len(i.Kernel), maxHardwareText)])
	}
	return nil
}

// ListHardware asks for the hardware of nodes.
type ListHardware struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Nodes   []NodeID // none: all
	Fresh   bool     // the nodes that are up read it again
}

// Type implements [Message].
func (*ListHardware) Type() Type { return TypeListHardware }

// NodeHardware is the hardware of a node.
type NodeHardware struct {
	_msgpack struct{} `msgpack:",as_array"`

	ID       NodeID
	Errno    uint32 // why the node has not read it again; 0: it has, or was not asked to
	At       int64  // Unix time of the node's report
	Hardware *Hardware
}

// HardwareList answers ListHardware for some of the nodes.
type HardwareList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Nodes []NodeHardware
	Last  bool
}

// Type implements [Message].
func (*HardwareList) Type() Type { return TypeHardwareList }
