/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two clients work on the same few names with operations that must run exactly once, while the test
 * kills processes between them and the file system. The program records the requests and answers of
 * each in their order; in the end a model tries all orders in which the operations can have taken
 * place, one at a time, each between its request and its answer. If no order explains all answers
 * and the final state of the folder, an operation ran twice, or not at all.
 *
 *	fsonce SECONDS SEED FOLDER-OF-CLIENT-1 FOLDER-OF-CLIENT-2 FOLDER-ON-THE-SERVER [eio]
 *
 * Appends to one more file are records with a number: each confirmed one is there once. With eio
 *the answer EIO means an unknown result; never that the operation ran twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAMES 4
#define EVENTS_MAX 400000
#define CLIENTS 2
#define WORLDS_MAX 65536U
#define PLACES (2 * WORLDS_MAX) /* of the hash table of worlds; a power of two */

enum op { MAKE, REMOVE, MOVE, MOVE_NEW, SWAP, OPS };
static const char *const op_names[OPS] = {"make", "remove", "move", "move to new", "swap"};

struct event {
	uint8_t client, op, name, name2;
	bool answer;
	int error;
	uint32_t id; /* MAKE: what the file is; never twice */
};

static struct event events[EVENTS_MAX];
static unsigned n_events;
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool stopping;
static uint32_t last_id;
static bool eio_is_allowed;
static bool unknown_ids[EVENTS_MAX];

struct client {
	int index, dir, log;
	uint64_t seed;
	unsigned n_appends;
	bool unknown[EVENTS_MAX]; /* appends with an unknown result */
};

static uint64_t pseudo_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static bool event_add(const struct event *e)
{
	bool full;

	pthread_mutex_lock(&events_lock);
	full = n_events >= EVENTS_MAX;
	if (!full)
		events[n_events++] = *e;
	pthread_mutex_unlock(&events_lock);
	return !full;
}

/* ------------------------------------------------------------------ the clients */

static int make(const struct client *c, const char *name, uint32_t id)
{
	int fd = openat(c->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", id);

	if (fd < 0)
		return errno;
	if (pwrite(fd, text, (size_t)len, 0) != len)
		fprintf(stderr, "a new file cannot be written: %s\n", strerror(errno));
	close(fd);
	return 0;
}

static int op_do(const struct client *c, const struct event *e)
{
	const char a[2] = {(char)('a' + e->name), 0}, b[2] = {(char)('a' + e->name2), 0};
	int r = 0;

	switch ((enum op)e->op) {
	case MAKE:
		return make(c, a, e->id);
	case REMOVE:
		r = unlinkat(c->dir, a, 0);
		break;
	case MOVE:
		r = renameat2(c->dir, a, c->dir, b, 0);
		break;
	case MOVE_NEW:
		r = renameat2(c->dir, a, c->dir, b, RENAME_NOREPLACE);
		break;
	default:
		r = renameat2(c->dir, a, c->dir, b, RENAME_EXCHANGE);
		break;
	}
	return r < 0 ? errno : 0;
}

static void append(struct client *c)
{
	char text[32]; /* 16 bytes, so that no record crosses a page: another test covers torn
			  records */
	int len = snprintf(text, sizeof(text), "%d %013u\n", c->index, c->n_appends + 1);

	if (write(c->log, text, (size_t)len) == len)
		c->n_appends++;
	else if (errno == EIO && eio_is_allowed)
		c->unknown[++c->n_appends] = true;
	else
		fprintf(stderr, "an append failed: %s\n", strerror(errno));
}

static void *client_run(void *arg)
{
	struct client *c = arg;
	struct event e = {.client = (uint8_t)c->index};

	while (!stopping) {
		uint64_t dice = pseudo_random(&c->seed);

		e.answer = false;
		e.op = (uint8_t)(dice % OPS);
		e.name = (uint8_t)(dice >> 8 & 3);
		e.name2 = (uint8_t)((e.name + 1 + (dice >> 16) % (NAMES - 1)) % NAMES);
		e.id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
		if (dice >> 24 & 1)
			e.op = MAKE; /* otherwise no file ever exists */
		if (!event_add(&e))
			break;
		e.error = op_do(c, &e);
		e.answer = true;
		if (!event_add(&e))
			break;
		if ((dice >> 32 & 3) == 0)
			append(c);
	}
	return NULL;
}

/* ------------------------------------------------------------------ the model */

/*
 * A possible state of the files, and which of the sent requests have been carried out.
 *
 * A client's kernel looks up the two names of a rename one after the other, and sends its request
 * with the results. So a missing or existing name need not have been so at the same moment as the
 * other; and where both show the same file, which was renamed in between, the kernel reports
 * success without a request. Any network file system behaves so.
 */
struct world {
	uint32_t names[NAMES];
	uint32_t seen[CLIENTS]; /* by the first look-up of a rename */
	int error[CLIENTS];
	bool done[CLIENTS];
	bool pad[2];
};

static struct world worlds[WORLDS_MAX];
static unsigned n_worlds;

/* The hash table of the worlds; a place of an earlier generation is free. */
static struct {
	uint32_t generation, world;
} places[PLACES];
static uint32_t generation = 1;

static void worlds_clear(void)
{
	n_worlds = 0;
	generation++;
}

static uint32_t world_hash(const struct world *w)
{
	const unsigned char *bytes = (const unsigned char *)w;
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < sizeof(*w); i++)
		hash = (hash ^ bytes[i]) * 16777619U;
	return hash ^ hash >> 15;
}

