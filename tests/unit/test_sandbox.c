/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays a worker under an attacker's control: enters the real sandbox in a child, as a worker does,
 * and then tries every way out. Needs root.
 */
#include "dataplane/fuse/helper/fuse_handle.h"
#include "dataplane/worker/sandbox/worker_sandbox.h"
#include "tests/lib/process/helper_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

struct world {
	char dir[64]; /* export/ is served, secret is beside it on the same file system */
	struct launch_config cfg;
	enum sandbox_kind kind;
	struct sandbox sandbox;
	int device_fd;		       /* used as that of an RDMA device */
	int state_fd, key_fd, outside; /* outside: a socket that listens on the host */
	struct {
		struct file_handle h;
		uint8_t space[MAX_HANDLE_SZ];
	} secret;
	pid_t victim; /* another process of the workers' user */
};

static struct world world;
static int below_fd;		     /* the child's, opened before it waits */
static void (*meanwhile)(pid_t pid); /* called by the parent then */
static unsigned failures;

#define REFUSED(call)                                                                       \
	do {                                                                                \
		errno = 0;                                                                  \
		long r_ = (long)(call);                                                     \
		if (r_ >= 0) {                                                              \
			fprintf(stderr, "# line %d: %s works: %ld\n", __LINE__, #call, r_); \
			failures++;                                                         \
		}                                                                           \
	} while (0)
#define WORKS(call)                                                                   \
	do {                                                                          \
		errno = 0;                                                            \
		if ((long)(call) < 0) {                                               \
			fprintf(stderr, "# line %d: %s fails: %s\n", __LINE__, #call, \
				strerror(errno));                                     \
			failures++;                                                   \
		}                                                                     \
	} while (0)

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", world.dir, name);
	return path;
}

static void file_make(const char *name, const char *text)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static pid_t victim_start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		uid_t uid;
		gid_t gid;

		sandbox_user_get(&uid, &gid);
		if (setresuid(uid, uid, uid) == 0)
			pause();
		_exit(0);
	}
	return pid;
}

