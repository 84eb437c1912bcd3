# SPDX-License-Identifier: BSD-3-Clause
# A jq(1) whose -e is true only if there is an answer: sourced by bash scripts, in which it replaces jq.
#
# For jq 1.6 an empty input is true, so without this a check of an agent's answer passes if the agent answers nothing.

jq() {
	local out status=0 arg
	out=$(command jq "$@") || status=$?
	[ -z "$out" ] || printf '%s\n' "$out"
	[ $status = 0 ] && [ -z "$out" ] || return $status
	for arg in "$@"; do
		[[ $arg != --* && $arg =~ ^-[a-zA-Z]*e ]] && return 4
	done
	return 0
}
