# SPDX-License-Identifier: BSD-3-Clause
# Sourced by lab: one lab's virtual hosts. Everything of a lab lives in mount, process and network namespaces whose
# process 1, the keeper, ends with the script that made it or with `lab down`: with it the kernel ends QEMU, the
# switches, the mounts and the sockets, whatever happened. $lab_state is a folder with the keeper's pid and the
# requested options; every process of the lab holds its lock, so an unlocked one was left by a lab that was killed, and
# the next command that makes a lab removes it.

lab_state_root=/run/plenum-lab
exec {lab_lifeline_w}>/dev/null # while open, lab_up's lab lives

lab_set_name() { # which lab the functions below are about
	LAB_NAME=$1
	lab_state=$lab_state_root/$1
}

# Sets $lab_keeper to the pid of the lab's keeper; fails where there is no lab. Each command asks, so it costs no process.
lab_find_keeper() {
	local args
	{ read -r lab_keeper <"$lab_state/keeper.pid" && mapfile -d '' args <"/proc/$lab_keeper/cmdline"; } 2>/dev/null || return 1
	[ "${args[-1]:-}" = "lab-keeper:$LAB_NAME" ]
}

# Sets $lab_run: the lab's folder of sockets and logs, as it is reached from outside its namespace.
lab_find() {
	lab_find_keeper || lab_die "no lab '$LAB_NAME' is up: lab up"
	lab_run=/proc/$lab_keeper/root$lab_root/lab-run
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
	# Of this lab's own network namespace. Ten frames, which are usual, are no queue of a switch's port.
	echo 256 >/proc/sys/net/unix/max_dgram_qlen
	mount --rbind /dev "$lab_root/dev"
	mount --rbind / "$lab_root/lab-host"
	for name in proc sys dev run; do
		umount -lR "$lab_root/lab-host/$name" 2>/dev/null || :
	done
	mount -t tmpfs -o mode=755 run "$lab_root/lab-run"
	cp "$here/guest-init" "$lab_root/lab-run/"
	. "$lab_state/wants"
	for name in $(lab_host_names "$hosts"); do
		: >"$lab_root/lab-run/$name.power"
		truncate -s 64M "$lab_root/lab-run/$name.disk" # it stays when the host is off
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
	# Commands are read as lines. When the last writer closes the pipe the lab ends, unless it received `keep`.
	while :; do
		exec 6<"$lab_state/lifeline"
		while read -r number name <&6; do
			case $number in
			keep) kept=1 ;;
			boot) lab_qemu "$name" & ;;
			off) kill -KILL "$(cat "$lab_root/lab-run/$name.pid")" || : ;;
			esac
		done
		[ $kept = 1 ] || exit 0
	done
}

