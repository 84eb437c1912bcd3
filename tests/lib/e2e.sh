# SPDX-License-Identifier: BSD-3-Clause
# The frame of an e2e script: sourced first, after `set -u`. It sources hosts.sh, agents.sh and tap.sh, and sets $here (the
# script's folder), $top (the tree) and $build.
#
#   e2e_begin NAME [cores=N] [fuse] [TOOL...]
#				skips the script unless it is root, has N cores, /dev/fuse and the tools, beside curl, jq and nsenter;
#				makes $work. Any end of the script removes the hosts, $work and reserved hugepages.
#   e2e_skip REASON		skips the whole script; only before its first test
#   e2e_cleanup			may be redefined: undoes further changes at the end of the script, before the hosts are removed

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${PLENUM_BUILD:?}" && pwd)
export PLENUM_MODULE_DIR=$build/dataplane
. "$top/tests/lib/hosts.sh"
. "$top/tests/lib/agents.sh"
. "$top/tests/lib/tap.sh"

e2e_skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

e2e_begin() {
	local name=$1 need
	shift
	[ "$(id -u)" = 0 ] || e2e_skip "namespaces and mounts need root"
	for need in curl jq nsenter "$@"; do
		case $need in
		cores=*) [ "$(nproc)" -ge "${need#*=}" ] || e2e_skip "${need#*=} cores are needed" ;;
		fuse) [ -c /dev/fuse ] || e2e_skip "/dev/fuse is missing" ;;
		*) command -v "$need" >/dev/null || e2e_skip "$need is missing" ;;
		esac
	done
	work=$(mktemp -d "${TMPDIR:-/tmp}/plenum-$name.XXXXXX")
	mkdir "$work/told"
	trap e2e_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

e2e_cleanup() { :; }

e2e_end() {
	set +e # clean up everything, even if parts are gone
	e2e_cleanup
	hosts_down
	hugepages_return
	rm -rf "$work"
}