static int world_setup(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const uint64_t key[2] = {1, 2};
	int mount_id;

	memset(&world, 0, sizeof(world));
	/* Not /tmp, whose file system may not support handles. */
	snprintf(world.dir, sizeof(world.dir), "/var/tmp/plenum-sandbox-XXXXXX");
	assert_non_null(mkdtemp(world.dir));
	assert_int_equal(chmod(world.dir, 0755), 0);
	assert_int_equal(mkdir(path_of("export"), 0755), 0);
	assert_int_equal(mkdir(path_of("export/below"), 0755), 0);
	assert_int_equal(mkdir(path_of("root"), 0755), 0);
	file_make("secret", "not yours");
	file_make("export/file", "yours");
	assert_int_equal(symlink("../secret", path_of("export/link")), 0);
	(void)!mknod(path_of("export/device"), S_IFCHR | 0666, makedev(1, 3));
	world.secret.h.handle_bytes = MAX_HANDLE_SZ;
	assert_int_equal(
		name_to_handle_at(AT_FDCWD, path_of("secret"), &world.secret.h, &mount_id, 0), 0);
	world.outside = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/s", world.dir);
	assert_int_equal(bind(world.outside, (void *)&name, sizeof(name)), 0);
	assert_int_equal(listen(world.outside, 1), 0);
	world.state_fd = memfd_create("state", MFD_CLOEXEC);
	world.key_fd = memfd_create("key", MFD_CLOEXEC);
	assert_int_equal(write(world.key_fd, key, sizeof(key)), sizeof(key));
	world.victim = victim_start();
	world.device_fd = open("/dev/null", O_PATH | O_CLOEXEC);
	assert_true(world.device_fd >= 0);
	world.kind = SANDBOX_FILES;
	/* RDMA needs further rights: nothing else may come with them. */
	world.cfg = (struct launch_config){
		.n_exports = 1, .n_ports = 1, .ports[0].rdma = true, .transport = LAUNCH_UDP};
	world.cfg.exports[0].dir_fd = open(path_of("export"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(world.cfg.exports[0].dir_fd >= 0);
	world.cfg.exports[0].state_fd = world.state_fd;
	return 0;
}

static int world_teardown(void **state)
{
	static const char *const names[] = {"export/link",   "export/made", "export/file",
					    "export/device", "secret",	    "s"};
	static const char *const dirs[] = {"export/below", "below", "export", "root", "."};

	kill(world.victim, SIGKILL);
	waitpid(world.victim, NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(path_of(names[i]));
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		rmdir(path_of(dirs[i]));
	close(world.outside);
	close(world.state_fd);
	close(world.device_fd);
	close(world.key_fd);
	close(world.cfg.exports[0].dir_fd);
	return 0;
}

static void confine(void)
{
	struct reason why = {.code = ""};

	if (sandbox_begin(&world.sandbox, world.kind, &world.cfg, world.key_fd, &why) < 0 ||
	    sandbox_enter(&world.sandbox, &world.cfg, &why) < 0 ||
	    sandbox_seal(world.kind, false, true, &why) < 0) {
		fprintf(stderr, "# %s\n", why.text);
		_exit(1);
	}
}

/* ------------------------------------------------------------------ forbidden to both roles */

static void attack_files(int dir)
{
	struct stat st;

	REFUSED(open("/etc/passwd", O_RDONLY));
	REFUSED(open("/etc/passwd", O_WRONLY));
	REFUSED(open("/proc/1/root/etc/passwd", O_RDONLY));
	REFUSED(open("/proc/self/root/etc/passwd", O_RDONLY));
	REFUSED(open("/proc/self/mem", O_RDWR));
	REFUSED(open("/proc/sys/kernel/core_pattern", O_WRONLY));
	REFUSED(open("/sys/class/net", O_RDONLY));
	REFUSED(open("/dev/mem", O_RDWR));
	REFUSED(open(world.dir, O_RDONLY));
	REFUSED(openat(dir, "../secret", O_RDONLY));
	REFUSED(openat(dir, "../../../etc/passwd", O_RDONLY));
	REFUSED(stat("/etc", &st));
	REFUSED(mkdir("/made", 0755));
	REFUSED(open("/made", O_WRONLY | O_CREAT, 0644));
	REFUSED(syscall(SYS_open_by_handle_at, dir, &world.secret.h, O_RDONLY));
	REFUSED(syscall(SYS_open_by_handle_at, AT_FDCWD, &world.secret.h, O_PATH));
}

static void attack_processes(void)
{
	char byte;
	struct iovec iov = {&byte, 1};

	REFUSED(fork());
	REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	REFUSED(unshare(CLONE_NEWUSER));
	REFUSED(execl("/bin/sh", "sh", NULL));
	REFUSED(kill(world.victim, SIGTERM));
	REFUSED(kill(1, 0));
	REFUSED(kill(-1, 0));
	REFUSED(syscall(SYS_tgkill, world.victim, world.victim, SIGTERM));
	REFUSED(syscall(SYS_tkill, world.victim, SIGTERM));
	REFUSED(syscall(SYS_pidfd_open, world.victim, 0));
	REFUSED(ptrace(PTRACE_ATTACH, world.victim, 0, 0));
	REFUSED(ptrace(PTRACE_TRACEME, 0, 0, 0));
	REFUSED(syscall(SYS_process_vm_readv, world.victim, &iov, 1, &iov, 1, 0));
	REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || prctl(PR_GET_DUMPABLE) == 0 ? -1 : 0);
	REFUSED(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
				MAP_FAILED
			? -1
			: 0);
}

static void attack_kernel(void)
{
	struct io_uring_params p = {0};

	REFUSED(mount("none", "/", "tmpfs", 0, NULL));
	REFUSED(umount2("/", MNT_DETACH));
	REFUSED(syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE));
	REFUSED(fsopen("proc", 0));
	REFUSED(chroot("/"));
	REFUSED(syscall(SYS_pivot_root, ".", "."));
	REFUSED(unshare(CLONE_NEWNS));
	REFUSED(setns(0, 0));
	REFUSED(syscall(SYS_bpf, 5, NULL, 0));
	REFUSED(syscall(SYS_keyctl, 0, -4, 0));
	REFUSED(syscall(SYS_add_key, "user", "x", "x", 1, -4));
	REFUSED(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0));
	REFUSED(syscall(SYS_userfaultfd, 0));
	REFUSED(syscall(SYS_init_module, NULL, 0, ""));
	REFUSED(syscall(SYS_kexec_load, 0, 0, NULL, 0));
	REFUSED(syscall(SYS_reboot, 0, 0, 0, NULL));
	REFUSED(syscall(SYS_quotactl, 0, NULL, 0, NULL));
	REFUSED(syscall(SYS_io_uring_setup, 8, &p));
	REFUSED(syscall(SYS_io_uring_register, 0, 0, NULL, 0));
	REFUSED(sethostname("x", 1));
	REFUSED(setuid(0));
	REFUSED(setgid(0));
	REFUSED(syscall(SYS_seccomp, 0, 0, NULL));
	REFUSED(syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x"));
	REFUSED(syscall(SYS_fcntl, 0, F_SETOWN, world.victim));
}

static void attack_network(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int udp;

	snprintf(name.sun_path, sizeof(name.sun_path), "%s/s", world.dir);
	REFUSED(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	REFUSED(socket(AF_PACKET, SOCK_RAW, 0));
	REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
	REFUSED(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(socket(AF_UNIX, SOCK_DGRAM, 0));
	REFUSED(socket(AF_ALG, SOCK_SEQPACKET, 0));
	REFUSED(socket(AF_VSOCK, SOCK_STREAM, 0));
	REFUSED(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP)); /* echo requests */
	REFUSED(socket(AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6));
	REFUSED(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE));
	WORKS(udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP));
	/* The agent's sockets must not be reachable by name, whatever socket the worker has. */
	REFUSED(connect(udp, (void *)&name, sizeof(name)));
	close(udp);
}

