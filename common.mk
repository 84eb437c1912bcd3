# SPDX-License-Identifier: BSD-3-Clause
# Flags that every folder shares; included by each Makefile.am.
AM_CPPFLAGS = -I$(top_srcdir) -DPLENUM_VERSION='"$(VERSION)"' \
	-DPLENUM_SYSCONFDIR='"$(sysconfdir)/plenum"' -DPLENUM_RUNDIR='"/run/plenum"' \
	-DPLENUM_LIBEXECDIR='"$(libexecdir)/plenum"' -DPLENUM_MODULEDIR='"$(pkglibdir)"'
AM_CFLAGS = $(PLENUM_CFLAGS)
AM_LDFLAGS = $(PLENUM_LDFLAGS)
