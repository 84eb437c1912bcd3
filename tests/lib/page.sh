# SPDX-License-Identifier: BSD-3-Clause
# The web page of an agent in headless Chromium. Sourced by e2e scripts after e2e.sh; needs e2e_begin with chromium.
#
#   page_open HOST SOCKET	opens the page of HOST by a socket of its run directory, such as plenumd-admin
#   page_close			ends the browser
#   page_ask EXPRESSION		prints the page's answer as JSON; tests/e2e/page_browser lists further orders
#   page_shows CONDITION	a condition in JavaScript; text(ID) is the text of an element, shown(ID) whether it is visible
#   page_has_row ID REGEX	the table ID has a row whose text matches
#   page_click ID		clicks on an element

page_open() {
	coproc browser { host_run "$1" "$here/page_browser" "/run/plenum/$2.sock" "$work/browser" 2>"$work/browser.err"; }
}

page_close() {
	[ -z "${browser_PID:-}" ] || { eval "exec ${browser[1]}>&-" && wait "$browser_PID"; }
}

page_ask() {
	local answer
	printf '%s\n' "$1" >&"${browser[1]}" && read -r -t 30 answer <&"${browser[0]}" && printf '%s\n' "$answer"
}

page_shows() {
	[ "$(page_ask "{ const text = (id) => document.getElementById(id).innerText; const shown = (id) => document.getElementById(id).checkVisibility(); $1 }")" = true ]
}

page_has_row() {
	page_shows "[...document.querySelectorAll('#$1 tbody tr')].some((r) => /$2/.test(r.innerText.replace(/\\s+/g, ' ')))"
}

page_click() {
	page_ask "document.getElementById('$1').click()" >/dev/null
}
