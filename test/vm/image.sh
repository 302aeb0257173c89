#!/bin/bash
# image.sh DIR KERNELS PACKAGES: a Debian 12 root with systemd in DIR/base.img, and in DIR/boot
# a kernel and an initial RAM disk for each of KERNELS (versions such as "5.10 6.1").
# PACKAGES, as a list with commas, are added to those that the machines themselves need.
#
# Packages come from where apt(8) of this machine gets its own, or from MIRROR and
# SECURITY_MIRROR. Nothing outside of DIR is changed; DIR/base.img appears last, when all is there.
set -euo pipefail
umask 022

dir=$(realpath -m "$1") kernels=$2 packages=$3
here=$(dirname "$(realpath "$0")")
stage=$dir/stage

# What systemd's machines have anyway, and what the suites use to look at one.
machine=systemd,systemd-sysv,udev,dbus,libpam-systemd,kmod,openssh-server,busybox-static,xz-utils,zstd
machine+=,procps,iproute2,iputils-ping,util-linux,e2fsprogs,less,file,man-db,bash-completion

# mirror MATCH: where apt gets the releases that MATCH, a regular expression.
mirror() {
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk -v match_="$1" '$1 ~ match_ { sub("/$", "", $2); print $2; exit }'
}

# The newest kernel may come from the backports of a later release: its modules need nothing of
# the rest of that release. Backports are never chosen where a plain release has a package.
sources() {
	local main=${MIRROR:-$(mirror '^[a-z]+$')} security=${SECURITY_MIRROR:-$(mirror '-security$')}
	[ -n "$main" ] && [ -n "$security" ] || {
		echo "apt of this machine names no Debian mirror: give MIRROR and SECURITY_MIRROR" >&2
		exit 1
	}
	local suite
	for suite in bookworm bookworm-backports trixie-backports; do echo "deb $main $suite main"; done
	for suite in bookworm-security bullseye-security; do echo "deb $security $suite main"; done
}

main() {
	rm -rf "$stage"
	mkdir -p "$stage" "$dir/boot"
	[ -e "$dir/key" ] || ssh-keygen -q -t ed25519 -N '' -C vm -f "$dir/key"
	local proxy
	proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
	sources >"$stage/sources.list"
	export KERNELS=$kernels OUT=$dir HERE=$here
	mmdebstrap --quiet --variant=minbase --include="$machine,$packages" \
		${proxy:+--aptopt="Acquire::http::Proxy \"$proxy\""} \
		--customize-hook="$here/image-kernels.sh" --customize-hook="$here/image-root.sh" \
		bookworm "$stage/root.tar" "$stage/sources.list"
	mkdir "$stage/root"
	tar -C "$stage/root" -xf "$stage/root.tar"
	truncate -s 12G "$stage/base.img"
	mkfs.ext4 -q -L root -E lazy_itable_init=1 -d "$stage/root" "$stage/base.img"
	mv "$stage/base.img" "$dir/base.img"
	rm -rf "$stage"
}

main
