/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target without libFuzzer: `fuzz_x [ROUNDS [SEED]]`. Every file of corpus/x first,
 * then ROUNDS mutations of them by a seeded generator, so that a failure is reproducible. A crash
 * or a sanitizer report ends the process; the input is left in fuzz_x.crash. Prints TAP.
 */
#include "netcfg/base/base.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define INPUT_MAX (256U << 10)
#define INPUTS_MAX 256
#define ROUNDS_DEFAULT 2000

struct input {
	uint8_t *data;
	size_t size;
	char name[64];
};

static uint64_t rng_state;
static char crash_path[256];
static const struct input *current;

static uint64_t rng_next(void)
{
	/* xorshift64*: enough to choose places and bytes */
	rng_state ^= rng_state >> 12;
	rng_state ^= rng_state << 25;
	rng_state ^= rng_state >> 27;
	return rng_state * UINT64_C(2685821657736338717);
}

static size_t rng_below(size_t n)
{
	return n ? (size_t)(rng_next() % n) : 0;
}

/* Remembers the current input, so that a crash leaves it. */
static void run_one(const struct input *in)
{
	current = in;
	LLVMFuzzerTestOneInput(in->data, in->size);
	current = NULL;
}

/* Called when a sanitizer or abort() ends the process. */
static void save_current(void)
{
	int fd;

	if (!current)
		return;
	fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, current->data, current->size) < 0)
		perror(crash_path);
}

static void on_abort(int signum)
{
	save_current();
	signal(signum, SIG_DFL);
	raise(signum);
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static int load_input(const char *dir, const char *name, struct input *ret)
{
	autofree char *path = NULL;
	autofree uint8_t *data = malloc(INPUT_MAX);
	FILE *f;

	if (!data || asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	ret->size = fread(data, 1, INPUT_MAX, f);
	fclose(f);
	snprintf(ret->name, sizeof(ret->name), "%.63s", name);
	ret->data = ptr_take(data);
	return 0;
}

static int is_input(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int load_corpus(const char *dir, struct input *inputs)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, is_input, alphasort), n_loaded = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (n_loaded < INPUTS_MAX &&
		    load_input(dir, entries[i]->d_name, &inputs[n_loaded]) == 0)
			n_loaded++;
		free(entries[i]);
	}
	free(entries);
	return n_loaded;
}

/* One random change: flip, overwrite, delete, double or import a piece of another input. */
static void mutate_once(struct input *in, const struct input *inputs, size_t n)
{
	static const char sharp[] = "\0\xff\n\t :-[]{}'\"&*!#%@|>,?0";
	const struct input *other = &inputs[rng_below(n)];
	size_t at = rng_below(in->size + 1), len = 1 + rng_below(rng_below(4) ? 4 : 64);
	size_t from = rng_below(other->size);

	switch (rng_below(5)) {
	case 0:
		if (at < in->size)
			in->data[at] ^= (uint8_t)(1U << rng_below(8));
		break;
	case 1:
		if (at < in->size)
			in->data[at] = (uint8_t)sharp[rng_below(sizeof(sharp) - 1)];
		break;
	case 2:
		len = MIN_OF(len, in->size - at);
		memmove(in->data + at, in->data + at + len, in->size - at - len);
		in->size -= len;
		break;
	case 3:
		in->size = rng_below(8) ? in->size : at; /* a cut is rarer: it loses the most */
		break;
	default:
		len = MIN_OF(len * 4, other->size - from);
		if (in->size + len > INPUT_MAX)
			break;
		memmove(in->data + at + len, in->data + at, in->size - at);
		memcpy(in->data + at, other->data + from, len);
		in->size += len;
	}
}

static int run_mutations(const struct input *inputs, size_t n, unsigned long rounds)
{
	struct input in = {.data = malloc(INPUT_MAX)};

	if (!in.data)
		return -ENOMEM;
	for (unsigned long i = 0; i < rounds; i++) {
		const struct input *base = &inputs[rng_below(n)];
		size_t n_changes = 1 + rng_below(6);

		memcpy(in.data, base->data, base->size);
		in.size = base->size;
		for (size_t c = 0; c < n_changes; c++)
			mutate_once(&in, inputs, n);
		run_one(&in);
	}
	free(in.data);
	return 0;
}

static void run_corpus(const struct input *inputs, size_t n)
{
	unsigned n_wrong = 0;

	for (size_t i = 0; i < n; i++) {
		bool refused = strncmp(inputs[i].name, "refused", strlen("refused")) == 0;

		run_one(&inputs[i]);
		if (!fuzz_input_taken || fuzz_input_taken() == !refused)
			continue;
		printf("# %s is %s\n", inputs[i].name, refused ? "taken" : "refused at the door");
		n_wrong++;
	}
	printf("%sok 1 - the corpus runs, and its inputs are taken as their names say\n",
	       n_wrong ? "not " : "");
	fflush(stdout);
}

/* tests/fuzz/corpus/x for the program fuzz_x, or fuzz_x.libfuzzer. */
static const char *corpus_dir(const char *program, char *buf, size_t size)
{
	const char *name = strrchr(program, '/');
	const char *target;

	name = name ? name + 1 : program;
	target = strstr(name, "fuzz_");
	snprintf(buf, size, "%s/tests/fuzz/corpus/%s", TOP_SRCDIR, target ? target + 5 : name);
	return buf;
}

int main(int argc, char **argv)
{
	static struct input inputs[INPUTS_MAX];
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS_DEFAULT;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	char dir[512];
	int n = load_corpus(corpus_dir(argv[0], dir, sizeof(dir)), inputs);

	if (n <= 0) {
		printf("Bail out! no inputs in %s\n", dir);
		return 1;
	}
	snprintf(crash_path, sizeof(crash_path), "%.200s.crash", argv[0]);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(save_current);
	signal(SIGABRT, on_abort);
	rng_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	printf("1..2\n# %d inputs, %lu mutations, seed %lu\n", n, rounds, seed);
	fflush(stdout);
	run_corpus(inputs, (size_t)n);
	if (run_mutations(inputs, (size_t)n, rounds) < 0)
		return 1;
	printf("ok 2 - its mutations run\n");
	for (int i = 0; i < n; i++)
		free(inputs[i].data);
	return 0;
}
