package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// lab has the machines of a suite with one kernel, and their shared resources.
type lab struct {
	*config
	image    *image
	kernel   string
	dir      string // of disks, logs and sockets; removed in the end
	hub      *hub
	machines []*machine
	version  string // of the packages
	work     string // the disk with the tree and Go, once it is made
}

// add makes a machine, which is off.
func (l *lab) add(name string, number int) (*machine, error) {
	if l.hub == nil {
		hub, err := newHub(l.dir + "/net")
		if err != nil {
			return nil, err
		}
		l.hub = hub
	}
	m := &machine{lab: l, name: name, number: number}
	l.machines = append(l.machines, m)
	return m, nil
}

// machine returns the machine with a name.
func (l *lab) machine(name string) *machine {
	for _, m := range l.machines {
		if m.name == name {
			return m
		}
	}
	panic("no machine " + name)
}

// node returns the machine of a node.
func (l *lab) node(n int) *machine { return l.machine(fmt.Sprint("node", n)) }

// onAll runs a function for all machines concurrently.
func (l *lab) onAll(do func(*machine) error) error {
	errs := make(chan error)
	for _, m := range l.machines {
		go func() { errs <- do(m) }()
	}
	var err error
	for range l.machines {
		err = errors.Join(err, <-errs)
	}
	return err
}

// usable reports whether all machines run, so that another step makes sense.
func (l *lab) usable() bool {
	for _, m := range l.machines {
		if !m.running() {
			return false
		}
	}
	return len(l.machines) > 0
}

// end switches all machines off.
func (l *lab) end() {
	for _, m := range l.machines {
		m.powerOff()
	}
	if l.hub != nil {
		l.hub.close()
	}
}

// makeWork makes the disk with the tree, Go, modules and a full build cache, each at its path on
// the host: go(1)'s cache depends on that.
func (l *lab) makeWork(ctx context.Context) error {
	if l.work != "" {
		return nil
	}
	disk := l.dir + "/work.img"
	fmt.Println("building what the machine will not have to")
	if err := output(ctx, "test/vm/work.sh", l.config.dir, l.build, disk); err != nil {
		return err
	}
	if _, err := os.Stat(disk); err != nil {
		return err
	}
	l.work = disk
	return nil
}
