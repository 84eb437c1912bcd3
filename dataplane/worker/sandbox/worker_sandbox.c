/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Confines a worker by namespaces, identity and privileges. The lists of system calls are in
 * worker_calls.c. Tests use the sandbox without a worker.
 */
#include "dataplane/worker/sandbox/worker_sandbox.h"
#include "dataplane/fuse/server/fuse_server.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/os/limit.h"
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define USER_NAME "plenum-worker"
#define USER_FALLBACK "nobody"
#define UID_FALLBACK 65534
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define FUNCTIONS "sys/bus/pci/devices"
/* Where the empty root is mounted while it is built. Every host has this directory. The mount
 * covers it only in this process's mount namespace. */
#define STAGE "/proc"

/* Number of possible names of RDMA device files. */
#define UVERBS_MAX 256

#define CAP(x) (1ULL << (x))

void sandbox_user_get(uid_t *ret_uid, gid_t *ret_gid)
{
	const struct passwd *pw = getpwnam(USER_NAME);

	if (!pw)
		pw = getpwnam(USER_FALLBACK);
	*ret_uid = pw ? pw->pw_uid : UID_FALLBACK;
	*ret_gid = pw ? pw->pw_gid : UID_FALLBACK;
}

static int sandbox_fail(int e, struct reason *why, const char *what)
{
	reason_set_text(why, "cannot confine the worker: %s: %s", what, strerror(-e));
	return e;
}

/* ------------------------------------------------------------------ before the ports */

/* Copies each export as a detached mount. If the export crosses mounts, the copy includes the file
 * systems mounted inside it; otherwise it has the directories under these mounts instead. */
static int trees_clone(struct sandbox *s, const struct launch_config *cfg)
{
	for (uint32_t i = 0; i < cfg->n_exports; i++) {
		const struct launch_export *e = &cfg->exports[i];

		s->trees[i] = open_tree(e->dir_fd, "",
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
						(e->crosses ? AT_RECURSIVE : 0));
		if (s->trees[i] < 0)
			return -errno;
	}
	return 0;
}

/* Drops from the bounding set all capabilities that no program started by this process needs. The
 * process keeps its own capabilities until it drops them itself. */
