/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random histories of two clients of one export, judged by plenum-consistency(7):
 *	fshistory MOUNT MOUNT EXPORT SEED OPERATIONS
 * Most operations come one after the other, from either mount; some come as a pair, one from each
 * at the same moment, and must have results as if one had come first. The export is also read
 * directly to see its real contents. A seed makes the same choices again, as long as the outcomes
 * are the same. Exits with 0, or with 1 and the operation that violates the model, after those
 * before it.
 */
#include "tests/e2e/fshistory.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TOLD 24 /* operations before the one that is wrong */
#define HELD_NS (200 * NSEC_PER_MSEC)
#define LOOK_EVERY 250 /* operations between looks at the whole export */
#define ORDERS_MAX 8   /* in which the parts of two operations can come */
#define DIR_EVERY 1500 /* operations between changes of directories' names */

static const char *const kind_names[OP_KIND_MAX] = {
	[OP_OPEN] = "open",	      [OP_CLOSE] = "close", [OP_READ] = "read",
	[OP_WRITE] = "write",	      [OP_FSTAT] = "fstat", [OP_FTRUNCATE] = "ftruncate",
	[OP_FSYNC] = "fsync",	      [OP_STAT] = "stat",   [OP_TRUNCATE] = "truncate",
	[OP_UNLINK] = "unlink",	      [OP_LINK] = "link",   [OP_RENAME] = "rename",
	[OP_READDIR] = "readdir",     [OP_MKDIR] = "mkdir", [OP_RMDIR] = "rmdir",
	[OP_RENAMEDIR] = "renamedir",
};

static struct model model, orders[ORDERS_MAX]; /* too large for a stack */
static int roots[CLIENTS], export_root, fds[CLIENTS][SLOTS];
static uint64_t random_state;
static unsigned op_number;
static char told[TOLD][200];

static uint32_t rnd(uint32_t below)
{
	random_state ^= random_state << 13; /* xorshift64 */
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 16) % below);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static const char *path_text(const struct path *p, char *buf, size_t size)
{
	if (p->dir == NOTHING)
		snprintf(buf, size, "n%u", p->name);
	else
		snprintf(buf, size, "d%d/n%u", p->dir, p->name);
	return buf;
}

static const char *dir_text(int dir, char *buf, size_t size)
{
	if (dir == NOTHING)
		snprintf(buf, size, ".");
	else
		snprintf(buf, size, "d%d", dir);
	return buf;
}

static void remember(const struct op *op, const struct outcome *o)
{
	char a[24], b[24];
	bool dirs = op->kind >= OP_READDIR;

	snprintf(
		told[op->number % TOLD], sizeof(told[0]),
		"%u: %c %s %s %s slot %u flags %#x off %u len %u = %ld (ino %llu, size %llu, links "
		"%llu)",
		op->number, 'A' + (int)op->client, kind_names[op->kind],
		dirs ? dir_text(op->a.dir, a, sizeof(a)) : path_text(&op->a, a, sizeof(a)),
		dirs ? dir_text(op->b.dir, b, sizeof(b)) : path_text(&op->b, b, sizeof(b)),
		op->slot, op->flags, op->off, op->len, o->r, (unsigned long long)o->ino,
		(unsigned long long)o->size, (unsigned long long)o->nlink);
}

static void wrong(const char *what, long want)
{
	for (unsigned i = op_number + 1 > TOLD ? op_number + 1 - TOLD : 1; i <= op_number; i++)
		printf("%s\n", told[i % TOLD]);
	printf("operation %u: %s: should have been %ld\n", op_number, what, want);
	exit(1);
}

/* ------------------------------------------------------------------ doing */

static long result(long r)
{
	return r < 0 ? -errno : r;
}

static void take_stat(struct outcome *o, const struct stat *st)
{
	o->ino = st->st_ino;
	o->size = (uint64_t)st->st_size;
	o->nlink = st->st_nlink;
}

