# SPDX-License-Identifier: BSD-3-Clause
# The layout of headers as text, and the version number that names it where two versions of the package meet.
layout_text() { # without comments, white space and numbers of versions
	grep -vE 'define (LAUNCH|PORT)_VERSION' | tr -s '\n\t ' ' ' | sed -E 's#/\*([^*]|\*+[^*/])*\*+/##g' | tr -d ' '
}
layout_number() { # layout_number LAUNCH_VERSION|PORT_VERSION HEADER
	sed -n "s/^#define $1 //p" "$2"
}