lab_qemu() { # lab_qemu HOST: replaces this process by the host's QEMU
	local name=$1 args=() leg port index number power
	. "$lab_state/wants"
	# QEMU's emulator with a thread a CPU can lose timers, and trips over memory that moves while it runs.
	[ "$accel" != tcg ] || accel=tcg,thread=single
	number=$(lab_host_names 3 | grep -n "^$name\$" | cut -d: -f1)
	exec {power}>"$lab_root/lab-run/$name.power" # locked while QEMU runs
	flock -w 60 "$power"
	echo $BASHPID >"$lab_root/lab-run/$name.pid"
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
	args+=(-drive "file=/lab-run/$name.disk,format=raw,if=none,id=disk" -device virtio-blk-pci,drive=disk)
	# Without erms and fsrm kernel and library copy by other means than 'rep movsb', which the emulator does byte by
	# byte: six times faster.
	# no_timer_check: on a busy machine the kernel's short wait for a tick can pass without one, and it panics.
	exec chroot "$lab_root" qemu-system-x86_64 -nodefaults -no-reboot -display none \
		-machine q35 -accel "$accel" -cpu max,la57=off,erms=off,fsrm=off -smp "$cpus" -m "$memory" \
		-kernel "/boot/vmlinuz-$(lab_kernel)" -initrd /initramfs.gz \
		-append "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off nokaslr cryptomgr.notests no_timer_check audit=$apparmor apparmor=$apparmor intel_iommu=on iommu=pt hugepages=$hugepages ${isolated:+isolcpus=$isolated} lab_name=$name lab_number=$((10 + number)) lab_nics=$nics lab_init=$init lab_trees=$top:$LAB_BUILD lab_channel=$LAB_BUILD/tests/lab/channel systemd.show_status=yes" \
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
	local hosts=2 legs=2 nics=igb init=channel memory=1536 cpus=2 isolated='' apparmor=0 accel=tcg hugepages=160 channels=8 name ready
	while [ $# -gt 0 ]; do
		case $1 in
		--hosts | --legs | --nics | --init | --memory | --cpus | --isolated | --apparmor | --accel)
			[ $# -ge 2 ] || lab_die "$1 wants a value"
			local "${1#--}=$2"
			shift 2
			;;
		*) lab_die "up: unknown option '$1'" ;;
		esac
	done
	case "$hosts$legs" in [1-3][1-4]) ;; *) lab_die "up: 1 to 3 hosts with 1 to 4 legs, not $hosts and $legs" ;; esac
	case $nics in igb | virtio) ;; *) lab_die "up: --nics igb or virtio, not '$nics'" ;; esac
	case $init in
	channel) ;;
	systemd) [ -x /lib/systemd/systemd ] || lab_die "up: --init systemd, and there is none here: apt-get install systemd" ;;
	*) lab_die "up: --init channel or systemd, not '$init'" ;;
	esac
	case $apparmor in 0 | 1) ;; *) lab_die "up: --apparmor 0 or 1, not '$apparmor'" ;; esac
	lab_prepare
	lab_claim
	printf '%s=%q\n' hosts "$hosts" legs "$legs" nics "$nics" init "$init" memory "$memory" cpus "$cpus" isolated "$isolated" apparmor "$apparmor" accel "$accel" \
		hugepages $hugepages channels $channels >"$lab_state/wants"
	mkfifo "$lab_state/lifeline" "$lab_state/ready"
	export lab_root lab_state here top
	# Linux shares the processors among sessions first, so the new session takes over the priority of this process.
	setsid unshare --mount --pid --net --fork --kill-child -- bash -c "set -euo pipefail
		{ nice >/proc/self/autogroup; } 2>/dev/null || :
		$(declare -f lab_keeper_main lab_qemu lab_host_names lab_kernel)
		lab_keeper_main" "lab-keeper:$LAB_NAME" </dev/null >"$lab_state/log" 2>&1 &
	local unshare_pid=$!
	disown $unshare_pid
	exec {lab_claimed}>&-
	exec {lab_lifeline_w}>&- {lab_lifeline}<>"$lab_state/lifeline" # both ends, so that neither side waits for the other
	exec {ready}<>"$lab_state/ready"
	until read -rt 0.5 _ <&"$ready"; do
		[ -d "/proc/$unshare_pid" ] || { cat "$lab_state/log" >&2 && lab_die "the lab did not start"; }
	done
	exec {ready}>&-
	tr " " "\n" <"/proc/$unshare_pid/task/$unshare_pid/children" >"$lab_state/keeper.pid"
	exec {lab_lifeline_w}>"$lab_state/lifeline" {lab_lifeline}>&-
	for name in $(lab_host_names "$hosts"); do
		lab_wait "$name"
	done
}