/* RDMA devices have names that lead to the file that was sent last: to nothing as long as none was
 * sent. The kernel may lack RDMA. */
static void attack_rdma(void)
{
	int fd;

	REFUSED(open("/dev/infiniband/uverbs0", O_RDWR));
	REFUSED(open("/dev/infiniband/rdma_cm", O_RDWR));
	REFUSED(open("/dev/null", O_RDWR));
	WORKS(dup3(world.device_fd, world.sandbox.device_fd, O_CLOEXEC));
	WORKS(fd = open("/dev/infiniband/uverbs255", O_RDWR));
	WORKS(write(fd, "x", 1));
	close(fd);
	REFUSED(open("/dev/infiniband/uverbs256", O_RDWR));
	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	if (fd < 0 && errno == EPERM)
		failures++;
	close(fd);
}

static uint64_t status_number(const char *text, const char *key, int base)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, base) : UINT64_MAX;
}

/* The state of this process as seen from the host, read by the parent. */
static void expect_status(pid_t pid, uint64_t caps)
{
	char path[64], text[8192], link[128];
	uid_t uid;
	gid_t gid;
	ssize_t n;
	int fd;

	sandbox_user_get(&uid, &gid);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(status_number(text, "\nUid:", 10), uid);
	assert_int_equal(status_number(text, "\nGid:", 10), gid);
	assert_int_equal(status_number(text, "\nCapPrm:", 16), caps);
	assert_int_equal(status_number(text, "\nCapEff:", 16), caps);
	assert_int_equal(status_number(text, "\nCapBnd:", 16), 0);
	assert_int_equal(status_number(text, "\nCapAmb:", 16), 0);
	assert_int_equal(status_number(text, "\nNoNewPrivs:", 10), 1);
	assert_int_equal(status_number(text, "\nSeccomp:", 10), 2);
	assert_non_null(strstr(text, "\nGroups:\t \n"));
	snprintf(path, sizeof(path), "/proc/%d/root/etc", pid);
	assert_true(readlink(path, link, sizeof(link)) < 0 && access(path, F_OK) < 0);
}

