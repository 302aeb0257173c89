package hardware

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jaypipes/ghw/pkg/block"
	"github.com/jaypipes/ghw/pkg/cpu"
	"github.com/jaypipes/ghw/pkg/memory"
	ghwnet "github.com/jaypipes/ghw/pkg/net"
	"github.com/jaypipes/ghw/pkg/pci"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// parts are the parts of the hardware, each read separately.
var parts = []struct {
	name string
	read func(*wire.Hardware) error
}{
	{"system", readSystem},
	{"cpu", readCPUs},
	{"memory", readMemory},
	{"interfaces", readInterfaces},
	{"disks", readDisks},
	{"gpus", readGPUs},
}

// read reads all parts.
func read() *wire.Hardware {
	h := new(wire.Hardware)
	for _, p := range parts {
		if err := part(h, p.read); err != nil {
			h.Failed = append(h.Failed, fmt.Sprintf("%s: %v", p.name, err))
		}
	}
	return h
}

// part reads one part. A panic does not keep the others from being read.
func part(h *wire.Hardware, read func(*wire.Hardware) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return read(h)
}

func readSystem(h *wire.Hardware) error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	h.Kernel, h.Arch = text(name.Release[:]), text(name.Machine[:])
	h.BootID = line("/proc/sys/kernel/random/boot_id")
	h.Maker, h.Model = line("/sys/class/dmi/id/sys_vendor"), line("/sys/class/dmi/id/product_name")
	if h.Model == "" { // there is no DMI, but perhaps a device tree
		h.Model = strings.TrimRight(line("/proc/device-tree/model"), "\x00")
	}
	h.System = release("/etc/os-release")
	return nil
}

func text(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// line returns the text of a file, or nothing.
func line(path string) string {
	data, _ := os.ReadFile(path) // many machines lack some of these files
	return strings.TrimSpace(string(data))
}

// release returns the name of the system (os-release(5)).
func release(path string) string {
	for l := range strings.Lines(line(path)) {
		if value, ok := strings.CutPrefix(l, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

func readCPUs(h *wire.Hardware) error {
	info, err := cpu.New()
	if err != nil {
		return err
	}
	h.Sockets, h.Cores, h.CPUs = uint32(len(info.Processors)), info.TotalCores, info.TotalHardwareThreads
	if len(info.Processors) > 0 {
		h.CPU = strings.TrimSpace(info.Processors[0].Model)
	}
	return nil
}

func readMemory(h *wire.Hardware) error {
	info, err := memory.New()
	if err != nil {
		return err
	}
	h.Memory, h.Usable = uint64(max(info.TotalPhysicalBytes, 0)), uint64(max(info.TotalUsableBytes, 0))
	return nil
}

func readInterfaces(h *wire.Hardware) error {
	info, err := ghwnet.New()
	if err != nil {
		return err
	}
	for _, nic := range info.NICs {
		i := wire.Interface{Name: nic.Name, MAC: nic.MACAddress, Speed: speed(nic.Speed)}
		if here, err := net.InterfaceByName(nic.Name); err == nil {
			i.MAC = cmp.Or(i.MAC, here.HardwareAddr.String())
			addrs, _ := here.Addrs()
			for _, a := range addrs {
				i.Addrs = append(i.Addrs, a.String())
			}
		}
		if nic.IsVirtual && len(i.Addrs) == 0 {
			continue // of a container, or not in use
		}
		h.Interfaces = append(h.Interfaces, i)
	}
	return nil
}

// speed returns the number of a speed such as "1000Mb/s" or "1000"; 0: it is not known.
func speed(s string) uint32 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(s), "Mb/s"), 10, 31)
	if err != nil {
		return 0
	}
	return uint32(n)
}

func readDisks(h *wire.Hardware) error {
	info, err := block.New()
	if err != nil {
		return err
	}
	for _, d := range info.Disks {
		if d.SizeBytes == 0 || d.StorageController == block.StorageControllerLoop || d.DriveType == block.DriveTypeVirtual {
			continue
		}
		h.Disks = append(h.Disks, wire.Disk{Name: d.Name, Kind: d.DriveType.String(), Model: known(d.Vendor, d.Model), Size: d.SizeBytes})
	}
	return nil
}

// known joins the names of a maker and a model, as far as they are known.
func known(maker, model string) string {
	if maker == "unknown" || strings.HasPrefix(model, maker) {
		maker = ""
	}
	if model == "unknown" {
		model = ""
	}
	return strings.TrimSpace(maker + " " + model)
}

// display is the class of PCI display controllers.
const display = "0x03"

// readGPUs finds GPUs by their class, with or without a driver. Their names are in a file that may
// be missing.
func readGPUs(h *wire.Hardware) error {
	devices, err := filepath.Glob("/sys/bus/pci/devices/*")
	if err != nil {
		return err
	}
	for _, d := range devices {
		if strings.HasPrefix(line(filepath.Join(d, "class")), display) {
			number := func(file string) string { return strings.TrimPrefix(line(filepath.Join(d, file)), "0x") }
			h.GPUs = append(h.GPUs, wire.GPU{Address: filepath.Base(d), Model: number("vendor") + ":" + number("device")})
		}
	}
	if len(h.GPUs) == 0 {
		return nil
	}
	info, err := pci.New()
	if err != nil {
		return fmt.Errorf("names: %w", err)
	}
	for i := range h.GPUs {
		if d := info.GetDevice(h.GPUs[i].Address); d != nil && d.Vendor != nil && d.Product != nil && d.Product.Name != "unknown" {
			h.GPUs[i].Model = known(d.Vendor.Name, d.Product.Name)
		}
	}
	return nil
}
