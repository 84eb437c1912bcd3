/* SPDX-License-Identifier: BSD-3-Clause */
/* The program mount.plenum(8), which mount(8) runs for the file system type plenum, also for lines
 * of fstab(5). */
#include "agent/ctl/ctl.h"
#include "agent/ctl/ctl_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 4096

/* Exit statuses of mount(8). */
enum { MOUNT_OK = 0, MOUNT_USAGE = 1, MOUNT_SYSTEM = 2, MOUNT_FAILED = 32 };

static int usage(void)
{
	fputs("Usage: mount.plenum SOURCE DIR [-fnsv] [-o OPTIONS] [-t plenum]\n"
	      "See mount.plenum(8).\n",
	      stderr);
	return MOUNT_USAGE;
}

static int status_of(int ctl_exit)
{
	switch (ctl_exit) {
	case CTL_OK:
		return MOUNT_OK;
	case CTL_USAGE:
	case CTL_NO_PERMISSION:
		return MOUNT_USAGE;
	case CTL_OS:
	case CTL_SOFTWARE:
		return MOUNT_SYSTEM;
	default:
		return MOUNT_FAILED;
	}
}

/* Returns whether the type is one of Plenum's. mount(8) passes the type if it differs from the
 * helper's name. */
static bool is_our_type(const char *type)
{
	return strcmp(type, "plenum") == 0 || strcmp(type, "fuse.plenum") == 0;
}

int ctl_mount_helper(int argc, char **argv)
{
	const char *socket = getenv("PLENUM_SOCKET");
	const struct ctl_args a = {.socket = socket && *socket ? socket : CTL_SOCKET};
	struct ctl_mount m = {.options = NULL};
	char options[OPTIONS_MAX] = "";
	json_t *o = NULL;
	int c, r;

	optind = 0; /* restarts getopt, because tests call this function more than once */
	while ((c = getopt(argc, argv, "fnsvo:t:N:V")) != -1) {
		if (c == 'V') {
			puts("mount.plenum " PLENUM_VERSION);
			return MOUNT_OK;
		}
		if (c == 'f')
			m.only_check = true;
		else if (c == 'o' && ctl_join(options, sizeof(options), optarg) != CTL_OK)
			return MOUNT_USAGE;
		else if (c == '?' || (c == 't' && !is_our_type(optarg)))
			return usage();
		if (c != 'N')
			continue;
		ctl_complain("an agent mounts in its own mount namespace; run mount.plenum beside "
			     "the agent of that namespace, without -N");
		return MOUNT_USAGE;
	}
	if (argc - optind != 2)
		return usage();
	m.options = options;
	m.source = argv[optind];
	m.dir = argv[optind + 1];
	r = ctl_mount(&a, &m, &o);
	json_decref(o);
	return status_of(r);
}
