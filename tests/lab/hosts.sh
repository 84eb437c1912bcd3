# SPDX-License-Identifier: BSD-3-Clause
# Sourced by lab: one lab's virtual hosts. Everything of a lab lives in a mount and process namespace whose
# process 1, the keeper, ends with the script that made it or with `lab down`: with it the kernel ends
# QEMU, the switches, the mounts and the sockets, whatever happened. Only $lab_state remains: a
# folder with the keeper's pid and what was asked for.

lab_state_root=/run/plenum-lab

lab_set_name() { # which lab the functions below are about
	LAB_NAME=$1
	lab_state=$lab_state_root/$1
}

# The pid of the lab's keeper; fails where there is no lab.
lab_keeper() {
	local pid
	pid=$(cat "$lab_state/keeper.pid" 2>/dev/null) || return 1
	[ "$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | tail -n 1)" = "lab-keeper:$LAB_NAME" ] || return 1
	echo "$pid"
}

lab_need_keeper() {
	lab_keeper || lab_die "no lab '$LAB_NAME' is up: lab up"
}

# The lab's folder of sockets and logs, as it is reached from outside its namespace.
lab_run_dir() {
	echo "/proc/$(lab_need_keeper)/root$lab_root/lab-run"
}

lab_host_names() {
	local i names=(host-a host-b host-c)
	for ((i = 0; i < $1; i++)); do
		echo "${names[$i]}"
	done
}

lab_keeper_main() { # in the new namespaces: mounts, switches, hosts; ends with its standard input
	local name number ports=() leg kept=0
	mount --make-rprivate /
	mount -t proc proc "$lab_root/proc" # QEMU's 9p server needs /proc/self/fd
	mount --rbind /dev "$lab_root/dev"
	mount --rbind / "$lab_root/lab-host"
	for name in proc sys dev run; do
		umount -lR "$lab_root/lab-host/$name" 2>/dev/null || :
	done
	mount -t tmpfs -o mode=755 run "$lab_root/lab-run"
	cp "$here/guest-init" "$lab_root/lab-run/"
	. "$lab_state/wants"
	for name in $(lab_host_names "$hosts"); do
		for leg in m $(seq 0 $((legs - 1))); do
			ports+=("$name.$leg")
		done
	done
	# A fifo stays open for writing here, so the switch ends with this process.
	mkfifo "$lab_root/lab-run/switch.in"
	exec 5<>"$lab_root/lab-run/switch.in"
	"$LAB_BUILD/tests/lab/switch" "$lab_root/lab-run" "${ports[@]}" <"$lab_root/lab-run/switch.in" >"$lab_root/lab-run/switch.log" 2>&1 &
	for name in $(lab_host_names "$hosts"); do
		lab_qemu "$name" &
	done
	echo up >"$lab_state/ready"
	# Commands come as lines. When the last writer is gone the lab ends, unless it was told to stay.
	while :; do
		exec 6<"$lab_state/lifeline"
		while read -r number name <&6; do
			case $number in
			keep) kept=1 ;;
			boot) lab_qemu "$name" & ;;
			esac
		done
		[ $kept = 1 ] || exit 0
	done
}

