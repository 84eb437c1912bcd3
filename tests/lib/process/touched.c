/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements touched.h: watched pages are inaccessible until the first access, which traps. */
#include "tests/lib/process/touched.h"
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096U
#define WATCHED_MAX 16384U

static struct watched {
	uintptr_t at;
	size_t bytes;
} watched[WATCHED_MAX];
static unsigned n_watched;
static volatile unsigned n_touched;
static struct sigaction before;

static void allow(uintptr_t at, size_t bytes)
{
	if (mprotect((void *)at, bytes, PROT_READ | PROT_WRITE) < 0)
		abort();
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);

	for (unsigned i = 0; i < n_watched; i++)
		if (at - watched[i].at < watched[i].bytes) {
			n_touched++;
			allow(at, PAGE);
			return;
		}
	/* The fault is not at a watched page: without this handler it occurs again and ends the
	 * program. */
	sigaction(sig, &before, NULL);
}

void touched_watch(const void *at, size_t bytes)
{
	const struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	uintptr_t from = (uintptr_t)at & ~(uintptr_t)(PAGE - 1);
	struct watched *w = &watched[n_watched];

	if (n_watched == WATCHED_MAX)
		abort();
	if (n_watched++ == 0) {
		n_touched = 0;
		sigaction(SIGSEGV, &fault, &before);
	}
	w->at = from;
	w->bytes = ((uintptr_t)at + bytes - from + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (mprotect((void *)from, w->bytes, PROT_NONE) < 0)
		abort();
}

unsigned touched_end(void)
{
	for (unsigned i = 0; i < n_watched; i++)
		allow(watched[i].at, watched[i].bytes);
	if (n_watched > 0)
		sigaction(SIGSEGV, &before, NULL);
	n_watched = 0;
	return n_touched;
}