static int bounding_drop(void)
{
	for (unsigned c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			return -errno;
	return 0;
}

/*
 * Opens a procfs in which a frontend checks whether a process that waits for an answer is being
 * killed. It contains only what any user may read about processes, and no path leads out of it.
 */
static int proc_new(void)
{
	autoclose int fs = fsopen("proc", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "subset", "pid", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	fd = fsmount(fs, FSMOUNT_CLOEXEC,
		     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return fd < 0 ? -1 : fd;
}

/* Returns whether SELinux is off: where it is enabled, its file system exists. */
static bool selinux_is_off(void)
{
	char text[8192];
	autoclose int fd = open("/proc/filesystems", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0 || n == sizeof(text) - 1)
		return false;
	text[n] = '\0';
	return !strstr(text, "selinuxfs");
}

/* Reads a number that identifies this boot: if it changes, state that is only in memory is lost. */
static int boot_read(uint64_t *ret)
{
	static const uint64_t key[2];
	char text[64] = "";
	autoclose int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return -errno;
	*ret = hash_keyed(key, text, sizeof(text));
	return 0;
}

static int helpers_start(struct sandbox *s, const struct launch_config *cfg, int key_fd,
			 struct reason *why)
{
	struct fs_helper_config hc = {
		.worker_id = cfg->worker_id,
		.key_fd = key_fd,
		.n_exports = cfg->n_exports,
		.arena_bytes = fuse_server_arena_bytes(),
		.ids = cfg->ids,
		.n_ids = MIN_OF(cfg->n_ids, (uint32_t)LAUNCH_IDS_MAX),
	};

	for (uint32_t i = 0; i < cfg->n_exports; i++) {
		hc.exports[i].name = cfg->exports[i].name;
		hc.exports[i].state_fd = cfg->exports[i].state_fd;
	}
	return fs_helper_start(&hc, &s->helper, why);
}

int sandbox_begin(struct sandbox *s, enum sandbox_kind kind, const struct launch_config *cfg,
		  int key_fd, struct reason *why)
{
	int e;

	*s = (struct sandbox){.kind = kind, .device_fd = -1, .proc_fd = -1};
	memset(s->trees, 0xff, sizeof(s->trees));
	if (geteuid() != 0)
		return sandbox_fail(-EPERM, why, "root did not start the worker");
	sandbox_user_get(&s->uid, &s->gid);
	/* Open a placeholder, which keeps the descriptor number free for a device file. */
	if (launch_takes_rdma(cfg) && (s->device_fd = eventfd(0, EFD_CLOEXEC)) < 0)
		return sandbox_fail(-errno, why, "a descriptor");
	e = trees_clone(s, cfg);
	if (e < 0)
		return sandbox_fail(e, why, "detached mounts of the exports (Linux 5.12)");
	/* Leave the host's mount namespace before another thread starts: that thread would stay in
	 * it. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return sandbox_fail(-errno, why, "a mount namespace");
	e = bounding_drop();
	if (e < 0)
		return sandbox_fail(e, why, "privileges of programs");
	if (kind != SANDBOX_FILES) {
		s->proc_fd = proc_new();
		s->no_selinux = selinux_is_off();
		return 0;
	}
	e = boot_read(&s->boot);
	if (e < 0)
		return sandbox_fail(e, why, BOOT_ID);
	limit_files_raise(); /* each file that a client has open needs a descriptor in this
				process */
	return helpers_start(s, cfg, key_fd, why);
}

/* ------------------------------------------------------------------ an empty root */

/* Makes a tmpfs that is not attached yet. Its size is limited in case a process ever writes to
 * it. */
static int tmpfs_new(void)
{
	autoclose int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", "64k", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", "512", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static int attach(int tree, const char *at)
{
	return move_mount(tree, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/*
 * Attaches an export in such a way that nothing in it can affect the worker: devices in it cannot
 * be opened, and programs cannot be executed. Clients may still create device nodes and set-id
 * programs in it, because only the clients' kernels act on these.
 */
static int export_attach(int tree, const char *at, bool read_only)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID |
					      MOUNT_ATTR_NOEXEC |
					      (read_only ? MOUNT_ATTR_RDONLY : 0),
				  .propagation = MS_PRIVATE};

	if (mkdir(at, 0) < 0 ||
	    mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return -errno;
	return attach(tree, at);
}

/* Makes folders; their parent directories must exist. */
static int folders_make(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (mkdir(names[i], 0755) < 0)
			return -errno;
	return 0;
}

/*
 * Makes, in the working directory, the names that DPDK reads when it returns a PCI function to
 * vfio. DPDK then checks again whether the host has the vfio module, and which IOMMU group the
 * function has. The names have no content. A function without an IOMMU group is not bound to vfio,
 * so it needs no names.
 */
static int functions_fill(const struct launch_config *cfg)
{
	static const char *const folders[] = {"sys",	 "sys/module",	"sys/module/vfio_pci",
					      "sys/bus", "sys/bus/pci", FUNCTIONS};
	char from[PLENUM_NAME_MAX + 64], group[64];
	bool any = false;

	for (uint32_t i = 0; i < cfg->n_ports; i++) {
		const struct launch_port *p = &cfg->ports[i];
		ssize_t n;

		if (cfg->transport == LAUNCH_UDP || !launch_port_is_function(p))
			continue;
		snprintf(from, sizeof(from), "/" FUNCTIONS "/%s/iommu_group", p->device);
		n = readlink(from, group, sizeof(group) - 1);
		if (n < 0)
			continue;
		group[n] = '\0';
		if (!any && folders_make(folders, ARRAY_SIZE(folders)) < 0)
			return -errno;
		any = true;
		*strrchr(from, '/') = '\0';
		if (mkdir(from + 1, 0755) < 0)
			return -errno;
		from[strlen(from)] = '/';
		if (symlink(strrchr(group, '/') ? strrchr(group, '/') + 1 : group, from + 1) < 0)
			return -errno;
	}
	return 0;
}

/*
 * The RDMA library opens devices by the names /dev/infiniband/uverbs*, which the worker's empty
 * root lacks. Makes all of these names in the working directory as links to one descriptor,
 * device_fd, which refers to the device file that the agent sent last. So a name may lead to
 * another device; the library notices that and refuses it.
 */
static int devices_fill(const struct sandbox *s)
{
	static const char *const folders[] = {"dev", "dev/infiniband"};
	char target[32], name[48];

	if (s->device_fd < 0)
		return 0;
	if (folders_make(folders, ARRAY_SIZE(folders)) < 0)
		return -errno;
	snprintf(target, sizeof(target), "/proc/self/fd/%d", s->device_fd);
	for (unsigned i = 0; i < UVERBS_MAX; i++) {
		snprintf(name, sizeof(name), "dev/infiniband/uverbs%u", i);
		if (symlink(target, name) < 0)
			return -errno;
	}
	return 0;
}

/* Makes, in the working directory, a folder for each export, named by the export's index, and the
 * names of the worker's own descriptors. */
static int root_fill(struct sandbox *s, const struct launch_config *cfg, int own_fds)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV |
					      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC};
	char name[16];
	int e = 0;

	for (uint32_t i = 0; i < cfg->n_exports && e == 0; i++) {
		snprintf(name, sizeof(name), "%u", i);
		e = export_attach(s->trees[i], name, cfg->exports[i].read_only);
		cleanup_close(&s->trees[i]);
		s->trees[i] = -1;
	}
	if (e == 0 && (cfg->n_exports > 0 || s->device_fd >= 0)) {
		/* This is the only name of /proc in the new root, and no path leads to other files
		 * of /proc. */
		if (mkdir("proc", 0755) < 0 || mkdir("proc/self", 0755) < 0 ||
		    mkdir("proc/self/fd", 0755) < 0)
			return -errno;
		e = attach(own_fds, "proc/self/fd");
	}
	if (e == 0)
		e = functions_fill(cfg);
	if (e == 0)
		e = devices_fill(s);
	if (e == 0 && mount_setattr(AT_FDCWD, ".", 0, &attr, sizeof(attr)) < 0)
		e = -errno;
	return e;
}

static int root_change(struct sandbox *s, const struct launch_config *cfg)
{
	autoclose int root = tmpfs_new();
	autoclose int own_fds =
		open_tree(AT_FDCWD, "/proc/self/fd", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int e;

	if (root < 0)
		return root;
	if (own_fds < 0)
		return -errno;
	e = attach(root, STAGE);
	if (e < 0)
		return e;
	if (chdir(STAGE) < 0)
		return -errno;
	e = root_fill(s, cfg, own_fds);
	if (e < 0)
		return e;
	/* The old root is now mounted over the new root, so detach it. */
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

/* Opens the exports again in the new root. From the directories that the agent has opened, ".."
 * could lead to any file of the host. */
static int exports_reopen(const struct launch_config *cfg)
{
	char name[16];

	for (uint32_t i = 0; i < cfg->n_exports; i++) {
		autoclose int fd = -1;

		snprintf(name, sizeof(name), "/%u", i);
		fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || dup3(fd, cfg->exports[i].dir_fd, O_CLOEXEC) < 0)
			return -errno;
	}
	return 0;
}

/* ------------------------------------------------------------------ identity and privileges */

/* Returns the capabilities that a worker keeps: those to look up files of any user, and to write as
 * a user. Only the I/O helpers have the other capabilities that serving files requires. */
static uint64_t capabilities_of(enum sandbox_kind kind)
{
	if (kind != SANDBOX_FILES)
		return 0;
	return CAP(CAP_DAC_OVERRIDE) | CAP(CAP_FSETID) | CAP(CAP_SETUID) | CAP(CAP_SETGID);
}

static int capabilities_set(uint64_t keep)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(keep >> (32 * i));
		data[i].effective = data[i].permitted;
	}
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/*
 * Changes the process's identity. The C library changes it for all threads. Only this thread has
 * the secure bits that preserve capabilities, so DPDK's threads lose their capabilities.
 */
static int identity_change(const struct sandbox *s)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECUREBITS, bits) < 0)
		return -errno;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (setgroups(0, NULL) < 0 || setresgid(s->gid, s->gid, s->gid) < 0 ||
	    setresuid(s->uid, s->uid, s->uid) < 0)
		return -errno;
	/* Allow no core dumps, which would contain users' data. This setting also prevents other
	 * workers from tracing this worker. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return capabilities_set(capabilities_of(s->kind));
}

int sandbox_enter(struct sandbox *s, const struct launch_config *cfg, struct reason *why)
{
	int fds[LAUNCH_EXPORTS_MAX];
	int e = root_change(s, cfg);

	if (e < 0)
		return sandbox_fail(e, why, "an empty root");
	e = exports_reopen(cfg);
	if (e < 0)
		return sandbox_fail(e, why, "the exports in it");
	if (s->kind == SANDBOX_FILES) {
		for (uint32_t i = 0; i < cfg->n_exports; i++)
			fds[i] = cfg->exports[i].dir_fd;
		e = fs_helper_roots(s->helper, fds, s->uid, s->gid, why);
		if (e < 0)
			return e;
	}
	e = identity_change(s);
	return e < 0 ? sandbox_fail(e, why, "privileges") : 0;
}

void sandbox_done(struct sandbox *s)
{
	for (unsigned i = 0; i < LAUNCH_EXPORTS_MAX; i++)
		cleanup_close(&s->trees[i]);
	memset(s->trees, 0xff, sizeof(s->trees));
	s->helper = fs_helper_free(s->helper);
	cleanup_close(&s->device_fd);
	cleanup_close(&s->proc_fd);
	s->device_fd = s->proc_fd = -1;
}
