#!/bin/bash
# image-kernels.sh ROOT: a hook of mmdebstrap(1), run by image.sh. Puts the modules of the newest
# package of each of KERNELS into ROOT, and OUT/boot/VERSION/{vmlinuz,initrd}.
# The packages are unpacked, not installed: dependencies and scripts of a kernel from another
# release of Debian do not matter.
set -euo pipefail
root=$1
export APT_CONFIG=$MMDEBSTRAP_APT_CONFIG

# The initial RAM disk has busybox and what it takes to mount the root. With "vm.probe" on the
# kernel's command line it says that the kernel runs, and ends the machine.
initrd() { # RELEASE FILE
	local release=$1 file=$2 work module
	work=$(mktemp -d)
	mkdir -p "$work"/{bin,dev,proc,new,modules}
	cp "$root/bin/busybox" "$work/bin/"
	for module in virtio_pci virtio_blk crc32c_generic crc32c_cryptoapi ext4; do
		chroot "$root" modprobe --show-depends --set-version="$release" $module 2>/dev/null || true
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/list"
	while read -r module; do
		local to=$work/modules/${module##*/}
		case $module in
		*.xz) xz -dc "$root$module" >"${to%.xz}" ;;
		*) cp "$root$module" "$to" ;;
		esac
	done <"$work/list"
	sed -i 's,.*/,/modules/,; s,\.xz$,,' "$work/list"
	cat >"$work/init" <<-'INIT'
		#!/bin/busybox sh
		bb=/bin/busybox
		$bb mount -t proc proc /proc
		$bb mount -t devtmpfs dev /dev
		for m in $($bb cat /list); do $bb insmod $m; done
		if $bb grep -qw vm.probe /proc/cmdline; then echo vm.probe: the kernel runs; $bb poweroff -f; fi
		while ! [ -b /dev/vda ]; do $bb sleep 0.1; done
		$bb mount -t ext4 -o noatime /dev/vda /new
		$bb umount /proc /dev
		exec $bb switch_root /new /sbin/init
	INIT
	chmod +x "$work/init"
	(cd "$work" && find . | "$root/bin/busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$file"
	rm -rf "$work"
}

for version in $KERNELS; do
	package=$(apt-cache search --names-only "^linux-image-${version//./\\.}\.[0-9.-]+[^ ]*-amd64\$" |
		awk '$1 !~ /cloud|rt-amd64/ { print $1 }' | sort -V | tail -1)
	[ -n "$package" ] || { echo "no package of kernel $version" >&2; exit 1; }
	release=${package#linux-image-}
	# Since 7.x an image is several packages.
	parts=$(apt-cache depends "$package" | awk -v r="-${release//+/[+]}$" '$1 == "Depends:" && $2 ~ r { print $2 }')
	work=$(mktemp -d)
	(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$package" $parts && for deb in *.deb; do dpkg-deb -x "$deb" .; done)
	mkdir -p "$OUT/boot/$version" "$root/lib/modules" "$root/boot"
	modules=$(find "$work" -path "*/lib/modules/$release" -type d)
	mkdir -p "$OUT/boot/$version" "$root/lib/modules" "$root/boot"
	cp "$work/boot/vmlinuz-$release" "$OUT/boot/$version/vmlinuz" 2>/dev/null || cp "$modules/vmlinuz" "$OUT/boot/$version/vmlinuz"
	cp "$work/boot/config-$release" "$root/boot/" 2>/dev/null || cp "$modules/config" "$root/boot/config-$release"
	# A virtual machine has hardly any devices, and drivers are most of the modules.
	find "$modules/kernel/drivers" -mindepth 1 -maxdepth 1 \
		! -name block ! -name virtio ! -name net ! -name char ! -name crypto -exec rm -r {} +
	find "$modules/kernel/drivers/net" -mindepth 1 -maxdepth 1 -type d -exec rm -r {} +
	rm -rf "$modules/kernel/sound"
	cp -a "$modules" "$root/lib/modules/"
	chroot "$root" depmod "$release"
	initrd "$release" "$OUT/boot/$version/initrd"
	echo "kernel $version: $release"
	rm -rf "$work"
done
