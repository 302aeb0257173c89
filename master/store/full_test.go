package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/master/store"
)

// TestFullDisk fills a small disk, in a copy of this program with mounts of its own.
func TestFullDisk(t *testing.T) {
	cmd := role(t, "full", t.TempDir())
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
}

// disk is a store on a small disk, and the records that it must have.
type disk struct {
	store *store.Store
	want  map[string]string
}

// fillDisk changes a store until the disk is full, and a little beyond.
func fillDisk(mount string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	s, err := store.Open(mount, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	d := &disk{s, map[string]string{}}
	if err := errors.Join(d.fill(), s.Close()); err != nil {
		return err
	}
	if d.store, err = store.Open(mount, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	if err := unix.Mount("tmpfs", mount, "tmpfs", unix.MS_REMOUNT, "size=1m"); err != nil {
		return fmt.Errorf("enlarge the disk: %w", err)
	}
	if err := errors.Join(d.put("more"), d.check(), d.store.Close()); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	return nil
}

// fill returns when the store has refused a few changes.
func (d *disk) fill() error {
	refused := 0
	for i := 0; refused < 3; i++ {
		if i > 1000 {
			return errors.New("the disk is never full")
		}
		err := d.put(fmt.Sprint(i))
		if errors.Is(err, unix.ENOSPC) {
			refused++
		} else if err != nil {
			return fmt.Errorf("change %d: got %w, want %w", i, err, unix.ENOSPC)
		}
		if err := d.check(); err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
	}
	return nil
}

func (d *disk) put(name string) error {
	record := strings.Repeat(name, 1000)
	err := d.store.Table(store.Nodes).Change(map[string][]byte{name: []byte(record)})
	if err == nil {
		d.want["nodes/"+name] = record
	}
	return err
}

func (d *disk) check() error {
	got, err := contents(d.store)
	if err == nil && !maps.Equal(got, d.want) {
		err = fmt.Errorf("got %d records, want %d", len(got), len(d.want))
	}
	return err
}