lab_qemu() { # lab_qemu HOST: boots it and waits for its end
	local name=$1 args=() leg port index number
	. "$lab_state/wants"
	number=$(lab_host_names 3 | grep -n "^$name\$" | cut -d: -f1)
	rm -f "$lab_root/lab-run/$name".{m,[0-9],qmp,chan.*} 2>/dev/null || :
	index=0
	for leg in m $(seq 0 $((legs - 1))); do
		args+=(-netdev "dgram,id=n$leg,local.type=unix,local.path=/lab-run/$name.$leg,remote.type=unix,remote.path=/lab-run/$name.$leg.switch")
		if [ "$leg" = m ] || [ "$nics" = virtio ]; then
			args+=(-device "virtio-net-pci,id=nic$leg,netdev=n$leg,mac=52:54:00:0$number:ff:0$index")
		else
			args+=(-device "pcie-root-port,id=rp$leg,chassis=$((leg + 1)),slot=$((leg + 1))"
				-device "igb,id=nic$leg,bus=rp$leg,netdev=n$leg,mac=52:54:00:0$number:00:0$index")
		fi
		index=$((index + 1))
	done
	for port in $(seq 0 $((channels - 1))); do
		args+=(-chardev "socket,id=c$port,path=/lab-run/$name.chan.$port,server=on,wait=off"
			-device "virtserialport,chardev=c$port,name=lab.$port")
	done
	exec chroot "$lab_root" qemu-system-x86_64 -nodefaults -no-reboot -display none \
		-machine "q35,accel=$accel" -cpu max -smp "$cpus" -m "$memory" \
		-kernel "/boot/vmlinuz-$(lab_kernel)" -initrd /initramfs.gz \
		-append "console=ttyS0 quiet panic=-1 net.ifnames=0 intel_iommu=on iommu=pt hugepages=$hugepages lab_name=$name lab_number=$((10 + number)) lab_nics=$nics lab_channel=$LAB_BUILD/tests/lab/channel" \
		-device intel-iommu,caching-mode=on -device virtio-serial-pci,max_ports=16 \
		-fsdev local,id=host,path=/lab-host,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=host,mount_tag=host \
		-fsdev local,id=modules,path=/usr/lib/modules,security_model=none,readonly=on \
		-device virtio-9p-pci,fsdev=modules,mount_tag=modules \
		-fsdev local,id=run,path=/lab-run,security_model=none \
		-device virtio-9p-pci,fsdev=run,mount_tag=run \
		-qmp "unix:/lab-run/$name.qmp,server=on,wait=off" -serial "file:/lab-run/$name.console" -monitor none \
		"${args[@]}" </dev/null >"$lab_root/lab-run/$name.qemu" 2>&1
}

# lab_up OPTIONS...: boots the hosts and returns when all of them answer.
lab_up() {
	local hosts=2 legs=2 nics=igb memory=1536 cpus=1 accel=tcg hugepages=160 channels=8 name
	while [ $# -gt 0 ]; do
		case $1 in
		--hosts | --legs | --nics | --memory | --cpus | --accel)
			[ $# -ge 2 ] || lab_die "$1 wants a value"
			local "${1#--}=$2"
			shift 2
			;;
		*) lab_die "up: unknown option '$1'" ;;
		esac
	done
	case "$hosts$legs" in [1-3][1-4]) ;; *) lab_die "up: 1 to 3 hosts with 1 to 4 legs, not $hosts and $legs" ;; esac
	case $nics in igb | virtio) ;; *) lab_die "up: --nics igb or virtio, not '$nics'" ;; esac
	lab_prepare
	! lab_keeper >/dev/null || lab_die "lab '$LAB_NAME' is up already: lab down"
	rm -rf "$lab_state"
	mkdir -p "$lab_state"
	printf '%s=%q\n' hosts "$hosts" legs "$legs" nics "$nics" memory "$memory" cpus "$cpus" accel "$accel" \
		hugepages $hugepages channels $channels >"$lab_state/wants"
	mkfifo "$lab_state/lifeline" "$lab_state/ready"
	export lab_root lab_state here
	setsid unshare --mount --pid --fork --kill-child -- bash -c "set -euo pipefail
		$(declare -f lab_keeper_main lab_qemu lab_host_names lab_kernel)
		lab_keeper_main" "lab-keeper:$LAB_NAME" </dev/null >"$lab_state/log" 2>&1 &
	local unshare_pid=$!
	disown $unshare_pid
	exec {lab_lifeline}<>"$lab_state/lifeline" # both ends, so that neither side waits for the other
	if ! read -rt 60 _ <>"$lab_state/ready"; then
		cat "$lab_state/log" >&2
		lab_die "the lab did not start"
	fi
	tr -d ' ' <"/proc/$unshare_pid/task/$unshare_pid/children" >"$lab_state/keeper.pid"
	exec {lab_lifeline_w}>"$lab_state/lifeline" {lab_lifeline}>&-
	for name in $(lab_host_names "$hosts"); do
		lab_wait "$name"
	done
}

# The lab outlives this script.
lab_keep() {
	echo keep >&"$lab_lifeline_w"
}

