# SPDX-License-Identifier: BSD-3-Clause
# Sourced by lab: makes the system that the virtual hosts boot, once, and caches it in $LAB_DIR. A Debian 13 folder made
# by debootstrap gives QEMU 10.0.13 or later (older ones have no igb NIC, or one whose virtual functions are dead) and a
# kernel with bonding, VLAN, netem, igbvf, vfio and soft-RoCE. Each step leaves a mark when it is complete, so an
# interrupted run continues where it stopped.

lab_root=$LAB_DIR/root

# The archive that this machine's apt gets Debian from.
lab_mirror() {
	local mirror
	mirror=$(apt-get indextargets --format '$(ORIGIN)/$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		awk '$1 == "Debian/Debian" && !found { print $2; found = 1 }')
	[ -n "$mirror" ] || lab_die "apt knows no Debian archive: add one to /etc/apt, the lab is made from it"
	echo "$mirror"
}

# lab_apt ARGS...: apt-get that waits its turn: apt has no option to wait for all of its locks.
lab_apt() {
	local deadline=$((SECONDS + 900)) log
	log=$(mktemp "$LAB_DIR/apt.XXXXXX")
	until DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@" >"$log" 2>&1; do
		cat "$log"
		if ! grep -qE 'Could not get lock|Unable to (lock|acquire)' "$log" || [ $SECONDS -ge $deadline ]; then
			rm -f "$log"
			return 1
		fi
		pause 2
	done
	cat "$log"
	rm -f "$log"
}

# Programs that the preparation runs, and that the cases run in the virtual hosts (they see this machine's root).
lab_packages() {
	local package missing=() wanted=(debootstrap cpio xz-utils python3 kmod pciutils iproute2 ethtool iputils-ping jq
		nftables dpdk dpdk-dev rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest)
	for package in "${wanted[@]}"; do
		[ -e "/var/lib/dpkg/info/$package.list" ] || compgen -G "/var/lib/dpkg/info/$package:*.list" >/dev/null ||
			missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	lab_apt update
	lab_apt install -y --no-install-recommends "${missing[@]}"
}

# Makes the folder. It runs in separate process and mount namespaces, which end with this process in every case.
lab_bootstrap() {
	local proxy=''
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	rm -rf "$lab_root"
	mkdir -p "$lab_root" "$LAB_DIR/packages"
	http_proxy=${http_proxy:-$proxy} setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc -- \
		debootstrap --cache-dir="$LAB_DIR/packages" --variant=minbase \
		--include=qemu-system-x86,linux-image-amd64,kmod,busybox-static,xz-utils trixie "$lab_root" "$(lab_mirror)" || return 1
	rm -rf "$LAB_DIR/packages" "$lab_root"/var/cache/apt/archives/*.deb
	mkdir -p "$lab_root/lab-host" "$lab_root/lab-run"
	touch "$lab_root/.complete"
}

# lab_tree NAME PACKAGE...: packages as a folder to unpack in a host: installed here they would take over this machine's
# own network, or serve files from it. The folder leaves out packages that are installed here; the hosts see those.
lab_tree() {
	local tree=$LAB_DIR/$1 package
	shift
	rm -rf "$tree" "$LAB_DIR/packages"
	mkdir -p "$tree" "$LAB_DIR/packages/partial"
	lab_apt update || return 1
	lab_apt install -y --no-install-recommends --download-only -o Dir::Cache::archives="$LAB_DIR/packages" "$@" || return 1
	for package in "$LAB_DIR"/packages/*.deb; do
		[ ! -e "$package" ] || dpkg-deb -x "$package" "$tree" || return 1
	done
	rm -rf "$LAB_DIR/packages" "$tree"/usr/share/{doc,man,locale}
	touch "$tree/.complete"
}

# lab_tree_unpack HOST NAME PACKAGE...: unpacks the folder in the host. Makes it now if it does not exist yet.
lab_tree_unpack() {
	local host=$1 name=$2 lock
	shift
	exec {lock}>"$LAB_DIR/lock"
	flock "$lock"
	[ -e "$LAB_DIR/$name/.complete" ] || lab_tree "$@" >>"$LAB_DIR/prepare.log" 2>&1 || lab_die "$name could not be had: $LAB_DIR/prepare.log"
	exec {lock}>&-
	tar -C "$LAB_DIR/$name" -c --exclude=./.complete . | lab_sh "$host" tar -C / -xm --keep-directory-symlink
}

# lab_prepare: everything that `lab up` needs. Safe to call at any time, by several at once.
lab_prepare() {
	mkdir -p "$LAB_DIR"
	exec {lab_lock}>"$LAB_DIR/lock"
	flock "$lab_lock"
	lab_packages >"$LAB_DIR/prepare.log" 2>&1 || lab_die "packages could not be installed: $LAB_DIR/prepare.log"
	if [ ! -e "$lab_root/.complete" ]; then
		lab_bootstrap >>"$LAB_DIR/prepare.log" 2>&1 || lab_die "debootstrap failed: $LAB_DIR/prepare.log"
	fi
	if [ ! -e "$LAB_DIR/network-manager/.complete" ]; then
		# Only one case needs it, and that case reports it as well.
		lab_tree network-manager network-manager dbus >>"$LAB_DIR/prepare.log" 2>&1 || echo "lab: NetworkManager could not be had: $LAB_DIR/prepare.log" >&2
	fi
	if [ ! -e "$lab_root/.initramfs" ] || [ "$here/prepare.sh" -nt "$lab_root/.initramfs" ]; then
		rm -rf "$LAB_DIR"/initramfs.*
		lab_initramfs
		touch "$lab_root/.initramfs"
	fi
	exec {lab_lock}>&-
}

lab_kernel() {
	ls "$lab_root/lib/modules" | sort -V | tail -n 1
}

# The initramfs mounts the machine's root over 9p, puts an overlay on it and starts the system there.
lab_initramfs() {
	local tree module file kver
	tree=$(mktemp -d "$LAB_DIR/initramfs.XXXXXX")
	kver=$(lab_kernel)
	mkdir -p "$tree"/{bin,proc,sys,dev,mods,lower,rw}
	cp "$lab_root/usr/bin/busybox" "$tree/bin/"
	for module in virtio_pci 9pnet_virtio 9p overlay; do
		chroot "$lab_root" modprobe -S "$kver" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
		xz -dc "$lab_root$file" >"$tree/mods/$(basename "$file" .xz)"
		basename "$file" .xz >>"$tree/mods/order"
	done
	cat >"$tree/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc p /proc; $b mount -t sysfs s /sys; $b mount -t devtmpfs d /dev
for m in $($b cat /mods/order); do $b insmod /mods/$m; done
o=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o $o,ro,cache=loose host /lower
$b mount -t tmpfs -o size=75% t /rw; $b mkdir -p /rw/u /rw/w /rw/m
$b mount -t overlay -o lowerdir=/lower,upperdir=/rw/u,workdir=/rw/w o /rw/m
for d in proc sys dev; do $b mkdir -p /rw/m/$d; $b mount --move /$d /rw/m/$d; done
$b mkdir -p /rw/m/usr/lib/modules /rw/m/lab
$b mount -t 9p -o $o,ro,cache=loose modules /rw/m/usr/lib/modules
$b mount -t 9p -o $o run /rw/m/lab
exec $b switch_root /rw/m /bin/bash /lab/guest-init
INIT
	chmod +x "$tree/init"
	(cd "$tree" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$lab_root/initramfs.gz.new"
	mv "$lab_root/initramfs.gz.new" "$lab_root/initramfs.gz"
	rm -rf "$tree"
}
