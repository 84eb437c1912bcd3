# SPDX-License-Identifier: BSD-3-Clause
# Sourced by lab: two virtual hosts with agents running, for whoever wants to look around.

lab_play_agent() { # lab_play_agent HOST: its example configuration, its agent
	lab_cp "$here/../../etc/examples/$1.yaml" "$1:/etc/plenum/plenum.yaml"
	lab_sh "$1" sh -c "'$LAB_BUILD/agent/plenumd' >/run/plenumd.log 2>&1 & echo started" </dev/null >/dev/null
}

lab_play_up() { # until every worker of the host is up
	within 60 lab_sh "$1" sh -c "'$LAB_BUILD/agent/plenum' -j processes | jq -e '[.processes[] | select(.status != \"UP\")] | length == 0'" </dev/null
}

lab_play_main() {
	echo "Booting host-a and host-b: two legs each on SR-IOV NICs (takes half a minute)"
	lab_up --hosts 2 --legs 2 --nics igb --memory 2048
	lab_play_agent host-b
	lab_play_up host-b
	lab_play_agent host-a
	lab_play_up host-a
	cat <<EOF

This is host-a. Its peer is host-b; the mount is /mnt/scratch. Try:
  plenum inventory; plenum processes; plenum status; plenum events
  cp -r /usr/include /mnt/scratch/ && ls /mnt/scratch
  echo 7 >/sys/class/net/eth1/device/sriov_numvfs; plenum inventory
In another terminal, pull a cable or power host-b off:
  $here/lab --build $LAB_BUILD link host-a 0 down
  $here/lab --build $LAB_BUILD kill host-b
The lab ends with this shell.
EOF
	lab_sh host-a env "PATH=$LAB_BUILD/agent:/usr/sbin:/usr/bin:/sbin:/bin" bash -i || :
	lab_down
}
