/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exactly once, whatever process dies. A client's request is stopped before each system call that
 * executes it, a second client changes the same names meanwhile, the worker or the helper at work
 * is killed, and the request is sent again to a successor. The answers to both clients, and the
 * final state, must match one of the two orders of exactly two operations; for comparison both
 * orders are executed by plain system calls. Only if the helper at work was killed may the answer
 * be EIO; even then the request is not executed twice.
 *
 * PLENUM_FAULTS=all: every action of the second client at every point (minutes); otherwise one of
 * them in turn. Needs root.
 */
#include "netcfg/base/os/folder.h"
#include "tests/lib/fuse/helper_rig.h"
#include "tests/lib/process/helper_trace.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#define POINTS_MAX 64
#define STATE_BYTES 2048

enum kind {
	NONE,
	MKDIR,
	RMDIR,
	CREATE,
	CREATE_EXCL,
	UNLINK,
	RENAME,
	EXCHANGE,
	NOREPLACE,
	LINK,
	SYMLINK,
	FIFO,
	APPEND,
	TRUNCATE,
	OPEN_TRUNC,
	ALLOCATE,
	COPY,
	XATTR_SET,
	XATTR_REMOVE,
};

struct step {
	enum kind kind;
	const char *name, *name2;
};

/* Files a, b ("aaa", "bbb"; a has user.x) and the directory d exist at first. */
static const struct {
	struct step op, actions[4];
} scenes[] = {
	{{MKDIR, "n", NULL}, {{MKDIR, "n", NULL}, {CREATE_EXCL, "n", NULL}, {RMDIR, "n", NULL}}},
	{{CREATE_EXCL, "n", NULL},
	 {{CREATE_EXCL, "n", NULL}, {UNLINK, "n", NULL}, {RENAME, "a", "n"}}},
	{{CREATE, "n", NULL}, {{CREATE_EXCL, "n", NULL}, {UNLINK, "n", NULL}, {MKDIR, "n", NULL}}},
	{{CREATE, "a", NULL}, {{UNLINK, "a", NULL}, {RENAME, "b", "a"}}},
	{{UNLINK, "a", NULL},
	 {{UNLINK, "a", NULL}, {RENAME, "b", "a"}, {LINK, "a", "n"}, {EXCHANGE, "a", "b"}}},
	{{RMDIR, "d", NULL}, {{RMDIR, "d", NULL}, {RENAME, "d", "n"}, {MKDIR, "n", NULL}}},
	{{RENAME, "a", "b"},
	 {{RENAME, "a", "b"}, {RENAME, "b", "a"}, {UNLINK, "b", NULL}, {UNLINK, "a", NULL}}},
	{{RENAME, "a", "n"}, {{CREATE_EXCL, "a", NULL}, {RENAME, "b", "a"}, {RENAME, "n", "a"}}},
	{{EXCHANGE, "a", "b"}, {{EXCHANGE, "a", "b"}, {UNLINK, "a", NULL}, {RENAME, "a", "n"}}},
	{{NOREPLACE, "a", "n"},
	 {{CREATE_EXCL, "n", NULL}, {NOREPLACE, "b", "n"}, {UNLINK, "n", NULL}}},
	{{LINK, "a", "n"}, {{LINK, "b", "n"}, {UNLINK, "n", NULL}, {LINK, "a", "n"}}},
	{{SYMLINK, "n", NULL}, {{SYMLINK, "n", NULL}, {UNLINK, "n", NULL}, {MKDIR, "n", NULL}}},
	{{FIFO, "n", NULL}, {{FIFO, "n", NULL}, {UNLINK, "n", NULL}, {RENAME, "a", "n"}}},
	{{APPEND, "a", NULL}, {{APPEND, "a", NULL}, {TRUNCATE, "a", NULL}, {ALLOCATE, "a", NULL}}},
	{{TRUNCATE, "a", NULL}, {{APPEND, "a", NULL}, {TRUNCATE, "a", NULL}, {COPY, "b", "a"}}},
	{{OPEN_TRUNC, "a", NULL}, {{APPEND, "a", NULL}, {ALLOCATE, "a", NULL}, {RENAME, "b", "a"}}},
	{{ALLOCATE, "a", NULL},
	 {{TRUNCATE, "a", NULL}, {APPEND, "a", NULL}, {ALLOCATE, "a", NULL}}},
	{{COPY, "a", "b"}, {{APPEND, "b", NULL}, {OPEN_TRUNC, "b", NULL}, {APPEND, "a", NULL}}},
	{{XATTR_SET, "b", NULL}, {{XATTR_SET, "b", NULL}, {XATTR_REMOVE, "b", NULL}}},
	{{XATTR_REMOVE, "a", NULL}, {{XATTR_REMOVE, "a", NULL}, {XATTR_SET, "a", NULL}}},
};

