# SPDX-License-Identifier: BSD-3-Clause
# Results of shell tests as TAP: sourced by bash scripts.
#
#	check NAME CMD...	one test: CMD runs in this shell; if it fails its output and the last commands are
#				printed, which show the failing one of a chain
#	skip NAME REASON
#	tap_result STATUS NAME	the line of a test that ran otherwise; STATUS 0 is a pass, and the return value
#	tap_end			the plan; fails where a test has failed
#	tap_blame		may be redefined: prints what else explains a failure
#
# $work is the suite's own folder.

tap_count=0
tap_failures=0

tap_blame() { :; }

tap_comment() {
	sed 's/^/# /'
}

tap_result() {
	tap_count=$((tap_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_count - $2"
	else
		tap_failures=$((tap_failures + 1))
		echo "not ok $tap_count - $2"
	fi
	return "$1"
}

tap_ran=()
tap_note() { # a loop that waits is noted by its condition only
	case ${FUNCNAME[1]}:$1 in wait_until:* | pause:* | host_run:* | hosts_*:* | on:* | ctl*:* | plenum:* | api*:* | *':"$@"'* | tap_run:status=1 | 'tap_run:trap - DEBUG') return 0 ;; esac
	[ ${#tap_ran[@]} -lt 6 ] || tap_ran=("${tap_ran[@]:1}")
	tap_ran+=("${FUNCNAME[1]}: ${1//$'\n'/ }")
}

tap_run() {
	local status=0
	tap_ran=()
	set -T
	trap 'tap_note "$BASH_COMMAND"' DEBUG
	"$@" || status=1
	trap - DEBUG
	set +T
	[ $status = 0 ] || printf 'ran %.200s\n' "${tap_ran[@]:-nothing}"
	return $status
}

check() {
	local name=$1 status=0
	shift
	tap_run "$@" >"$work/out" 2>&1 || status=1
	tap_result $status "$name" || {
		tap_comment <"$work/out"
		tap_blame | tap_comment
	}
}

skip() {
	tap_result 0 "$1 # SKIP $2"
}

tap_end() {
	echo "1..$tap_count"
	[ $tap_failures = 0 ]
}
