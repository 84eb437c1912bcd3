/* SPDX-License-Identifier: BSD-3-Clause */
/* Breakages of folders: those of the agent, of exports and of mounts. */
#include "tests/unit/doctor_breaks.h"
#include <errno.h>

static void state_full(struct rig *g)
{
	g->p.state.free_bytes = 1 << 20;
}

static void run_without_inodes(struct rig *g)
{
	g->p.run.free_inodes = 3;
}

static void export_full(struct rig *g)
{
	g->p.exports[0].free_bytes = 0;
}

static void export_hangs(struct rig *g)
{
	g->p.exports[0].error = -ETIMEDOUT;
}

static void mountpoint_hangs(struct rig *g)
{
	g->p.mounts[0].error = -ETIMEDOUT;
}

static void export_without_inodes(struct rig *g)
{
	g->p.exports[0].free_inodes = 0;
}

static void export_nearly_full(struct rig *g)
{
	g->p.exports[0].free_bytes = 1 << 20;
}

static void no_export(struct rig *g)
{
	rig_remove(g, "/srv/y");
}

static void link_of_a_user(struct rig *g)
{
	char path[160];

	rig_remove(g, "/srv/y");
	snprintf(path, sizeof(path), "%s/srv/y", g->p.root);
	assert_int_equal(symlink("../mnt", path), 0);
	if (geteuid() == 0)
		assert_int_equal(lchown(path, 1000, 1000), 0);
}

static void no_mountpoint(struct rig *g)
{
	rig_remove(g, "/mnt/x");
}

static void not_served(struct rig *g)
{
	json_object_set_new(json_array_get(json_object_get(g->p.status, "mounts"), 0), "served",
			    json_false());
}

static void mount_is_covered(struct rig *g)
{
	rig_put(g, "/proc/self/mountinfo",
		"22 1 8:1 / / rw - ext4 disk rw\n"
		"40 22 0:50 / /mnt/x rw - fuse.plenum host-b:x rw\n"
		"41 22 0:51 / /mnt rw - tmpfs tmpfs rw\n");
	not_served(g); /* says the agent, too */
}

static void state_read_only(struct rig *g)
{
	g->p.state.read_only = true;
}

const struct breakage doctor_folder_breaks[] = {
	{"room-state", DOCTOR_FAIL, NULL, state_full},
	{"room-state", DOCTOR_FAIL, NULL, state_read_only},
	{"room-run", DOCTOR_FAIL, NULL, run_without_inodes},
	{"room-exports", DOCTOR_FAIL, NULL, export_full},
	{"folders-exported", DOCTOR_FAIL, NULL, export_hangs},
	{"room-exports", DOCTOR_FAIL, NULL, export_without_inodes},
	{"room-exports", DOCTOR_WARN, NULL, export_nearly_full},
	{"folders-exported", DOCTOR_FAIL, NULL, no_export},
	{"folders-exported", DOCTOR_FAIL, NULL, link_of_a_user},
	{"folders-mounted", DOCTOR_FAIL, NULL, no_mountpoint},
	{"folders-mounted", DOCTOR_FAIL, NULL, mountpoint_hangs},
	{"mounts-reached", DOCTOR_FAIL, NULL, mount_is_covered},
	{"mounts-served", DOCTOR_FAIL, NULL, not_served},
};
const size_t doctor_n_folder_breaks = ARRAY_SIZE(doctor_folder_breaks);