/* Opened in advance, for the operations on files. */
struct place {
	int dir, a, b;
};

struct outcome {
	int op, action; /* 0, or positive errno */
	char state[STATE_BYTES];
};

static struct rig *rig; /* its helpers belong to the successor */
static struct {
	unsigned runs, answered, innocent, unsure;
} tally;

/* ------------------------------------------------------------------ the world */

static void file_fill(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void place_open(const char *path, struct place *ret)
{
	ret->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret->a = openat(ret->dir, "a", O_RDWR | O_CLOEXEC);
	ret->b = openat(ret->dir, "b", O_RDWR | O_CLOEXEC);
	assert_true(ret->dir >= 0 && ret->a >= 0 && ret->b >= 0);
}

static void place_close(const struct place *p)
{
	close(p->a);
	close(p->b);
	close(p->dir);
}

static void place_new(const char *path, struct place *ret)
{
	int dir;

	folder_remove(path);
	assert_int_equal(mkdir(path, 0755), 0);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file_fill(dir, "a", "aaa");
	file_fill(dir, "b", "bbb");
	assert_int_equal(mkdirat(dir, "d", 0711), 0);
	close(dir);
	place_open(path, ret);
	assert_int_equal(fsetxattr(ret->a, "user.x", "0", 1, 0), 0);
}

/* Everything that a client can observe: names and the objects behind them. */
static void place_look(const char *path, char state[STATE_BYTES])
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	size_t len = 0;

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		char full[512], text[64] = "", x[8] = "";
		struct stat st;
		int fd;

		snprintf(full, sizeof(full), "%s/%s", path, names[i]->d_name);
		assert_int_equal(lstat(full, &st), 0);
		if (S_ISREG(st.st_mode)) {
			fd = open(full, O_RDONLY | O_CLOEXEC);
			for (ssize_t k = 0, got = read(fd, text, 63); k < got; k++)
				if (text[k] == '\0')
					text[k] = '0';
			close(fd);
			(void)!getxattr(full, "user.x", x, 7);
		} else if (S_ISLNK(st.st_mode)) {
			(void)!readlink(full, text, 63);
		}
		if (names[i]->d_name[0] != '.')
			len += (size_t)snprintf(
				state + len, STATE_BYTES - len, "%s %o n%u %u '%s' x'%s'; ",
				names[i]->d_name, st.st_mode, (unsigned)st.st_nlink,
				S_ISREG(st.st_mode) ? (unsigned)st.st_size : 0, text, x);
		free(names[i]);
	}
	free(names);
}

/* ------------------------------------------------------------------ operations by plain system
 * calls */

static int file_of(const struct place *p, const char *name)
{
	return name[0] == 'a' ? p->a : p->b;
}

static int plain_names(const struct place *p, const struct step *s, bool first)
{
	switch (s->kind) {
	case MKDIR:
		return mkdirat(p->dir, s->name, first ? 0700 : 0755);
	case RMDIR:
		return unlinkat(p->dir, s->name, AT_REMOVEDIR);
	case UNLINK:
		return unlinkat(p->dir, s->name, 0);
	case RENAME:
		return renameat(p->dir, s->name, p->dir, s->name2);
	case EXCHANGE:
		return renameat2(p->dir, s->name, p->dir, s->name2, RENAME_EXCHANGE);
	case NOREPLACE:
		return renameat2(p->dir, s->name, p->dir, s->name2, RENAME_NOREPLACE);
	case LINK: { /* of the open file, as a client's kernel does it */
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", file_of(p, s->name));
		return linkat(AT_FDCWD, path, p->dir, s->name2, AT_SYMLINK_FOLLOW);
	}
	case SYMLINK:
		return symlinkat(first ? "one" : "two", p->dir, s->name);
	case FIFO:
		return mknodat(p->dir, s->name, S_IFIFO | (first ? 0600 : 0644), 0);
	default: { /* CREATE, CREATE_EXCL */
		int fd =
			openat(p->dir, s->name,
			       O_RDWR | O_CREAT | O_CLOEXEC | (s->kind == CREATE_EXCL ? O_EXCL : 0),
			       first ? 0600 : 0644);

		if (fd >= 0)
			close(fd);
		return fd < 0 ? -1 : 0;
	}
	}
}