/* Runs the attack in a child; the parent examines it while it waits. */
static void run_confined(void (*attack)(void), uint64_t caps)
{
	int ready[2], go[2], status;
	char c = 0;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		failures = 0;
		confine();
		below_fd = openat(world.cfg.exports[0].dir_fd, "below", O_PATH | O_CLOEXEC);
		if (write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(2);
		attack();
		_exit(failures > 0 ? 3 : 0);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) == 1)
		expect_status(pid, caps);
	if (meanwhile)
		meanwhile(pid);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ready[0]);
	close(go[0]);
	close(go[1]);
}

#define C(x) (1ULL << CAP_##x)
#define COMPUTE_CAPS (C(DAC_OVERRIDE) | C(FSETID) | C(SETUID) | C(SETGID))
#define HELPER_CAPS \
	(COMPUTE_CAPS | C(CHOWN) | C(DAC_READ_SEARCH) | C(FOWNER) | C(MKNOD) | C(SETFCAP))

/* ------------------------------------------------------------------ the cases */

/* A frontend has a procfs, to see whether a process is being killed, and nothing else. */
static void attack_procfs(void)
{
	static const char *const words[] = {"mem",
					    "root/etc/passwd",
					    "cwd/etc/passwd",
					    "environ",
					    "fd/0",
					    "maps",
					    "stack",
					    "io",
					    "ns/mnt",
					    "exe",
					    "map_files",
					    "timers",
					    "uid_map",
					    "oom_score_adj"};
	char path[64];
	int proc = world.sandbox.proc_fd, fd;

	if (proc < 0)
		return; /* not supported by this kernel */
	snprintf(path, sizeof(path), "%d/status", world.victim);
	WORKS(fd = openat(proc, path, O_RDONLY));
	close(fd);
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		snprintf(path, sizeof(path), "%d/%s", world.victim, words[i]);
		REFUSED(openat(proc, path, O_RDWR));
		snprintf(path, sizeof(path), "1/%s", words[i]);
		REFUSED(openat(proc, path, O_RDWR));
	}
	REFUSED(openat(proc, "self/mem", O_RDWR));
	REFUSED(openat(proc, "thread-self/mem", O_RDONLY));
	REFUSED(openat(proc, "self/fd/3", O_RDWR));
	REFUSED(openat(proc, "self/attr/current", O_RDWR));
	REFUSED(openat(proc, "self/oom_score_adj", O_WRONLY));
	REFUSED(openat(proc, "1/root/etc/passwd", O_RDONLY));
	REFUSED(openat(proc, "sys/kernel/core_pattern", O_RDONLY));
	REFUSED(openat(proc, "kallsyms", O_RDONLY));
	REFUSED(openat(proc, "mounts", O_RDONLY));
	REFUSED(openat(proc, "../etc/passwd", O_RDONLY));
	REFUSED(openat(proc, "../../etc/passwd", O_RDONLY));
}

static void frontend(void)
{
	attack_files(AT_FDCWD);
	attack_procfs();
	attack_processes();
	attack_kernel();
	attack_network();
	attack_rdma();
}

static void test_a_frontend_cannot_leave_its_sandbox(void **state)
{
	world.kind = SANDBOX_DESCRIPTORS;
	world.cfg.n_exports = 0;
	run_confined(frontend, 0);
}

