package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// config is the configuration from the command line.
type config struct {
	build, dir string // the install tree, and this program's directory
	kernels    []string
	cgroup     string
	run        *regexp.Regexp
	testRun    string
	testPkg    string
	packages   string // that "make test" needs
	limit      time.Duration
}

func main() {
	var c config
	kernels := flag.String("kernel", "6.1", "versions of kernels")
	run := flag.String("run", "", "suites or SUITE/STEP, a regular expression")
	flag.StringVar(&c.build, "build", "build", "the install tree")
	flag.StringVar(&c.dir, "dir", "", "where images are kept (BUILD/vm)")
	flag.StringVar(&c.cgroup, "cgroup", "unified", "unified or hybrid")
	flag.StringVar(&c.testRun, "testrun", "", "RUN of make test")
	flag.StringVar(&c.testPkg, "testpkg", "", "PKG of make test")
	flag.StringVar(&c.packages, "packages", "", "Debian packages that make test needs, with commas")
	flag.DurationVar(&c.limit, "limit", 12*time.Hour, "of all")
	flag.Parse()
	c.kernels = strings.Fields(*kernels)
	if c.dir == "" {
		c.dir = c.build + "/vm"
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	var err error
	if c.run, err = regexp.Compile(*run); err == nil {
		err = c.main(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		stop()
		os.Exit(1) //nolint:gocritic // nothing deferred matters any more
	}
}

func (c *config) main(ctx context.Context) error {
	if c.cgroup != "unified" && c.cgroup != "hybrid" {
		return fmt.Errorf("cgroup mode %s: neither unified nor hybrid", c.cgroup)
	}
	if os.Geteuid() != 0 {
		return errors.New("only root can make the image")
	}
	for _, tool := range []string{"qemu-system-x86_64", "qemu-img", "mmdebstrap", "ssh", "mkfs.ext4"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing: apt-get install qemu-system-x86 qemu-utils mmdebstrap", tool)
		}
	}
	im, err := newImage(ctx, c)
	if err != nil {
		return err
	}
	var r results
	for _, kernel := range c.kernels {
		if err := c.kernel(ctx, im, kernel, &r); err != nil {
			return err
		}
	}
	return r.summary()
}

// kernel runs the suites with one kernel.
func (c *config) kernel(ctx context.Context, im *image, kernel string, r *results) error {
	for _, s := range suites {
		steps := s.selected(c.run)
		if len(steps) == 0 {
			continue
		}
		dir, err := os.MkdirTemp(c.dir, ".run-") // go(1) does not look for packages in such a name
		if err != nil {
			return err
		}
		l := &lab{config: c, image: im, kernel: kernel, dir: dir}
		for i, step := range steps {
			err := r.step(ctx, kernel+" "+c.cgroup+" "+s.name+"/"+step.name, func(ctx context.Context) error { return step.do(ctx, l) })
			if err != nil && s.chained && i < len(steps)-1 && (i < clusterBase || !l.usable()) {
				fmt.Printf("%s %s %s: the rest is not run\n", kernel, c.cgroup, s.name)
				break
			}
		}
		l.end()
		if err := errors.Join(os.RemoveAll(dir), context.Cause(ctx)); err != nil {
			return err
		}
	}
	return nil
}
