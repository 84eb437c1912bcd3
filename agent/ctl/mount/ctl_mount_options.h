/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a mount, in the form of `plenum mount -o`, mount(8) and fstab(5). The functions
 * make no system call. */
#ifndef PLENUM_AGENT_CTL_MOUNT_OPTIONS_H
#define PLENUM_AGENT_CTL_MOUNT_OPTIONS_H

#include "netcfg/base/base.h"
#include "netcfg/base/reason.h"

struct ctl_mount_options {
	bool read_only, nosuid, nodev, noexec, noatime;
	bool remount;			  /* change the mount that is there */
	unsigned soft_s;		  /* 0: a hard mount */
	uint32_t max_kbs, max_operations; /* limits, as in plenum.yaml; 0: none */
	const char *locks;		  /* static text: local, none or cluster */
};

/* Parses a comma-separated list of options. The last of contradicting options counts. Ignores
 * options that are for mount(8) and systemd, such as _netdev, nofail and x-*. Returns 0, or -EINVAL
 * with the reason. */
int ctl_mount_options_parse(const char *text, struct ctl_mount_options *ret, struct reason *why);
/* Parses HOST:/EXPORT or HOST:EXPORT into two texts of `size` bytes. Returns 0, or -EINVAL with the
 * reason. */
int ctl_mount_source_parse(const char *text, char *host, char *export_name, size_t size,
			   struct reason *why);
/* Writes the path to buf, without a slash at its end, and relative to the folder cwd unless it is
 * absolute. Returns 0, or -EINVAL with the reason. */
int ctl_mount_dir_parse(const char *text, const char *cwd, char *buf, size_t size,
			struct reason *why);

#endif
