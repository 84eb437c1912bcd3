/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drops the privileges of a child that reads bytes from untrusted senders. The child gets an empty
 * root directory and loses its user and its capabilities. It may make only the system calls in its
 * list, and a few that any process needs.
 */
#include "agent/base/child/sandbox.h"
#include "agent/base/privsep.h"
#include "netcfg/base/log.h"
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define CALLS_MAX 96
#define RULES_MAX 32

/* ---- files ---- */

/*
 * Replaces the root by a file system that has no room for a file, and detaches the old root. It is
 * mounted on /proc, which exists on every host, because the agent starts its roles from
 * /proc/self/exe.
 */
static int enter_empty_root(void)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("plenum", "/proc", "tmpfs", flags, "size=4k,nr_inodes=1,mode=0555") < 0 ||
	    chdir("/proc") < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ||
	    mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) < 0)
		return -errno;
	return 0;
}

/* ---- identity ---- */

static int find_user(uid_t *ret_uid, gid_t *ret_gid)
{
	const struct passwd *pw = getpwnam("plenum");

	if (!pw)
		pw = getpwnam("nobody");
	if (!pw || pw->pw_uid == 0)
		return -ENOENT;
	*ret_uid = pw->pw_uid;
	*ret_gid = pw->pw_gid;
	return 0;
}

static int leave_root(void)
{
	uid_t uid;
	gid_t gid;
	/* looked up now, because the user database cannot be read later */
	int r = find_user(&uid, &gid);

	if (r < 0)
		return r;
	r = enter_empty_root();
	if (r < 0) {
		log_err("cannot give this process an empty root: %s; plenumd needs the right to "
			"make mount namespaces",
			strerror(-r));
		return r;
	}
	/* EINVAL marks the end of the capabilities that the kernel knows. */
	for (unsigned cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return 0;
}

int sandbox_enter(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};
	int r;

	tzset(); /* reads its file now, because the sandbox forbids it later */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (geteuid() == 0) {
		r = leave_root();
		if (r < 0)
			return r;
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	if (syscall(SYS_capset, &head, none) < 0)
		return -errno;
	/*
	 * Processes of the same user cannot trace the process, and it leaves no core dump with data
	 * of clients.
	 */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* ---- system calls ---- */

/* These calls affect only the descriptors and the memory of the process. */
static const int common[] = {
	/* System calls of the event loop. */
	SYS_read,
	SYS_recvmsg,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_epoll_pwait2,
	SYS_timerfd_settime,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_restart_syscall,
	SYS_ppoll,
	SYS_gettid,
	SYS_getpid,
	/* System calls for memory, locks and random numbers. */
	SYS_munmap,
	SYS_mremap,
	SYS_brk,
	SYS_madvise,
	SYS_futex,
	SYS_getrandom,
	SYS_sysinfo, /* qsort(3) asks for the size of the memory if an array has more than 1 KiB */
	/* System calls of signal handlers, and of a process at its exit. */
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_exit,
	SYS_exit_group,
#ifdef __x86_64__ /* x86-64 has these old variants too */
	SYS_poll,
	SYS_epoll_wait,
#endif
#if SANITIZED /* needed for a sanitizer's report; openat finds only an empty root directory */
	SYS_openat,
	SYS_readlink,
	SYS_sigaltstack,
	SYS_sched_yield,
	SYS_rt_sigaction,
	SYS_prctl,
	SYS_prlimit64,
	SYS_sched_getaffinity,
	SYS_getrusage,
	SYS_ioctl,
#endif
};

/* Reports the number of the forbidden call, then exits. The handler interrupts arbitrary code, so
 * it must not take a lock. */
static void on_forbidden_call(int signo, siginfo_t *si, void *context)
{
	struct privsep_msg m = {.type = PRIVSEP_VIOLATION,
				.violation = {.number = (uint32_t)si->si_syscall}};

	privsep_send(PRIVSEP_FD_CONTROL, PRIVSEP_API, &m, -1);
	_exit(128 + SIGSYS);
}

int sandbox_seal(const int *nrs, size_t n_nrs, const struct seccomp_rule *rules, size_t n_rules)
{
	/* The process cannot make memory executable. It may abort itself but not signal other
	 * processes. */
	const struct seccomp_rule own[] = {
		{SYS_mmap, 2, PROT_EXEC, 0},
		{SYS_mprotect, 2, PROT_EXEC, 0},
		{SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid()},
	};
	struct sigaction act = {.sa_sigaction = on_forbidden_call, .sa_flags = SA_SIGINFO};
	struct seccomp_rule all_rules[RULES_MAX];
	int all[CALLS_MAX];
	const struct seccomp_filter filter = {.nrs = all,
					      .n_nrs = n_nrs + ARRAY_SIZE(common),
					      .rules = all_rules,
					      .n_rules = n_rules + ARRAY_SIZE(own),
					      .action = SECCOMP_RET_TRAP};

	if (filter.n_nrs > CALLS_MAX || filter.n_rules > RULES_MAX)
		return -E2BIG;
	if (n_nrs)
		memcpy(all, nrs, n_nrs * sizeof(*nrs));
	memcpy(all + n_nrs, common, sizeof(common));
	memcpy(all_rules, own, sizeof(own));
	if (n_rules)
		memcpy(all_rules + ARRAY_SIZE(own), rules, n_rules * sizeof(*rules));
	if (sigaction(SIGSYS, &act, NULL) < 0)
		return -errno;
	return seccomp_filter_install(&filter);
}
