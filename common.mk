# SPDX-License-Identifier: BSD-3-Clause
# Flags and libraries that all folders share; each Makefile.am includes it.
AM_CPPFLAGS = -I$(top_srcdir) -DPLENUM_VERSION='"$(VERSION)"' \
	-DPLENUM_SYSCONFDIR='"$(sysconfdir)/plenum"' -DPLENUM_RUNDIR='"/run/plenum"' \
	-DPLENUM_LIBEXECDIR='"$(libexecdir)/plenum"' -DPLENUM_MODULEDIR='"$(pkglibdir)"'
AM_CFLAGS = $(PLENUM_CFLAGS)
AM_LDFLAGS = $(PLENUM_LDFLAGS) $(PLENUM_PIE)
# Of modules: with -pie GCC would link the start of a program.
MODULE_FLAGS = $(PLENUM_LDFLAGS) -shared

# Our libraries, each with all that it needs, so that some appear twice on a command line. They are archives made without
# libtool, whose processes took as long as the compiler.
NETBASE_LIBS = $(top_builddir)/netcfg/libnetbase.a $(CRYPTO_LIBS)
NETCFG_LIBS = $(top_builddir)/netcfg/libnetcfg.a $(NETBASE_LIBS) $(YAML_LIBS) $(NL_LIBS) $(MNL_LIBS) $(JANSSON_LIBS)
PLUGINS_LIBS = $(top_builddir)/plugins/libplugins.a
RUDP_LIBS = $(top_builddir)/dataplane/librudp.a $(CRYPTO_LIBS) $(IPSEC_MB_LIBS)
PORT_LIBS = $(top_builddir)/dataplane/libport.a -ldl
RDMA_LIBS = $(top_builddir)/dataplane/librdma.a $(VERBS_LIBS)
HELLO_LIBS = $(top_builddir)/dataplane/libfusehello.a
HELPER_LIBS = $(top_builddir)/dataplane/libfshelper.a
CLIENT_LIBS = $(top_builddir)/dataplane/libfuseclient.a $(HELLO_LIBS) $(RDMA_LIBS)
SERVER_LIBS = $(top_builddir)/dataplane/libfuseserver.a $(HELLO_LIBS) $(HELPER_LIBS) $(RDMA_LIBS) $(URING_LIBS)
DATAPLANE_LIBS = $(top_builddir)/dataplane/libworker.a $(CLIENT_LIBS) $(SERVER_LIBS) $(PORT_LIBS) $(RUDP_LIBS)
AGENT_LIBS = $(top_builddir)/agent/libagent.a $(SYSTEMD_LIBS) $(MHD_LIBS) $(SSL_LIBS) $(CURL_LIBS) $(JANSSON_LIBS)
CTL_LIBS = $(top_builddir)/agent/libctl.a $(SYSTEMD_LIBS) $(CRYPTO_LIBS) $(CURL_LIBS) $(NCURSES_LIBS) $(JANSSON_LIBS)
# Fixtures of tests: each stands before the libraries that it uses.
AGENTRIG_LIBS = $(top_builddir)/tests/lib/libagentrig.a
CLIENTRIG_LIBS = $(top_builddir)/tests/lib/libclientrig.a
HELPERRIG_LIBS = $(top_builddir)/tests/lib/libhelperrig.a
HOSTRIG_LIBS = $(top_builddir)/tests/lib/libhostrig.a
KERNELFAKE_LIBS = $(top_builddir)/tests/lib/libkernelfake.a
PORTRIG_LIBS = $(top_builddir)/tests/lib/libportrig.a
PROCESSRIG_LIBS = $(top_builddir)/tests/lib/libprocessrig.a
RUDPRIG_LIBS = $(top_builddir)/tests/lib/librudprig.a $(RUDPSIM_LIBS)
RUDPSIM_LIBS = $(top_builddir)/tests/lib/librudpsim.a
SERVERRIG_LIBS = $(top_builddir)/tests/lib/libserverrig.a $(HELPERRIG_LIBS)
VERBSFAKE_LIBS = $(top_builddir)/tests/lib/libverbsfake.a

# Lets 'make test_NAME' work in a fresh build; 'make check' builds these libraries first.
$(sort $(AGENTRIG_LIBS) $(CLIENTRIG_LIBS) $(HOSTRIG_LIBS) $(KERNELFAKE_LIBS) $(PORTRIG_LIBS) $(PROCESSRIG_LIBS) \
	$(RUDPRIG_LIBS) $(SERVERRIG_LIBS) $(VERBSFAKE_LIBS)):
	cd $(@D) && $(MAKE) $(AM_MAKEFLAGS) $(@F)