static void world_add(const struct world *w)
{
	uint32_t at = world_hash(w) % PLACES;

	while (places[at].generation == generation) {
		if (memcmp(&worlds[places[at].world], w, sizeof(*w)) == 0)
			return;
		at = (at + 1) % PLACES;
	}
	if (n_worlds == WORLDS_MAX) {
		fprintf(stderr, "too many worlds\n");
		exit(2);
	}
	places[at].generation = generation;
	places[at].world = n_worlds;
	worlds[n_worlds++] = *w;
}

static void world_done(struct world w, unsigned c, int error)
{
	w.seen[c] = 0;
	w.done[c] = true;
	w.error[c] = error;
	world_add(&w);
}

/* All possible results if the request is carried out now. */
static void world_apply(const struct world *was, const struct event *e)
{
	struct world w = *was;
	unsigned c = e->client;
	uint32_t *a = &w.names[e->name], *b = &w.names[e->name2], x = *a;

	if (e->op == MAKE) {
		if (!x)
			*a = e->id;
		world_done(w, c, x ? EEXIST : 0);
		return;
	}
	if (!x)
		world_done(w, c, ENOENT);
	if (e->op == SWAP && !*b)
		world_done(w, c, ENOENT);
	if (e->op == MOVE_NEW && *b)
		world_done(w, c, EEXIST);
	if ((e->op == MOVE || e->op == SWAP) && w.seen[c] && w.seen[c] == *b)
		world_done(w, c, 0);
	if (x && e->op != REMOVE && !w.seen[c]) {
		w.seen[c] = x;
		world_add(&w);
		w.seen[c] = 0;
	}
	if (!x || (e->op == MOVE_NEW && *b) || (e->op == SWAP && !*b))
		return;
	*a = e->op == SWAP ? *b : 0;
	if (e->op != REMOVE)
		*b = x;
	world_done(w, c, 0);
}

/* Each sent request may be carried out now. */
static void worlds_step(const struct event *const asked[CLIENTS])
{
	for (unsigned i = 0; i < n_worlds; i++)
		for (unsigned c = 0; c < CLIENTS; c++)
			if (asked[c] && !worlds[i].done[c])
				world_apply(&worlds[i], asked[c]);
}

/* Keeps the worlds that have given this answer to this client. */
static void worlds_answer(const struct event *e)
{
	const unsigned n = n_worlds;

	worlds_clear();
	for (unsigned i = 0; i < n;
	     i++) { /* at most i worlds have been added before world i is read */
		struct world w = worlds[i];
		bool unknown = e->error == EIO && eio_is_allowed;

		if (!unknown && (!w.done[e->client] || w.error[e->client] != e->error))
			continue;
		w.seen[e->client] = 0;
		w.done[e->client] = false;
		w.error[e->client] = 0;
		world_add(&w);
	}
}

static void event_print(const struct event *e)
{
	fprintf(stderr, "client %u %s %s %c %c: %s\n", e->client, e->answer ? "hears" : "asks",
		op_names[e->op], 'a' + e->name, 'a' + e->name2,
		e->answer ? strerror(e->error) : "");
}

/* A file whose creation ended with EIO exists, without its number. */
static bool end_is(const uint32_t names[NAMES], const uint32_t end[NAMES])
{
	for (unsigned i = 0; i < NAMES; i++)
		if (names[i] != end[i] &&
		    !(end[i] == UINT32_MAX && names[i] && unknown_ids[names[i] % EVENTS_MAX]))
			return false;
	return true;
}