/* Returns 0 or positive errno. */
static int plain_do(const struct place *p, const struct step *s, bool first)
{
	loff_t from = 0, to = 1;
	struct iovec iov = {.iov_base = first ? "11" : "22", .iov_len = 2};
	long r;

	switch (s->kind) {
	case NONE:
		return 0;
	case APPEND:
		r = pwritev2(file_of(p, s->name), &iov, 1, 0, RWF_APPEND);
		break;
	case TRUNCATE:
		r = ftruncate(file_of(p, s->name), first ? 1 : 2);
		break;
	case OPEN_TRUNC:
		r = ftruncate(file_of(p, s->name), 0);
		break;
	case ALLOCATE:
		r = fallocate(file_of(p, s->name), 0, 0, first ? 8 : 9);
		break;
	case COPY:
		r = copy_file_range(file_of(p, s->name), &from, file_of(p, s->name2), &to, 2, 0);
		break;
	case XATTR_SET:
		r = fsetxattr(file_of(p, s->name), "user.x", first ? "1" : "2", 1, XATTR_CREATE);
		break;
	case XATTR_REMOVE:
		r = fremovexattr(file_of(p, s->name), "user.x");
		break;
	default:
		r = plain_names(p, s, first);
		break;
	}
	return r < 0 ? errno : 0;
}

/* ------------------------------------------------------------------ operations by a helper */

static void call_fill(struct rig *g, struct helper_call *c, const struct place *p,
		      const struct step *s)
{
	static const enum helper_op ops[] = {
		[MKDIR] = HELPER_MKDIR,	       [RMDIR] = HELPER_RMDIR,
		[CREATE] = HELPER_CREATE,      [CREATE_EXCL] = HELPER_CREATE,
		[UNLINK] = HELPER_UNLINK,      [RENAME] = HELPER_RENAME,
		[EXCHANGE] = HELPER_RENAME,    [NOREPLACE] = HELPER_RENAME,
		[LINK] = HELPER_LINK,	       [SYMLINK] = HELPER_SYMLINK,
		[FIFO] = HELPER_MKNOD,	       [APPEND] = HELPER_APPEND,
		[TRUNCATE] = HELPER_SETATTR,   [OPEN_TRUNC] = HELPER_OPEN,
		[ALLOCATE] = HELPER_FALLOCATE, [COPY] = HELPER_COPY,
		[XATTR_SET] = HELPER_SETXATTR, [XATTR_REMOVE] = HELPER_REMOVEXATTR,
	};
	bool on_file = s->kind >= APPEND;

	c->op = ops[s->kind];
	c->a.fd = on_file ? file_of(p, s->name) : p->dir;
	c->b.fd = p->dir;
	snprintf(c->name, sizeof(c->name), "%s", s->kind == LINK ? s->name2 : s->name);
	snprintf(c->name2, sizeof(c->name2), "%s", s->name2 ? s->name2 : "");
	c->mode = s->kind == MKDIR ? 0700 : s->kind == FIFO ? S_IFIFO | 0600 : 0600;
	if (s->kind == LINK || s->kind == COPY)
		c->b.fd = file_of(p, s->kind == LINK ? s->name : s->name2);
	c->oflags = O_RDWR | (s->kind == CREATE_EXCL ? O_EXCL : 0);
	c->rflags = s->kind == EXCHANGE	   ? RENAME_EXCHANGE
		    : s->kind == NOREPLACE ? RENAME_NOREPLACE
					   : 0;
	c->data = g->arena;
	c->offset2 = 1;
	c->length = s->kind == COPY ? 2 : 8;
	c->set = (struct helper_setattr){.valid = FATTR_SIZE, .size = 1};
	if (s->kind == SYMLINK)
		c->data_size = (size_t)snprintf((char *)g->arena, 8, "one");
	if (s->kind == APPEND)
		c->data_size = (size_t)snprintf((char *)g->arena, 8, "11");
	if (s->kind == XATTR_SET) {
		c->data_size = (size_t)snprintf((char *)g->arena, 8, "1");
		c->xflags = XATTR_CREATE;
	}
	if (s->kind >= XATTR_SET)
		snprintf(c->name, sizeof(c->name), "user.x");
	if (s->kind == OPEN_TRUNC) {
		c->oflags = O_RDWR | O_TRUNC;
		c->flags = HELPER_ALLOW_UNLINKED;
	}
	if (s->kind == ALLOCATE)
		c->mode = 0;
}