# Makes $lab_state and locks it; a process that inherits the lock belongs to the lab. Removes what killed labs left.
lab_claim() {
	local dir lock mutex
	mkdir -p "$lab_state_root"
	exec {mutex}>"$lab_state_root/.lock"
	flock "$mutex"
	for dir in "$lab_state_root"/*/; do
		[ -e "$dir/lock" ] || continue
		exec {lock}>"$dir/lock"
		! flock -n "$lock" || rm -rf "$dir"
		exec {lock}>&-
	done
	[ ! -e "$lab_state" ] || lab_die "lab '$LAB_NAME' is up already: lab down"
	mkdir "$lab_state"
	exec {lab_claimed}>"$lab_state/lock"
	flock "$lab_claimed"
	exec {mutex}>&-
}

# The lab outlives this script.
lab_keep() {
	echo keep >&"$lab_lifeline_w"
}

lab_wait() { # until the host answers
	if ! lab_sh --timeout 480 "$1" true </dev/null; then
		exec >&2
		echo "--- the console of $1, its last lines:"
		lab_console "$1" 2>/dev/null | tail -n 60 || :
		lab_die "$1 did not boot; its console is above"
	fi
}

# lab_sh [--timeout S] HOST [CMD...]: the command's own exit status.
lab_sh() {
	local options=() host status=0
	if [ "${1:-}" = --timeout ]; then
		options=(--timeout "$2")
		shift 2
	fi
	[ $# -gt 0 ] || lab_die "sh: which host?"
	host=$1
	shift
	[ $# -gt 0 ] || set -- bash -i
	! [ -t 0 ] || ! [ -t 1 ] || { options+=(--tty) && set -- env "TERM=${TERM:-linux}" "$@"; }
	lab_need_host "$host"
	[ -S "$lab_run/$host.chan.0" ] || lab_wait_socket "$lab_run/$host.chan.0" || lab_die "$host is off: lab boot $host"
	# Closes the lifeline, so that the shell does not keep the lab alive.
	"$LAB_BUILD/tests/lab/channel" run "${options[@]}" "$lab_run/$host" -- "$@" {lab_lifeline_w}>&- || status=$?
	[ $status != 125 ] || lab_runs "$host" || lab_die "$host is off: lab boot $host"
	return $status
}

lab_need_host() { # and the lab's folder is $lab_run
	lab_find
	[ -e "$lab_run/$1.power" ] || lab_die "no host '$1' in lab '$LAB_NAME': it has$(sed -n 's/^hosts=//p' "$lab_state/wants" |
		{ read -r n && lab_host_names "$n"; } | sed 's/^/ /' | tr -d '\n')"
}

lab_wait_socket() { # QEMU makes its sockets a moment after it was started
	local deadline=$((SECONDS + 120))
	until [ -S "$1" ]; do
		[ $SECONDS -lt $deadline ] && [ -e "${1%/*}" ] || return 1
		pause 0.05
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
	local state
	lab_need_host "$1"
	[ -S "$lab_run/$1.$2.switch" ] || lab_die "$1 has no leg '$2': they count from 0"
	: >"$lab_run/$1.$2.touched" # lab_reset puts it back
	case $3 in
	up | down)
		[ "$3" = up ] && state=on || state=off
		"$here/qmp" "$lab_run/$1.qmp" set_link "nic$2" "$state"
		;;
	*) "$LAB_BUILD/tests/lab/switch" --set "$lab_run" "$1.$2" "${@:3}" ;;
	esac
}

lab_capture() { # lab_capture FILE|off: what passes the switches, as pcapng
	local file=$1
	[ "$file" = off ] || file=$(realpath "$file")
	lab_find
	"$LAB_BUILD/tests/lab/switch" --set "$lab_run" all "capture=$file"
}

lab_runs() { # lab_runs HOST: is it powered on?
	lab_need_host "$1"
	! flock -n "$lab_run/$1.power" true
}

lab_kill() {
	lab_runs "$1" || return 0
	echo "off $1" >"$lab_state/lifeline"
	flock -w 60 "$lab_run/$1.power" true || lab_die "$1 does not go off"
}

lab_boot() {
	! lab_runs "$1" || lab_die "$1 is on already"
	rm -f "$lab_run/$1.chan.0"
	echo "boot $1" >"$lab_state/lifeline"
	lab_wait "$1"
}

lab_console() {
	lab_need_host "$1"
	cat "$lab_run/$1.console" "$lab_run/$1.qemu"
}

lab_down() {
	local lock
	[ -e "$lab_state/lock" ] || return 0
	exec {lock}>"$lab_state/lock"
	if lab_find_keeper; then
		kill -KILL "$lab_keeper"
		flock -w 60 "$lock" || lab_die "processes of lab '$LAB_NAME' do not end"
	elif ! flock -n "$lock"; then
		lab_die "lab '$LAB_NAME' is just starting, or is another process namespace's"
	fi
	rm -rf "$lab_state"
	exec {lock}>&-
}
