# SPDX-License-Identifier: BSD-3-Clause
# A jq(1) whose -e is true only of an answer: sourced by bash scripts, in which it takes jq's place.
#
# jq 1.6 calls no input at all true, so a check of what an agent says passed while it said nothing.

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