lab_wait() { # until the host answers
	if ! lab_sh --timeout 120 "$1" true </dev/null; then
		lab_console "$1" | tail -n 20 >&2
		lab_die "$1 did not boot"
	fi
}

# lab_sh [--timeout S] HOST [CMD...]: the command's own exit status.
lab_sh() {
	local options=() host run port
	if [ "${1:-}" = --timeout ]; then
		options=(--timeout "$2")
		shift 2
	fi
	[ $# -gt 0 ] || lab_die "sh: which host?"
	host=$1
	shift
	[ $# -gt 0 ] || { set -- bash -i && options+=(--tty); }
	run=$(lab_run_dir)
	[ -S "$run/$host.chan.0" ] || lab_wait_socket "$run/$host.chan.0" || lab_die "no host '$host' in lab '$LAB_NAME'"
	# A port carries one command at a time; a lock each, first come first served.
	for port in 0 1 2 3 4 5 6 7 0; do
		exec {lab_port_lock}>"$run/$host.lock.$port"
		if flock -n "$lab_port_lock"; then
			local status=0
			"$LAB_BUILD/tests/lab/channel" run "${options[@]}" "$run/$host.chan.$port" -- "$@" {lab_port_lock}>&- || status=$?
			exec {lab_port_lock}>&-
			return $status
		fi
		exec {lab_port_lock}>&-
	done
	lab_die "all channels into $host are busy"
}

lab_wait_socket() { # QEMU makes its sockets a moment after it was started
	local deadline=$((SECONDS + 20))
	until [ -S "$1" ]; do
		[ $SECONDS -lt $deadline ] && [ -e "${1%/*}" ] || return 1
		read -rt 0.05 <> <(:) || :
	done
}

lab_cp() {
	[ $# = 2 ] || lab_die "cp: FROM and TO, one of them HOST:PATH"
	case $1,$2 in
	*:*,*:*) lab_sh "${1%%:*}" tar -C "$(dirname "${1#*:}")" -c "$(basename "${1#*:}")" | lab_unpack "$2" "$(basename "$1")" ;;
	*:*,*) lab_sh "${1%%:*}" tar -C "$(dirname "${1#*:}")" -c "$(basename "${1#*:}")" </dev/null | lab_unpack "$2" "$(basename "${1#*:}")" ;;
	*,*:*) tar -C "$(dirname "$1")" -c "$(basename "$1")" | lab_unpack "$2" "$(basename "$1")" ;;
	*) lab_die "cp: neither '$1' nor '$2' is HOST:PATH" ;;
	esac
}

lab_unpack() { # lab_unpack [HOST:]TO NAME: as cp does, into TO where that is a folder, else as TO
	local script='if [ -d "$1" ]; then tar -C "$1" -x; else d=$(mktemp -d) && tar -C "$d" -x && mv "$d/$2" "$1" && rmdir "$d"; fi'
	case $1 in
	*:*) lab_sh "${1%%:*}" sh -c "$script" unpack "${1#*:}" "$2" ;;
	*) sh -c "$script" unpack "$1" "$2" ;;
	esac
}

lab_link() {
	[ $# -ge 3 ] || lab_die "link: HOST LEG SETTING"
	local run state
	run=$(lab_run_dir)
	case $3 in
	up | down)
		[ "$3" = up ] && state=on || state=off
		"$here/qmp" "$run/$1.qmp" set_link "nic$2" "$state"
		;;
	*) "$LAB_BUILD/tests/lab/switch" --set "$run" "$1.$2" "${@:3}" ;;
	esac
}

lab_kill() {
	"$here/qmp" "$(lab_run_dir)/$1.qmp" quit >/dev/null 2>&1 || :
}

lab_boot() {
	lab_need_keeper >/dev/null
	echo "boot $1" >"$lab_state/lifeline"
	lab_wait "$1"
}

lab_console() {
	cat "$(lab_run_dir)/$1.console" "$(lab_run_dir)/$1.qemu"
}

lab_down() {
	local pid
	pid=$(lab_keeper) || { rm -rf "$lab_state" && return 0; }
	kill -KILL "$pid"
	while [ -d "/proc/$pid" ]; do
		read -rt 0.02 <> <(:) || :
	done
	rm -rf "$lab_state"
}
