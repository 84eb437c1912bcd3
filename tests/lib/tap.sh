# SPDX-License-Identifier: BSD-3-Clause
# Results of shell tests as TAP: sourced by bash scripts.
#
#	check NAME CMD...	runs a test: CMD runs in this shell. If it fails, prints its output and the last commands,
#				which show the one that failed
#	skip NAME REASON
#	tap_result STATUS NAME	prints the line of a test that ran without `check`, and returns STATUS; 0 is a pass
#	tap_end			prints the plan; fails if a test has failed
#	tap_blame		may be redefined: prints further information about a failure
#
# $work is the folder of the suite.

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