static bool model_check(const uint32_t end[NAMES])
{
	const struct event *asked[CLIENTS] = {NULL, NULL};
	unsigned i;

	worlds_clear();
	world_add(&(const struct world){.names = {0}});
	for (i = 0; i < n_events && n_worlds > 0; i++) {
		const struct event *e = &events[i];

		if (!e->answer) {
			asked[e->client] = e;
			continue;
		}
		if (e->op == MAKE && e->error == EIO)
			unknown_ids[e->id % EVENTS_MAX] = true;
		worlds_step(asked);
		worlds_answer(e);
		asked[e->client] = NULL;
	}
	if (n_worlds == 0) {
		fprintf(stderr, "no order explains the last of these answers:\n");
		for (unsigned k = i > 16 ? i - 16 : 0; k < i; k++)
			event_print(&events[k]);
		return false;
	}
	worlds_step(asked);
	for (i = 0; i < n_worlds; i++)
		if (end_is(worlds[i].names, end))
			return true;
	fprintf(stderr, "no order explains the end: %u %u %u %u\n", end[0], end[1], end[2], end[3]);
	return false;
}

/* ------------------------------------------------------------------ the end */

static void end_look(int dir, uint32_t end[NAMES])
{
	for (unsigned i = 0; i < NAMES; i++) {
		const char name[2] = {(char)('a' + i), 0};
		char text[16] = "";
		int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

		end[i] = 0;
		if (fd < 0)
			continue;
		end[i] = read(fd, text, sizeof(text) - 1) > 0 ? (uint32_t)atoi(text) : UINT32_MAX;
		close(fd);
	}
}

/* Each client's records are there in order, complete and once. */
static bool log_check(int dir, const struct client *c)
{
	unsigned next[CLIENTS] = {1, 1}, number;
	FILE *f = fdopen(openat(dir, "log", O_RDONLY | O_CLOEXEC), "r");
	bool ok = f != NULL;
	char line[64];
	int who, end;

	while (f && ok && fgets(line, sizeof(line), f)) {
		who = CLIENTS;
		ok = sscanf(line, "%d %13u%n", &who, &number, &end) == 2 && end == 15 &&
		     line[15] == '\n' && who >= 0 && who < CLIENTS && number < EVENTS_MAX;
		while (ok && next[who] < number && c[who].unknown[next[who]])
			next[who]++;
		ok = ok && number == next[who];
		if (ok)
			next[who]++;
		else
			fprintf(stderr, "the log has: %s", line);
	}
	for (int i = 0; i < CLIENTS && ok; i++) {
		while (c[i].unknown[next[i]])
			next[i]++;
		ok = next[i] == c[i].n_appends + 1;
		if (!ok)
			fprintf(stderr, "client %d has %u confirmed appends, the file has %u\n", i,
				c[i].n_appends, next[i] - 1);
	}
	if (f)
		fclose(f);
	return ok;
}

int main(int argc, char **argv)
{
	static struct client c[CLIENTS] = {{.index = 0}, {.index = 1}};
	pthread_t threads[CLIENTS];
	uint32_t end[NAMES];
	int server;
	bool ok;

	if (argc < 6) {
		fprintf(stderr, "usage: fsonce SECONDS SEED CLIENT-1 CLIENT-2 SERVER [eio]\n");
		return 2;
	}
	eio_is_allowed = argc > 6 && strcmp(argv[6], "eio") == 0;
	server = open(argv[5], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(openat(server, "log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
	for (int i = 0; i < CLIENTS; i++) {
		c[i].seed = (strtoull(argv[2], NULL, 10) + 1) * 0x9e3779b97f4a7c15ULL + (uint64_t)i;
		c[i].dir = open(argv[3 + i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		c[i].log = openat(c[i].dir, "log", O_WRONLY | O_APPEND | O_CLOEXEC);
		if (c[i].dir < 0 || c[i].log < 0) {
			fprintf(stderr, "%s: %s\n", argv[3 + i], strerror(errno));
			return 2;
		}
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, client_run, &c[i]);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_sec = strtol(argv[1], NULL, 10)},
			NULL);
	stopping = true;
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	end_look(server, end);
	ok = model_check(end) & log_check(server, c);
	printf("%u operations, %u appends, seed %s: %s\n", n_events / 2,
	       c[0].n_appends + c[1].n_appends, argv[2], ok ? "right" : "WRONG");
	return !ok;
}
