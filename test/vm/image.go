package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed image*.sh
var scripts embed.FS // those that make the image

// stock are the kernels that an image has at least, so that it is not made again for each.
var stock = []string{"5.10", "6.1", "6.12", "7.3"}

// image is what machines are made of.
type image struct {
	dir   string
	base  string // the disk
	accel []string
}

// newImage makes the image, unless it is there and was made by the same scripts for the same kernels.
func newImage(ctx context.Context, c *config) (*image, error) {
	dir, err := filepath.Abs(c.dir)
	if err != nil {
		return nil, err
	}
	c.dir = dir
	im := &image{dir: dir, base: dir + "/base.img"}
	kernels := slices.Clone(stock)
	for _, k := range c.kernels {
		if !slices.Contains(kernels, k) {
			kernels = append(kernels, k)
		}
	}
	stamp, err := stampOf(kernels, c.packages)
	if err != nil {
		return nil, err
	}
	if was, _ := os.ReadFile(dir + "/stamp"); string(was) != stamp {
		fmt.Printf("making %s, once\n", im.base)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := output(ctx, "test/vm/image.sh", dir, strings.Join(kernels, " "), c.packages); err != nil {
			return nil, err
		}
		if err := os.WriteFile(dir+"/stamp", []byte(stamp), 0o644); err != nil {
			return nil, err
		}
	}
	im.accelerate(ctx, c.kernels[0])
	return im, nil
}

func stampOf(kernels []string, packages string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, kernels, packages)
	err := fs.WalkDir(scripts, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := scripts.ReadFile(path)
		hash.Write(text)
		return err
	})
	return fmt.Sprintf("%x\n", hash.Sum(nil)), err
}

// accelerate chooses KVM if a kernel gets as far as its first program under it. A /dev/kvm that is
// there says nothing: some are for guests that know of it.
func (im *image) accelerate(ctx context.Context, kernel string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	boot := im.dir + "/boot/" + kernel
	out, _ := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-m", "512M", "-nodefaults",
		"-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio", "-kernel", boot+"/vmlinuz",
		"-initrd", boot+"/initrd", "-append", "console=ttyS0 panic=-1 vm.probe").CombinedOutput()
	if strings.Contains(string(out), "vm.probe: the kernel runs") {
		im.accel = []string{"-accel", "kvm", "-cpu", "host"}
		return
	}
	fmt.Println("KVM cannot be used; machines are translated, which is slow")
	im.accel = []string{"-accel", "tcg,thread=multi,tb-size=512", "-cpu", translatedCPU}
}

// translatedCPU is without what costs much when it is translated: with erms and fsrm the kernel copies and
// clears byte by byte, which takes twice as long as by words.
const translatedCPU = "max,la57=off,pcid=off,erms=off,fsrm=off"

// translated reports whether machines run without KVM.
func (im *image) translated() bool { return slices.Contains(im.accel, translatedCPU) }
