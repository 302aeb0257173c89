package bpstat

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bproc/internal/client"
)

// printInventory prints the hardware of nodes.
func (s *Stat) printInventory(ctx context.Context, out io.Writer, o *options, nodes []client.Node) error {
	var ids []client.NodeID
	for i := range nodes {
		ids = append(ids, nodes[i].ID)
	}
	slices.Sort(ids)
	known := map[client.NodeID]*client.NodeHardware{}
	if len(ids) > 0 {
		list, err := s.Client.Hardware(ctx, slices.Compact(ids), o.fresh)
		if err != nil {
			return err
		}
		for i := range list {
			known[list[i].ID] = &list[i]
		}
	}
	all := make([]jsonInventory, 0, len(nodes))
	for i := range nodes {
		j := inventory(&nodes[i], known[nodes[i].ID], o.fresh)
		if all = append(all, j); !o.json {
			j.print(out, i > 0)
		}
	}
	if o.json {
		return encode(out, o, all)
	}
	return nil
}

// jsonInventory is the hardware of a node for other programs. Names and meanings must not change.
type jsonInventory struct {
	Number   client.NodeID `json:"number"`
	Name     string        `json:"name"`
	Status   string        `json:"status"`
	Labels   []string      `json:"labels,omitempty"`  // tags and attributes set by an administrator
	Said     *time.Time    `json:"said,omitempty"`    // when the node reported the following; nil: never
	Problem  string        `json:"problem,omitempty"` // why it did not report again
	Hardware *jsonHardware `json:"hardware,omitempty"`
}

type jsonHardware struct {
	Maker      string          `json:"maker,omitempty"`
	Model      string          `json:"model,omitempty"`
	Machine    string          `json:"machine"` // uname -m
	Kernel     string          `json:"kernel"`
	System     string          `json:"system,omitempty"`
	BootID     string          `json:"boot_id"`
	CPU        string          `json:"cpu_model,omitempty"`
	Sockets    uint32          `json:"sockets"`
	Cores      uint32          `json:"cores"`
	CPUs       uint32          `json:"cpus"`
	Memory     uint64          `json:"memory"` // bytes
	Usable     uint64          `json:"usable_memory"`
	Interfaces []jsonInterface `json:"interfaces"`
	Disks      []jsonDisk      `json:"disks"`
	GPUs       []jsonGPU       `json:"gpus"`
	Failed     []string        `json:"failed,omitempty"` // values that could not be read, and why
}

type jsonInterface struct {
	Name      string   `json:"name"`
	MAC       string   `json:"mac,omitempty"`
	Speed     uint32   `json:"speed,omitempty"` // Mbit/s
	Addresses []string `json:"addresses"`
}

type jsonDisk struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Model string `json:"model,omitempty"`
	Size  uint64 `json:"size"`
}

type jsonGPU struct {
	Address string `json:"address"`
	Model   string `json:"model,omitempty"`
}

func inventory(n *client.Node, known *client.NodeHardware, fresh bool) jsonInventory {
	j := jsonInventory{Number: n.ID, Name: n.Name, Status: n.State, Labels: n.Labels}
	if known == nil {
		return j
	}
	if fresh {
		j.Problem = problem(known.Errno)
	}
	h := known.Hardware
	if h == nil {
		return j
	}
	said := time.Unix(known.At, 0).UTC()
	j.Said = &said
	j.Hardware = &jsonHardware{
		Maker: h.Maker, Model: h.Model, Machine: h.Arch, Kernel: h.Kernel, System: h.System, BootID: h.BootID, CPU: h.CPU,
		Sockets: h.Sockets, Cores: h.Cores, CPUs: h.CPUs, Memory: h.Memory, Usable: h.Usable, Failed: h.Failed,
		Interfaces: []jsonInterface{}, Disks: []jsonDisk{}, GPUs: []jsonGPU{},
	}
	for _, i := range h.Interfaces {
		j.Hardware.Interfaces = append(j.Hardware.Interfaces, jsonInterface{i.Name, i.MAC, i.Speed, append([]string{}, i.Addrs...)})
	}
	for _, d := range h.Disks {
		j.Hardware.Disks = append(j.Hardware.Disks, jsonDisk{d.Name, d.Kind, d.Model, d.Size})
	}
	for _, g := range h.GPUs {
		j.Hardware.GPUs = append(j.Hardware.GPUs, jsonGPU{g.Address, g.Model})
	}
	return j
}

// print prints a paragraph for a node. Unknown values have no line.
func (j *jsonInventory) print(out io.Writer, follows bool) {
	if follows {
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "node %d %s (%s)\n", j.Number, j.Name, j.Status)
	line := func(what string, values ...string) {
		if text := strings.Join(slices.DeleteFunc(values, func(v string) bool { return v == "" }), ", "); text != "" {
			fmt.Fprintf(out, "  %-11s %s\n", what, text)
		}
	}
	line("tags", strings.Join(j.Labels, " "))
	defer line("problem", j.Problem)
	h := j.Hardware
	if h == nil {
		line("inventory", "not known")
		return
	}
	line("machine", strings.TrimSpace(h.Maker+" "+h.Model))
	line("system", h.System, "Linux "+h.Kernel, h.Machine)
	line("processors", count(h.Sockets, "socket"), count(h.Cores, "core"), count(h.CPUs, "CPU"), h.CPU)
	line("memory", size(h.Memory), usable(h.Usable))
	for _, i := range h.Interfaces {
		line("interface", append([]string{i.Name, i.MAC, speed(i.Speed)}, i.Addresses...)...)
	}
	for _, d := range h.Disks {
		line("disk", d.Name, size(d.Size), d.Kind, d.Model)
	}
	for _, g := range h.GPUs {
		line("GPU", g.Address, g.Model)
	}
	line("boot", h.BootID)
	for _, f := range h.Failed {
		line("not read", f)
	}
	line("said", j.Said.Format(time.RFC3339))
}

func count(n uint32, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func usable(n uint64) string {
	if n == 0 {
		return ""
	}
	return size(n) + " usable"
}

func speed(mbit uint32) string {
	if mbit == 0 {
		return ""
	}
	return fmt.Sprintf("%d Mbit/s", mbit)
}

// size formats a number of bytes in the largest unit that makes it at least one.
func size(n uint64) string {
	if n == 0 {
		return ""
	}
	f, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, next
	}
	if f < 10 && unit != "B" {
		return fmt.Sprintf("%.1f %s", f, unit)
	}
	return fmt.Sprintf("%.0f %s", f, unit)
}
