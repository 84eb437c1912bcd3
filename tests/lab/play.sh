# SPDX-License-Identifier: BSD-3-Clause
# Sourced by lab: two virtual hosts with agents running, for interactive use.

lab_play_rc() { # the start script of the shell in host-a
	cat <<RC
PATH=$LAB_BUILD/agent:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
PS1='\\[\\e[1m\\]\\h:\\w#\\[\\e[0m\\] '
alias ls='ls --color=auto' ll='ls -l'
cd /mnt/scratch
RC
}

lab_play() {
	local name=''
	[ "$LAB_NAME" = default ] || name=" --name $LAB_NAME"
	echo "Booting host-a and host-b, two legs each on SR-IOV NICs (half a minute without --accel kvm)"
	lab_up --hosts 2 --legs 2 --nics igb --memory 2048 "$@"
	echo "Starting their agents"
	agent_start host-b
	agent_start host-a
	within 90 workers_up host-b
	within 90 workers_up host-a
	within 30 lab_sh host-a mountpoint -q /mnt/scratch </dev/null
	lab_play_rc | lab_sh host-a sh -c 'cat >/run/play.rc'
	plenum host-a processes
	cat <<HINT

This is host-a. /mnt/scratch is host-b's, carried by both legs. Try here:
  plenum inventory                     plenum status          plenum events
  cp -r /etc /mnt/scratch/             ls /mnt/scratch
  echo 7 >/sys/class/net/eth1/device/sriov_numvfs; plenum inventory
and in another terminal pull a cable, or power host-b off and on:
  $here/lab$name --build $LAB_BUILD link host-a 0 down
  $here/lab$name --build $LAB_BUILD sh host-b
  $here/lab$name kill host-b
The lab ends with this shell.

HINT
	lab_sh host-a bash --rcfile /run/play.rc -i || :
	lab_down
}
