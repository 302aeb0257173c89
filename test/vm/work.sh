#!/bin/bash
# work.sh DIR BUILD DISK: a file system in DISK with the tree of the current directory, what is built of
# it, as in BUILD, Go, its modules and a build cache, kept in DIR/cache, that has all that tests are
# built from; each at the path that it has here, and /paths, the list of them.
set -euo pipefail
umask 022
dir=$1 build=$(realpath "$2") disk=$3 tree=$PWD
stage=$disk.d
trap 'rm -rf "$stage"' EXIT

export GOCACHE=$dir/cache
modules=$(go env GOMODCACHE) goroot=$(go env GOROOT)
export GOFLAGS=-buildvcs=false
go test -exec true -run '^$' ./... >/dev/null # builds and vets, runs nothing
for program in verdict cluster/demo; do go run -exec true "./test/$program"; done # the cache gets what it links
CGO_ENABLED=0 GOARCH=386 go build -o /dev/null ./slave/space/testdata/probe # a test builds it
CGO_ENABLED=0 go build -o /dev/null ./cmd/bpinit

# Commands of the same flags are not linked again.
mkdir -p "$stage$build"
make --no-print-directory completions BUILD="$stage$build" >/dev/null
put() { # DIRECTORY
	mkdir -p "$stage$1"
	cp -a --reflink=auto "$1/." "$stage$1/"
	echo "$1" >>"$stage/paths"
}
put "$goroot"
put "$modules"
rm -rf "$stage$modules/cache/vcs"
put "$GOCACHE"
mkdir -p "$stage$tree"
echo "$tree" >>"$stage/paths"
{ git ls-files -z --cached --others --exclude-standard; printf '.git\0'; } |
	tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -C "$stage$tree" -xf -
[ ! -e "$build/tools" ] || cp -a "$build/tools" "$stage$build/"
cat >"$stage/env" <<X
export PATH=$goroot/bin:\$PATH GOMODCACHE=$modules GOCACHE=$GOCACHE GOFLAGS=$GOFLAGS GOPROXY=off GOTOOLCHAIN=local
cd $tree
X
truncate -s "$(($(du -sm "$stage" | cut -f1) + 6000))M" "$disk"
mkfs.ext4 -q -L work -E lazy_itable_init=1 -d "$stage" "$disk"