static void compute(void)
{
	int dir = world.cfg.exports[0].dir_fd, fd;
	char text[32];

	attack_files(dir);
	attack_processes();
	attack_kernel();
	attack_network();
	attack_rdma();
	REFUSED(openat(dir, "link", O_RDONLY)); /* leads to ../secret */
	/* Its own task still works. */
	WORKS(fd = openat(dir, "file", O_RDWR));
	WORKS(pread(fd, text, sizeof(text), 0) == 5 ? 0 : -1);
	WORKS(pwrite(fd, text, 5, 0));
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	WORKS(open(text, O_RDONLY));
	/* The helpers' task does not. */
	REFUSED(fchown(fd, 1234, 1234));
	REFUSED(fchmod(fd, 04777));
	REFUSED(chmod(text, 04777));
	REFUSED(ftruncate(fd, 0));
	REFUSED(fallocate(fd, 0, 0, 100));
	REFUSED(fsetxattr(fd, "user.x", "1", 1, 0));
	REFUSED(fgetxattr(fd, "user.x", NULL, 0) < 0 && errno == ENODATA ? 0 : -1);
	REFUSED(futimens(fd, NULL));
	close(fd);
	REFUSED(openat(dir, "made", O_RDWR | O_CREAT, 0600));
	REFUSED(openat(dir, ".", O_RDWR | O_TMPFILE, 0600));
	REFUSED(openat(dir, "file", O_RDWR | O_TRUNC));
	REFUSED(mkdirat(dir, "made", 0700));
	REFUSED(mknodat(dir, "made", S_IFIFO | 0666, 0));
	REFUSED(symlinkat("x", dir, "made"));
	REFUSED(linkat(dir, "file", dir, "made", 0));
	REFUSED(renameat(dir, "file", dir, "made"));
	REFUSED(unlinkat(dir, "file", 0));
	REFUSED(unlinkat(dir, "below", AT_REMOVEDIR));
	REFUSED(openat(dir, "device", O_RDONLY)); /* a client may create it, the worker may not open
						   * it */
	/* No other file of /proc is reachable via the descriptors. */
	REFUSED(open("/proc/self/fd/../status", O_RDONLY));
	REFUSED(open("/proc/self/fd/../../1/status", O_RDONLY));
}

static void test_a_compute_worker_cannot_leave_its_exports(void **state)
{
	run_confined(compute, COMPUTE_CAPS);
}

static void on_call(void *user, struct helper_call *call)
{
	*(struct helper_call **)user = call;
}

/* The result of the call: a descriptor, 0, or -1 and errno. The call concerns a handle or a
 * descriptor. */
static const char *ask_name = "";

static int helper_ask(enum helper_op op, const struct fuse_handle *h, int fd,
		      struct fuse_handle *ret)
{
	struct fs_helper *helper = world.sandbox.helper;
	struct helper_call *call = fs_helper_call_new(helper, 0), *done = NULL;
	int r;

	call->op = op;
	call->a.fd = fd;
	strcpy(call->name, ask_name);
	if (h) {
		call->a.len = h->len;
		memcpy(call->a.handle, h->bytes, sizeof(h->bytes));
	}
	fs_helper_submit(helper, call, HELPERS_QUICK);
	while (!done && fs_helper_poll(helper, false, on_call, &done) >= 0)
		sched_yield();
	if (!done)
		return -1;
	r = done->result.error;
	errno = -r;
	if (ret) {
		ret->len = done->result.handle_len;
		memcpy(ret->bytes, done->result.handle, ret->len);
	}
	fd = done->fd;
	fs_helper_call_free(helper, done);
	return r < 0 ? -1 : MAX_OF(fd, 0);
}

/* Helpers open only what was shown to this worker, however the request is forged. */
static void forge(void)
{
	int dir = world.cfg.exports[0].dir_fd, fd;
	struct fuse_handle h = {}, real, none;

	/* The handle of a file that was never shown, unsigned, or with another file's signature. */
	h.bytes[0] = FUSE_HANDLE_FILE;
	h.bytes[1] = (uint8_t)world.secret.h.handle_type;
	h.bytes[2] = (uint8_t)world.secret.h.handle_bytes;
	memcpy(h.bytes + 3, world.secret.h.f_handle, h.bytes[2]);
	h.len = (uint8_t)(3 + h.bytes[2] + HELPERS_SIGNATURE_BYTES);
	REFUSED(helper_ask(HELPER_OPEN_PATH, &h, -1, NULL));
	WORKS(fd = openat(dir, "file", O_PATH | O_CLOEXEC));
	WORKS(helper_ask(HELPER_GETATTR, NULL, fd, &real));
	WORKS(real.len > 0 ? 0 : -1);
	memcpy(h.bytes + h.len - HELPERS_SIGNATURE_BYTES,
	       real.bytes + real.len - HELPERS_SIGNATURE_BYTES, HELPERS_SIGNATURE_BYTES);
	REFUSED(helper_ask(HELPER_OPEN_PATH, &h, -1, NULL));
	/* A descriptor of any other file gets none. */
	WORKS(helper_ask(HELPER_GETATTR, NULL, world.outside, &none));
	WORKS(none.len == 0 ? 0 : -1);
	WORKS(helper_ask(HELPER_GETATTR, NULL, world.state_fd, &none));
	WORKS(none.len == 0 ? 0 : -1);
	/* Every single bit of a valid handle matters; wrong exports and lengths do no harm. */
	for (unsigned i = 0; i < real.len * 8U; i++) {
		h = real;
		h.bytes[i / 8] ^= (uint8_t)(1U << i % 8);
		REFUSED(helper_ask(HELPER_OPEN_PATH, &h, -1, NULL));
	}
	for (unsigned len = 0; len <= UINT8_MAX; len++) {
		h = real;
		h.len = (uint8_t)len;
		if (len != real.len)
			REFUSED(helper_ask(HELPER_OPEN_PATH, &h, -1, NULL));
	}
	/* A file that was shown can be opened as long as it exists. */
	close(fd);
	WORKS(fd = helper_ask(HELPER_OPEN_PATH, &real, -1, NULL));
	WORKS(fcntl(fd, F_GETFL) & O_PATH ? 0 : -1);
	close(fd);
	ask_name = "file";
	WORKS(fd = helper_ask(HELPER_UNLINK, NULL, dir, NULL));
	close(fd); /* of the removed file */
	REFUSED(helper_ask(HELPER_OPEN_PATH, &real, -1, NULL));
}