/* ------------------------------------------------------------------ allowed results */

static void model_run(const char *path, const struct step *first, bool first_is_op,
		      const struct step *second, struct outcome *ret)
{
	struct place p;
	int r[2];

	place_new(path, &p);
	r[0] = plain_do(&p, first, first_is_op);
	r[1] = plain_do(&p, second, !first_is_op);
	ret->op = first_is_op ? r[0] : r[1];
	ret->action = first_is_op ? r[1] : r[0];
	place_close(&p);
	place_look(path, ret->state);
}

static bool outcome_is_one_of(const struct outcome *o, const struct outcome *of, unsigned n,
			      bool unsure)
{
	for (unsigned i = 0; i < n; i++)
		if ((unsure || o->op == of[i].op) && o->action == of[i].action &&
		    strcmp(o->state, of[i].state) == 0)
			return true;
	return false;
}

static void outcome_check(const struct outcome *o, const struct step *op, const struct step *action,
			  bool helper_killed, unsigned point)
{
	static const struct step none;
	char path[128];
	struct outcome may[3];
	bool unsure = o->op == EIO && helper_killed;

	snprintf(path, sizeof(path), "%s-model", rig->dir);
	model_run(path, op, true, action, &may[0]);
	model_run(path, action, false, op, &may[1]);
	model_run(path, action, false, &none, &may[2]);
	folder_remove(path);
	if (outcome_is_one_of(o, may, unsure ? 3 : 2, unsure))
		return;
	print_message("# op %d %s, action %d %s %s, %s killed before call %u\n# it is %s, %s: %s\n",
		      op->kind, op->name, action->kind, action->name ? action->name : "",
		      action->name2 ? action->name2 : "", helper_killed ? "hand" : "worker", point,
		      strerror(o->op), strerror(o->action), o->state);
	for (unsigned i = 0; i < 3; i++)
		print_message("# may be %s, %s: %s\n", strerror(may[i].op), strerror(may[i].action),
			      may[i].state);
	fail();
}

/* ------------------------------------------------------------------ a run */

