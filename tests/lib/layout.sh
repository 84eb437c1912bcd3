# SPDX-License-Identifier: BSD-3-Clause
# Prints the layout of headers as text. Also prints the version number that stands for this layout between two versions of
# the package.
layout_text() { # without comments, white space and numbers of versions
	grep -vE 'define (LAUNCH|LAUNCH_WATCH|PORT)_VERSION' | tr -s '\n\t ' ' ' | sed -E 's#/\*([^*]|\*+[^*/])*\*+/##g' | tr -d ' '
}
layout_number() { # layout_number LAUNCH_VERSION|LAUNCH_WATCH_VERSION|PORT_VERSION HEADER
	sed -n "s/^#define $1 //p" "$2"
}