static void test_helpers_open_only_what_was_shown(void **state)
{
	run_confined(forge, COMPUTE_CAPS);
}

static void read_only(void)
{
	int dir = world.cfg.exports[0].dir_fd;

	WORKS(openat(dir, "file", O_RDONLY));
	REFUSED(openat(dir, "file", O_WRONLY));
	ask_name = "file";
	REFUSED(helper_ask(HELPER_UNLINK, NULL, dir, NULL));
	ask_name = "made";
	REFUSED(helper_ask(HELPER_MKDIR, NULL, dir, NULL));
}

/* ------------------------------------------------------------------ a helper under an attacker's
 * control */

static pid_t helper_of(pid_t pid)
{
	char path[64], comm[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fscanf(f, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, comm, sizeof(comm) - 1);

		close(fd);
		comm[MAX_OF(n, 0)] = '\0';
		if (strcmp(comm, "plenum-helper\n") == 0)
			break;
	}
	fclose(f);
	return pid;
}

#define MADE(nr, ...) helper_trace_inject(pid, nr, (const long[6]){__VA_ARGS__})
#define HELPER_REFUSED(nr, ...)                                                                \
	do {                                                                                   \
		long r_ = MADE(nr, __VA_ARGS__);                                               \
		if (r_ >= 0 || r_ == -ESRCH || r_ == -ENOSYS) {                                \
			fprintf(stderr, "# line %d: a helper's %s: %ld\n", __LINE__, #nr, r_); \
			failures++;                                                            \
		}                                                                              \
		assert_true(helper_trace_next(pid) >= 0);                                      \
	} while (0)

static void helper_attack(pid_t worker)
{
	static const char *const files[] = {"/etc/passwd", "/proc/1/environ", "../../etc/passwd",
					    "/proc/self/mem", "/dev/mem"};
	static const char sh[] = "/bin/sh", none[] = "none", slash[] = "/", tmpfs[] = "tmpfs";
	pid_t pid = helper_of(worker);

	failures = 0;
	expect_status(pid, HELPER_CAPS);
	if (!HELPER_TRACE_INJECTS || helper_trace_begin(pid) < 0)
		return; /* its capabilities are compared; the calls that they forbid are not tried
			 * here */
	assert_true(helper_trace_next(pid) >= 0);
	for (unsigned i = 0; i < ARRAY_SIZE(files); i++) {
		HELPER_REFUSED(SYS_openat, AT_FDCWD, (long)files[i], O_RDONLY);
		HELPER_REFUSED(SYS_openat, AT_FDCWD, (long)files[i], O_RDWR);
	}
	HELPER_REFUSED(SYS_execve, (long)sh, 0, 0);
	HELPER_REFUSED(SYS_fork);
	HELPER_REFUSED(SYS_clone, CLONE_NEWUSER | SIGCHLD);
	HELPER_REFUSED(SYS_unshare, CLONE_NEWUSER);
	HELPER_REFUSED(SYS_unshare, CLONE_NEWNS);
	HELPER_REFUSED(SYS_kill, world.victim, SIGTERM);
	HELPER_REFUSED(SYS_kill, worker, SIGTERM);
	HELPER_REFUSED(SYS_ptrace, PTRACE_ATTACH, world.victim);
	HELPER_REFUSED(SYS_pidfd_open, world.victim);
	HELPER_REFUSED(SYS_mount, (long)none, (long)slash, (long)tmpfs);
	HELPER_REFUSED(SYS_umount2, (long)slash, MNT_DETACH);
	HELPER_REFUSED(SYS_chroot, (long)slash);
	HELPER_REFUSED(SYS_setuid, 0);
	HELPER_REFUSED(SYS_setresgid, 0, 0, 0);
	HELPER_REFUSED(SYS_socket, AF_INET, SOCK_DGRAM);
	HELPER_REFUSED(SYS_socket, AF_UNIX, SOCK_STREAM);
	HELPER_REFUSED(SYS_socket, AF_NETLINK, SOCK_RAW);
	HELPER_REFUSED(SYS_sendmsg, world.outside, 0, 0);
	HELPER_REFUSED(SYS_ioctl, 0, 0x5412);
	HELPER_REFUSED(SYS_bpf, 5, 0, 0);
	HELPER_REFUSED(SYS_io_uring_setup, 8, 0);
	HELPER_REFUSED(SYS_userfaultfd, 0);
	HELPER_REFUSED(SYS_prctl, PR_SET_DUMPABLE, 1);
	HELPER_REFUSED(SYS_mprotect, (long)sh & -4096L, 4096, PROT_READ | PROT_EXEC);
	HELPER_REFUSED(SYS_seccomp, 0, 0, 0);
	HELPER_REFUSED(SYS_init_module, 0, 0, (long)none);
	HELPER_REFUSED(SYS_quotactl, 0, 0, 0, 0);
	helper_trace_end(pid);
	assert_int_equal(failures, 0);
}

static void nothing(void)
{
}

static void test_a_helper_cannot_leave_its_exports(void **state)
{
	meanwhile = helper_attack;
	run_confined(nothing, COMPUTE_CAPS);
	meanwhile = NULL;
}

static void test_a_read_only_export_stays_read_only(void **state)
{
	world.cfg.exports[0].read_only = true;
	run_confined(read_only, COMPUTE_CAPS);
}

/* An administrator moves a directory out of the export while the worker has it open. */
static void move_out(pid_t pid)
{
	char from[128];

	snprintf(from, sizeof(from), "%s", path_of("export/below"));
	assert_int_equal(rename(from, path_of("below")), 0);
}

static void moved(void)
{
	struct stat st;

	WORKS(fstat(below_fd, &st)); /* an open file stays usable */
	REFUSED(openat(below_fd, "..", O_PATH));
	REFUSED(openat(below_fd, "../secret", O_RDONLY));
}

static void test_a_moved_directory_opens_no_way_out(void **state)
{
	meanwhile = move_out;
	run_confined(moved, COMPUTE_CAPS);
	meanwhile = NULL;
}

/* Without privilege there is no sandbox, and the worker must not continue. */
static void test_a_failure_to_confine_is_reported(void **state)
{
	pid_t pid;
	int status;

	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		struct reason why = {.code = ""};

		if (setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		_exit(sandbox_begin(&world.sandbox, world.kind, &world.cfg, world.key_fd, &why) ==
					      -EPERM &&
				      strstr(why.text, "cannot confine the worker")
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_a_frontend_cannot_leave_its_sandbox),
		CASE(test_a_compute_worker_cannot_leave_its_exports),
		CASE(test_helpers_open_only_what_was_shown),
		CASE(test_a_helper_cannot_leave_its_exports),
		CASE(test_a_read_only_export_stays_read_only),
		CASE(test_a_moved_directory_opens_no_way_out),
		CASE(test_a_failure_to_confine_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