/* Runs in a child process, as the worker that the test kills. */
static void worker_run(const struct step *op, const char *path, int tell)
{
	struct rig g = *rig;
	struct helper_call *c;
	struct place p;
	pid_t pids[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	g.worker_id++;
	rig_pool_start(&g);
	place_open(path, &p);
	c = rig_call(&g, HELPER_CLOSE, -1, NULL);
	call_fill(&g, c, &p, op);
	rig_once(&g, c);
	for (unsigned i = 0; i < 2; i++)
		pids[i] = fs_helper_pid(g.helpers, i + 1);
	if (write(tell, pids, sizeof(pids)) != sizeof(pids))
		_exit(1);
	raise(SIGSTOP);
	fs_helper_submit(g.helpers, c, HELPERS_QUICK);
	if (write(tell, pids, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void process_await(pid_t pid)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

	if (p.fd < 0)
		return;
	assert_int_equal(poll(&p, 1, RIG_DEADLINE_MS), 1);
	close(p.fd);
}

/* Sends the request again, to the successor. Positive errno. */
static int op_again(const struct step *op, const struct place *p)
{
	struct journal *j = fs_helper_journal(rig->helpers, 0);
	struct journal_record *rec;
	struct helper_call *c;
	uint64_t ticket;
	int r;

	switch (journal_begin(j, rig->mount, rig->unique, FUSE_MKDIR, true, &rec, &ticket)) {
	case JOURNAL_ANSWER:
		tally.answered++;
		return -rec->result.error;
	case JOURNAL_RUN:
		break;
	default:
		fail_msg("neither an answer nor a request to execute");
	}
	c = rig_call(rig, HELPER_CLOSE, -1, NULL);
	call_fill(rig, c, p, op);
	c->record = rec;
	c->ticket = ticket;
	r = -rig_do(rig, c, NULL);
	if (rec->result.flags & HELPER_RESULT_UNKNOWN)
		tally.unsure++;
	else if (JOURNAL_STATE(ticket) == JOURNAL_SUSPECT)
		tally.innocent++;
	return r;
}

/* True: the call was over before the point; no fault was injected. */
static bool run(const struct step *op, const struct step *action, unsigned point,
		bool helper_killed)
{
	char path[128];
	struct place p;
	struct outcome o;
	int tell[2];
	pid_t worker, pids[2];
	bool over = false;
	char byte;

	snprintf(path, sizeof(path), "%s/world", rig->dir);
	place_new(path, &p);
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	worker = fork();
	if (worker == 0)
		worker_run(op, path, tell[1]);
	rig->unique++;
	close(tell[1]);
	assert_int_equal(read(tell[0], pids, sizeof(pids)), sizeof(pids));
	assert_int_equal(waitpid(worker, NULL, WUNTRACED), worker);
	assert_int_equal(helper_trace_begin(pids[0]), 0);
	kill(pids[1], SIGSTOP); /* the first helper shall execute it */
	kill(worker, SIGCONT);
	/* Otherwise the helper could run, and the record be read, before either exists. */
	assert_int_equal(read(tell[0], &byte, 1), 1);
	close(tell[0]);
	for (unsigned i = 0; i < point && !over; i++) {
		struct journal_record *rec;
		uint64_t ticket;

		over = helper_trace_next(pids[0]) == SYS_ppoll && i > 1 &&
		       journal_begin(fs_helper_journal(rig->helpers, 0), rig->mount, rig->unique,
				     FUSE_MKDIR, true, &rec, &ticket) == JOURNAL_ANSWER;
	}
	o.action = plain_do(&p, action, false);
	if (helper_killed) {
		kill(pids[0], SIGKILL);
		waitpid(pids[0], NULL, __WALL);
	}
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	if (!helper_killed)
		helper_trace_end(pids[0]);
	kill(pids[1], SIGCONT);
	process_await(pids[0]);
	process_await(pids[1]); /* it must not change anything after the successor has looked */
	o.op = op_again(op, &p);
	place_close(&p);
	place_look(path, o.state);
	outcome_check(&o, op, action, helper_killed, point);
	tally.runs++;
	return over;
}

static void test_requests_are_executed_once(void **state)
{
	bool all = getenv("PLENUM_FAULTS") && strcmp(getenv("PLENUM_FAULTS"), "all") == 0;
	unsigned turn = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(scenes); i++) {
		const struct step *op = &scenes[i].op, *actions = scenes[i].actions;
		unsigned n = 0, point;
		bool over = false;

		while (n < ARRAY_SIZE(scenes[i].actions) && actions[n].kind != NONE)
			n++;
		for (point = 1; !over && point < POINTS_MAX; point++) {
			for (unsigned k = 0; k < (all ? n : 1); k++) {
				const struct step *action = &actions[(all ? k : turn++) % n];

				over |= run(op, action, point, false);
				run(op, action, point, true);
			}
		}
		assert_true(over && point > 4);
	}
	print_message(
		"# %u deaths: %u answered from the journal, %u proven not to have run, %u EIO\n",
		tally.runs, tally.answered, tally.innocent, tally.unsure);
}

static int setup(void **state)
{
	umask(0);
	rig = rig_new();
	rig_pool_start(rig);
	return 0;
}

static int teardown(void **state)
{
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_requests_are_executed_once, setup, teardown),
	};
	int pid;

	pid = geteuid() == 0 ? fork() : -1;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	if (pid < 0 || helper_trace_begin(pid) < 0) {
		print_message("1..0 # SKIP needs root, and to trace processes\n");
		return 0;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
