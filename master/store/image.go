package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// A file of bbolt, format 2 (its internal/common: page.go, meta.go, bucket.go), in the
// byte order of the machine:
//
//	page     id 8, flags 2, count 2, overflow 4: pages that follow and belong to it
//	meta     page, then: magic 4, format 4, page size 4, flags 4, root page 8,
//	         sequence 8, free list 8, pages 8, transaction 8, checksum 8 (FNV-1a)
//	branch   page, then count elements: position of the key 4, its size 4, page 8
//	leaf     page, then count elements: flags 4, position of key and value 4, sizes 4, 4
//	bucket   a value in the root's leaves: root page 8, sequence 8; if the root page is
//	         0, a leaf follows
//
// Positions count from the element.
const (
	pageSize    = 4096
	pageHeader  = 16
	elementSize = 16

	branchPage = 0x01
	leafPage   = 0x02
	metaPage   = 0x04

	metaMagic  = 0xED0CDAED
	metaFormat = 2
	metaSize   = 64 // with its checksum
	noFreeList = 1<<64 - 1

	bucketFlag   = 0x01 // of an element
	bucketHeader = 16
)

var order = binary.NativeEndian

// image is a file as its bytes say it is.
type image struct {
	data []byte
	used []bool // pages that belong to something
}

// meta is what a meta page says.
type meta struct{ root, pages, transaction uint64 }

// readImage returns the records of all tables, or what is wrong with the file, which has
// so many bytes.
func readImage(f io.ReaderAt, size int64) (map[string]map[string][]byte, error) {
	var newest meta
	head := make([]byte, 2*pageSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, cutShort(err)
	}
	for id := range uint64(2) {
		m, err := readMeta(head[id*pageSize:], id)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", id, err)
		}
		if m.transaction >= newest.transaction {
			newest = m
		}
	}
	if newest.pages > uint64(size)/pageSize {
		return nil, cutShort(io.EOF)
	}
	im := &image{data: make([]byte, newest.pages*pageSize), used: make([]bool, newest.pages)}
	if _, err := f.ReadAt(im.data, 0); err != nil {
		return nil, cutShort(err)
	}
	root, err := im.page(newest.root)
	if err != nil {
		return nil, err
	}
	tables := map[string]map[string][]byte{}
	err = im.walk(root, func(flags uint32, key, value []byte) (err error) {
		if flags != bucketFlag {
			return fmt.Errorf("%q is no table", key)
		}
		tables[string(key)], err = im.table(value)
		return err
	})
	return tables, err
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it is cut short")
	}
	return err
}

// readMeta reads a meta page. Both must be good: a transaction writes to the older
// one, within one sector of a disk, so at any moment both are complete.
func readMeta(page []byte, id uint64) (meta, error) {
	m := page[pageHeader:][:metaSize]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:metaSize-8]) // cannot fail
	is := meta{root: order.Uint64(m[16:]), pages: order.Uint64(m[40:]), transaction: order.Uint64(m[48:])}
	switch {
	case order.Uint64(page) != id || order.Uint16(page[8:]) != metaPage || order.Uint32(m) != metaMagic:
		return meta{}, errors.New("no meta page")
	case order.Uint64(m[metaSize-8:]) != sum.Sum64():
		return meta{}, errors.New("wrong checksum")
	case order.Uint32(m[4:]) != metaFormat || order.Uint32(m[8:]) != pageSize:
		return meta{}, errors.New("another format")
	case order.Uint64(m[32:]) != noFreeList && is.transaction > 1: // 0 and 1 are of a new file
		return meta{}, errors.New("written by another program")
	}
	return is, nil
}

// table reads a bucket.
func (im *image) table(value []byte) (map[string][]byte, error) {
	if len(value) < bucketHeader {
		return nil, errors.New("a table is cut short")
	}
	root := value[bucketHeader:] // within the element of the table
	if id := order.Uint64(value); id != 0 {
		var err error
		if root, err = im.page(id); err != nil {
			return nil, err
		}
	} else if len(root) < pageHeader || order.Uint16(root[8:]) != leafPage {
		return nil, errors.New("a table is cut short")
	}
	records := map[string][]byte{}
	err := im.walk(root, func(flags uint32, key, value []byte) error {
		if flags != 0 {
			return fmt.Errorf("%q is no record", key)
		}
		records[string(key)] = value
		return nil
	})
	return records, err
}

// page returns a page with those that belong to it. It can be had once: a page has
// one place.
func (im *image) page(id uint64) ([]byte, error) {
	pages := uint64(len(im.used))
	if id < 2 || id >= pages {
		return nil, fmt.Errorf("there is no page %d", id)
	}
	head := im.data[id*pageSize:]
	end := id + 1 + uint64(order.Uint32(head[12:]))
	if order.Uint64(head) != id || end > pages {
		return nil, fmt.Errorf("page %d is something else", id)
	}
	for i := id; i < end; i++ {
		if im.used[i] {
			return nil, fmt.Errorf("page %d is in two places", i)
		}
		im.used[i] = true
	}
	return im.data[id*pageSize : end*pageSize], nil
}

// walker visits the elements of a tree. Keys come in order, and so do those of branches,
// by which bbolt finds them.
type walker struct {
	im    *image
	visit func(flags uint32, key, value []byte) error
	last  []byte
	above bool // last is of a branch: the first key below it may be the same
}

func (im *image) walk(root []byte, visit func(flags uint32, key, value []byte) error) error {
	w := &walker{im: im, visit: visit, above: true}
	return w.page(root)
}

func (w *walker) page(page []byte) error {
	kind, count := order.Uint16(page[8:]), int(order.Uint16(page[10:]))
	visit := map[uint16]func([]byte) error{leafPage: w.leaf, branchPage: w.branch}[kind]
	if visit == nil {
		return errors.New("a page is of no kind")
	}
	if pageHeader+count*elementSize > len(page) || count == 0 && kind == branchPage {
		return errors.New("a page is cut short")
	}
	for i := range count {
		if err := visit(page[pageHeader+i*elementSize:]); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) leaf(e []byte) error {
	position, size := uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:]))
	end := position + size + uint64(order.Uint32(e[12:]))
	if end > uint64(len(e)) {
		return errors.New("a record is cut short")
	}
	key := e[position : position+size]
	if err := w.next(key, false); err != nil {
		return err
	}
	return w.visit(order.Uint32(e), key, e[position+size:end])
}

func (w *walker) branch(e []byte) error {
	position, size := uint64(order.Uint32(e)), uint64(order.Uint32(e[4:]))
	if position+size > uint64(len(e)) {
		return errors.New("a branch is cut short")
	}
	if err := w.next(e[position:position+size], true); err != nil {
		return err
	}
	below, err := w.im.page(order.Uint64(e[8:]))
	if err != nil {
		return err
	}
	return w.page(below)
}

// next checks that a key comes after those before.
func (w *walker) next(key []byte, above bool) error {
	after := bytes.Compare(key, w.last)
	if len(key) == 0 || after < 0 || after == 0 && !w.above {
		return errors.New("keys are not in order")
	}
	w.last, w.above = key, above
	return nil
}
