/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates FUSE file systems with the kernel's mount calls that work on descriptors, such as
 * fsopen(2). */
#include "agent/supervise/mounts/mount_fs.h"
#include "agent/supervise/mounts/mounts.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

struct fs_option {
	const char *key, *value; /* value NULL: a flag */
};

static int configure(int fs, const struct fs_option *options, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fsconfig(fs, options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			     options[i].key, options[i].value, 0) < 0)
			return -errno;
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -errno : 0;
}

int mount_fs_new(const struct launch_mount *w, const struct mounts_rule *rule, int fuse_fd,
		 unsigned *ret_major, unsigned *ret_minor)
{
	char source[2 * PLENUM_NAME_MAX + 3], fuse[16], max_read[16];
	struct fs_option options[] = {
		{"source", source},
		{"subtype", MOUNTS_SUBTYPE},
		{"fd", fuse},
		{"rootmode", "40000"},
		{"user_id", "0"},
		{"group_id", "0"},
		{"max_read", max_read},
		{"default_permissions", NULL},
		/* must be last, because a writable mount leaves it out */
		{"allow_other", NULL},
		{"ro", NULL},
	};
	unsigned attr = (w->read_only ? MOUNT_ATTR_RDONLY : 0) | (w->suid ? 0 : MOUNT_ATTR_NOSUID) |
			(w->dev ? 0 : MOUNT_ATTR_NODEV) | rule->attributes;
	autoclose int fs = fsopen("fuse", FSOPEN_CLOEXEC);
	autoclose int mnt = -1;
	struct statx st;
	int r;

	if (fs < 0)
		return -errno;
	/* mount -a compares the source of a mount made by command with fstab(5). */
	snprintf(source, sizeof(source), "%s:%s%s", w->peer, rule->by_command ? "/" : "",
		 w->export_name);
	snprintf(fuse, sizeof(fuse), "%d", fuse_fd);
	snprintf(max_read, sizeof(max_read), "%d", MOUNTS_MAX_READ);
	r = configure(fs, options, ARRAY_SIZE(options) - (w->read_only ? 0 : 1));
	if (r < 0)
		return r;
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, attr);
	/* Without AT_STATX_DONT_SYNC, statx would send a request to the worker, which has not
	 * started yet, and block. */
	if (mnt < 0 || statx(mnt, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
		return -errno;
	*ret_major = st.stx_dev_major;
	*ret_minor = st.stx_dev_minor;
	return fd_take(mnt);
}