static void run_open(const struct op *op, struct outcome *o, const char *a)
{
	int fd = openat(roots[op->client], a, op->flags | O_CLOEXEC | O_NOFOLLOW, 0644);
	struct stat st;

	o->r = fd < 0 ? -errno : 0;
	if (fd < 0)
		return;
	fds[op->client][op->slot] = fd;
	if (fstat(fd, &st) < 0)
		o->r = -errno;
	else
		take_stat(o, &st);
}

static void run_readdir(const struct op *op, struct outcome *o)
{
	char name[24];
	int fd = openat(roots[op->client], dir_text(op->a.dir, name, sizeof(name)),
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	o->r = d ? 0 : -errno;
	while (d && (e = readdir(d))) {
		unsigned i = (unsigned)(e->d_name[1] - '0');

		if (e->d_name[0] == 'n')
			o->names |= 1U << i;
		else if (e->d_name[0] == 'd')
			o->names |= 1U << (NAMES + i);
	}
	if (d)
		closedir(d);
}

/* With write-back, writes in small pieces, so that the client holds some of them. */
static long write_data(const struct op *op, int fd, const uint8_t *data)
{
	/* The model knows in which parts the kernel sends a write, but not these pieces. So nothing
	 * else happens meanwhile. */
	bool whole = !getenv("FS_WRITE_BACK") || fcntl(fd, F_GETFL) & O_APPEND || op->is_in_pair;
	uint32_t most = whole ? op->len : 1 + op->len / 8, done = 0;

	while (done < op->len) {
		ssize_t n = pwrite(fd, data + done, MIN_OF(most, op->len - done), op->off + done);

		if (n <= 0)
			return n < 0 ? -errno : (long)done;
		done += (uint32_t)n;
	}
	return (long)done;
}

static void run_file(const struct op *op, struct outcome *o)
{
	int fd = fds[op->client][op->slot];
	unsigned char data[IO_BYTES];
	struct stat st;

	switch (op->kind) {
	case OP_CLOSE:
		o->r = result(close(fd));
		fds[op->client][op->slot] = -1;
		break;
	case OP_READ:
		o->r = result(pread(fd, o->data, op->len, op->off));
		break;
	case OP_WRITE:
		model_data(op, data);
		o->r = write_data(op, fd, data);
		break;
	case OP_FTRUNCATE:
		o->r = result(ftruncate(fd, op->len));
		break;
	case OP_FSYNC:
		o->r = result(fsync(fd));
		break;
	default:
		o->r = result(fstat(fd, &st));
		take_stat(o, &st);
		break;
	}
}

static int truncate_at(int root, const char *name, off_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", root, name);
	return truncate(path, size);
}

static void run_name(const struct op *op, struct outcome *o)
{
	int root = roots[op->client];
	bool dirs = op->kind >= OP_MKDIR;
	char a[24], b[24];
	struct stat st = {0};

	(void)(dirs ? dir_text(op->a.dir, a, sizeof(a)) : path_text(&op->a, a, sizeof(a)));
	(void)(dirs ? dir_text(op->b.dir, b, sizeof(b)) : path_text(&op->b, b, sizeof(b)));
	if (op->kind == OP_OPEN)
		run_open(op, o, a);
	else if (op->kind == OP_STAT)
		o->r = result(fstatat(root, a, &st, AT_SYMLINK_NOFOLLOW));
	else if (op->kind == OP_TRUNCATE)
		o->r = result(truncate_at(root, a, op->len));
	else if (op->kind == OP_LINK)
		o->r = result(linkat(root, a, root, b, 0));
	else if (op->kind == OP_MKDIR)
		o->r = result(mkdirat(root, a, 0755));
	else if (op->kind == OP_RENAME || op->kind == OP_RENAMEDIR)
		o->r = result(renameat2(root, a, root, b, (unsigned)op->flags));
	else
		o->r = result(unlinkat(root, a, op->kind == OP_RMDIR ? AT_REMOVEDIR : 0));
	if (op->kind == OP_STAT)
		take_stat(o, &st);
}

static void run(const struct op *op, struct outcome *o)
{
	*o = (struct outcome){.begun_ns = now_ns()};
	if (op->kind == OP_READDIR)
		run_readdir(op, o);
	else if (op->kind == OP_OPEN || op->kind >= OP_STAT)
		run_name(op, o);
	else
		run_file(op, o);
	o->ended_ns = now_ns();
}

/* ------------------------------------------------------------------ the export's contents */

/* One name against the model; the inode's number is learnt. */
static const char *look_name_now(struct model *m, const struct path *p)
{
	int inode = model_find(m, p), fd;
	const struct content *c;
	unsigned char data[65536];
	struct inode *n;
	struct stat st;
	char name[24];

	if (fstatat(export_root, path_text(p, name, sizeof(name)), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return inode == NOTHING ? NULL : "a name that is not there";
	if (inode == NOTHING)
		return "a name that should not be there";
	n = &m->inodes[inode];
	c = model_content(m, inode);
	if (n->ino == 0)
		n->ino = st.st_ino;
	if (n->ino != st.st_ino)
		return "a name of another file";
	if (n->nlink != st.st_nlink)
		return "the number of links";
	if (c->size != st.st_size)
		return "the size of a file";
	fd = openat(export_root, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return "opening";
	st.st_size = pread(fd, data, sizeof(data), 0);
	close(fd);
	return st.st_size == c->size && memcmp(data, c->data, c->size) == 0
		       ? NULL
		       : "the content of a file";
}

/* With write-back, programs on the server see a write some milliseconds later. */
static const char *look_name(struct model *m, const struct path *p)
{
	uint64_t until_ns = now_ns() + (getenv("FS_WRITE_BACK") ? HELD_NS : 0);
	const char *what;

	do
		what = look_name_now(m, p);
	while (what && now_ns() < until_ns);
	return what;
}

static const char *look_dir(struct model *m, int dir)
{
	if (dir != NOTHING && m->dirs[dir] == NOTHING)
		return NULL;
	for (unsigned i = 0; i < NAMES; i++) {
		const char *what = look_name(m, &(struct path){dir, i});

		if (what)
			return what;
	}
	return NULL;
}

static const char *look(struct model *m)
{
	const char *what = look_dir(m, NOTHING);

	for (int dir = 0; !what && dir < (int)DIRS; dir++) {
		char name[24];
		bool there =
			faccessat(export_root, dir_text(dir, name, sizeof(name)), F_OK, 0) == 0;

		what = there == (m->dirs[dir] != NOTHING) ? look_dir(m, dir)
							  : "the name of a directory";
	}
	return what;
}

/* ------------------------------------------------------------------ choosing */

static struct path random_path(void)
{
	/* Few names, so that both clients often use the same. */
	return (struct path){rnd(3) == 0 ? (int)rnd(DIRS) : NOTHING, rnd(NAMES)};
}

static void choose_open(struct op *op)
{
	static const int flags[] = {
		O_RDWR,
		O_RDWR,
		O_RDWR | O_CREAT,
		O_RDWR | O_CREAT,
		O_RDONLY,
		O_RDWR | O_CREAT | O_EXCL,
		O_RDWR | O_APPEND,
		O_RDWR | O_CREAT | O_APPEND,
		O_RDWR | O_TRUNC,
		O_RDWR | O_CREAT | O_TRUNC,
	};

	op->kind = OP_OPEN;
	op->flags = flags[rnd(ARRAY_SIZE(flags))];
}

static void choose_file(struct op *op, const struct slot *s, bool pair)
{
	static const enum op_kind kinds[] = {
		OP_READ,  OP_READ,	OP_READ,  OP_WRITE,	OP_WRITE, OP_WRITE, OP_FSTAT,
		OP_CLOSE, OP_FTRUNCATE, OP_CLOSE, OP_FTRUNCATE, OP_FSYNC, OP_READ};

	op->kind = s->lost ? OP_CLOSE : pair ? OP_WRITE : kinds[rnd(ARRAY_SIZE(kinds))];
	op->off = op->kind == OP_READ ? rnd(4) * 3000 : rnd(9000);
	op->len = op->kind == OP_READ ? IO_BYTES : 1 + rnd(3000);
	if (op->kind == OP_FTRUNCATE)
		op->len = rnd(10000);
	/* Files stay small enough to keep many of their versions. */
	if (op->kind == OP_WRITE && model_content(&model, s->inode)->size > FILE_BIG) {
		op->kind = OP_FTRUNCATE;
		op->len = 0;
	}
}

/* Slots that were opened for reading take no writes. */
static bool is_for_reading(const struct op *op)
{
	return (fcntl(fds[op->client][op->slot], F_GETFL) & O_ACCMODE) == O_RDONLY;
}

static void choose_name(struct op *op, bool pair)
{
	static const enum op_kind kinds[] = {OP_UNLINK,	  OP_LINK, OP_RENAME, OP_RENAME,
					     OP_TRUNCATE, OP_STAT, OP_STAT,   OP_READDIR};
	static const int renames[] = {0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE};

	op->kind = kinds[rnd(pair ? 5 : ARRAY_SIZE(kinds))];
	op->b = random_path();
	if (op->kind == OP_RENAME)
		op->flags = renames[rnd(ARRAY_SIZE(renames))];
	if (op->kind == OP_TRUNCATE)
		op->len = rnd(10000);
}

static void choose(struct op *op, unsigned client, bool pair)
{
	const struct slot *s;

	*op = (struct op){.client = client, .number = ++op_number, .a = random_path()};
	op->slot = rnd(SLOTS);
	s = &model.slots[client][op->slot];
	if (s->inode == NOTHING && rnd(3) != 0) {
		choose_open(op);
	} else if (s->inode != NOTHING && rnd(3) != 0) {
		choose_file(op, s, pair);
		if ((op->kind == OP_WRITE || op->kind == OP_FTRUNCATE) && is_for_reading(op))
			op->kind = OP_CLOSE;
	} else {
		choose_name(op, pair);
	}
}

static void choose_dir(struct op *op)
{
	static const enum op_kind kinds[] = {OP_MKDIR, OP_MKDIR, OP_RMDIR, OP_RENAMEDIR};

	*op = (struct op){.client = rnd(CLIENTS),
			  .number = ++op_number,
			  .kind = kinds[rnd(ARRAY_SIZE(kinds))],
			  .a.dir = (int)rnd(DIRS),
			  .b.dir = (int)rnd(DIRS)};
}

/* ------------------------------------------------------------------ histories */

static void one(const struct op *op)
{
	static struct outcome o;
	const char *what;
	long want;

	run(op, &o);
	remember(op, &o);
	what = model_step(&model, op, &o, &want);
	if (what)
		wrong(what, want);
}

/* A directory's name may be a second old at the other client: wait until it is not. */
static void dir_op(void)
{
	uint64_t until_ns;
	struct timespec until;
	struct op op;

	choose_dir(&op);
	one(&op);
	until_ns = now_ns() + ATTR_AGE_NS;
	until = (struct timespec){(time_t)(until_ns / NSEC_PER_SEC),
				  (long)(until_ns % NSEC_PER_SEC)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static struct op pair_ops[2];
static struct outcome pair_outcomes[2];
static pthread_barrier_t pair_begins, pair_ends;

static void *second(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&pair_begins);
		run(&pair_ops[1], &pair_outcomes[1]);
		pthread_barrier_wait(&pair_ends);
	}
	return arg;
}

/* The parts that the client's kernel makes of one operation: a write without O_APPEND comes in
 * two parts where it crosses a page. */
static unsigned parts_of(const struct op *op, const struct outcome *o, struct op parts[2],
			 struct outcome outcomes[2])
{
	const struct slot *s = &model.slots[op->client][op->slot];
	uint32_t first = PAGE - op->off % PAGE;

	parts[0] = *op;
	outcomes[0] = *o;
	if (op->kind != OP_WRITE || s->append || first >= op->len || o->r != (long)op->len)
		return 1;
	parts[0].len = first;
	outcomes[0].r = (long)first;
	parts[1] = *op;
	parts[1].off += first;
	parts[1].len -= first;
	parts[1].skip = first;
	outcomes[1] = *o;
	outcomes[1].r -= (long)first;
	return 2;
}

/* The parts come in this order: bit i of `order` says which operation the i-th belongs to. */
static const char *in_order(struct model *m, unsigned order, struct op parts[2][2],
			    struct outcome outcomes[2][2], unsigned n, long *ret)
{
	unsigned next[2] = {0, 0};
	const char *what = NULL;

	model_copy(m, &model);
	m->pair_seq = m->seq;
	for (unsigned i = 0; i < n && !what; i++) {
		unsigned who = order >> i & 1;

		what = model_step(m, &parts[who][next[who]], &outcomes[who][next[who]], ret);
		next[who]++;
	}
	m->pair_seq = 0;
	return what ? what : look(m);
}

/* Names were looked up before and after the other operation: the possible results of that. */
static bool looked_apart(struct model *m, const struct op *op, long r, const int a[2],
			 const int b[2])
{
	bool a_gone = a[0] == NOTHING || a[1] == NOTHING;
	bool b_gone = b[0] == NOTHING || b[1] == NOTHING;
	bool a_there = a[0] != NOTHING || a[1] != NOTHING;
	bool b_there = b[0] != NOTHING || b[1] != NOTHING;

	if (r == -EEXIST)
		return a_there && b_there;
	if (r == -ENOENT)
		return a_gone || b_gone;
	if (r != 0)
		return false;
	if (op->kind == OP_RENAME) /* both seen as names of one file: nothing to do */
		return (a[0] != NOTHING && a[0] == b[1]) || (a[1] != NOTHING && a[1] == b[0]);
	return a[0] != NOTHING && model_link(m, a[0], &op->b);
}

/* An operation on two names that fails, or finds both to be one file, has looked up each at a
 * different moment; link(2) has found its file before it makes the name. */
static const char *with_moments(struct model *m, unsigned apart)
{
	const struct op *op = &pair_ops[apart];
	const char *what;
	int a[2], b[2];
	long want;

	model_copy(m, &model);
	a[0] = model_find(m, &op->a);
	b[0] = model_find(m, &op->b);
	m->pair_seq = m->seq;
	what = model_step(m, &pair_ops[!apart], &pair_outcomes[!apart], &want);
	m->pair_seq = 0;
	a[1] = model_find(m, &op->a);
	b[1] = model_find(m, &op->b);
	if (!what && !looked_apart(m, op, pair_outcomes[apart].r, a, b))
		what = "result";
	return what ? what : look(m);
}

static bool is_of_two_names(const struct op *op)
{
	return op->kind == OP_LINK || op->kind == OP_RENAME;
}

/* Both orders explain the results. They differ at most in intermediate states, and in files
 * without a name, which the export does not show. */
static void accept_both(struct model *m, const struct model *other)
{
	for (unsigned c = 0; c < CLIENTS; c++)
		for (unsigned i = 0; i < SLOTS; i++) {
			struct slot *a = &m->slots[c][i];
			const struct slot *b = &other->slots[c][i];

			if (a->inode == NOTHING || b->inode == NOTHING)
				continue;
			if (content_is(model_content(m, a->inode), model_content(other, b->inode)))
				model_add_moments(m, a->inode, other, b->inode);
			else
				a->lost = true;
		}
}

/* Tries all orders; those that explain the results stay in `orders`. Returns their number. */
static unsigned explain(const char **ret_what, long *ret_want)
{
	static struct outcome outcomes[2][2];
	struct op parts[2][2];
	unsigned n[2], n_good = 0;
	const char *what;
	long want = 0;

	for (unsigned i = 0; i < 2; i++)
		n[i] = parts_of(&pair_ops[i], &pair_outcomes[i], parts[i], outcomes[i]);
	for (unsigned order = 0; order < 1U << (n[0] + n[1]); order++) {
		if ((unsigned)__builtin_popcount(order) != n[1])
			continue;
		what = in_order(&orders[n_good], order, parts, outcomes, n[0] + n[1], &want);
		if (!what) {
			n_good++;
			continue;
		}
		model_done(&orders[n_good]);
		*ret_what = what;
		*ret_want = want;
	}
	for (unsigned i = 0; i < 2 && n_good == 0; i++) {
		if (!is_of_two_names(&pair_ops[i]))
			continue;
		if (!with_moments(&orders[n_good], i))
			n_good++;
		else
			model_done(&orders[n_good]);
	}
	return n_good;
}

static void two(void)
{
	const char *what = NULL;
	long want = 0;
	unsigned n;

	for (unsigned i = 0; i < 2; i++)
		choose(&pair_ops[i], i, true);
	pair_ops[0].is_in_pair = pair_ops[1].is_in_pair = true;
	pthread_barrier_wait(&pair_begins);
	run(&pair_ops[0], &pair_outcomes[0]);
	pthread_barrier_wait(&pair_ends);
	/* Either may have been answered before the other's change, and have received the answer
	 * after it. */
	pair_outcomes[0].ended_ns = pair_outcomes[1].ended_ns =
		MAX_OF(pair_outcomes[0].ended_ns, pair_outcomes[1].ended_ns);
	for (unsigned i = 0; i < 2; i++)
		remember(&pair_ops[i], &pair_outcomes[i]);
	n = explain(&what, &want);
	if (n == 0) {
		printf("the last two came at the same moment, and no order explains them\n");
		wrong(what, want);
	}
	model_done(&model);
	model = orders[0];
	for (unsigned i = 1; i < n; i++) {
		accept_both(&model, &orders[i]);
		model_done(&orders[i]);
	}
}

static void prepare(char **argv)
{
	pthread_t thread;

	for (unsigned i = 0; i < 3; i++) {
		int fd = open(argv[1 + i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0) {
			perror(argv[1 + i]);
			exit(1);
		}
		if (i < CLIENTS)
			roots[i] = fd;
		else
			export_root = fd;
	}
	random_state = strtoull(argv[4], NULL, 0) * 2654435769U + 88172645463325252ULL;
	model_init(&model);
	if (pthread_barrier_init(&pair_begins, NULL, 2) != 0 ||
	    pthread_barrier_init(&pair_ends, NULL, 2) != 0 ||
	    pthread_create(&thread, NULL, second, NULL) != 0) {
		fputs("fshistory: no second thread\n", stderr);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	unsigned n_ops, looked = 0, dirs_at = 0;
	struct op op;

	if (argc != 6) {
		fputs("usage: fshistory MOUNT MOUNT EXPORT SEED OPERATIONS\n", stderr);
		return 64;
	}
	prepare(argv);
	n_ops = (unsigned)strtoul(argv[5], NULL, 0);
	while (op_number < n_ops) {
		if (op_number >= dirs_at) {
			dir_op();
			dirs_at += DIR_EVERY;
		} else if (rnd(4) == 0) {
			two();
		} else {
			choose(&op, rnd(CLIENTS), false);
			one(&op);
		}
		if (op_number - looked >= LOOK_EVERY) {
			const char *what = look(&model);

			looked = op_number;
			if (what)
				wrong(what, 0);
		}
	}
	printf("%u operations of two clients, all as promised\n", op_number);
	return 0;
}
