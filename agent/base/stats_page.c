/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a worker's statistics page and its list of sessions under their seqlocks. The texts come
 * from the worker and from other hosts, so this file replaces unprintable characters. */
#include "agent/base/stats_page.h"
#include "netcfg/base/text.h"
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define TRIES 8

/* Readers copy from the page between read_begin() and read_again(), and repeat the copy while
 * read_again() returns true: the worker makes `seq` odd in worker_stats_publish() before it changes
 * the page, and even afterwards. */
static uint64_t read_begin(const struct launch_stats *page)
{
	return __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE);
}

/* Returns whether to copy again. After several tries it returns false even if the worker is still
 * changing the page, because a worker that was stopped during a change does not end it. */
static bool read_again(const struct launch_stats *page, uint64_t before, int *tries)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if ((!(before & 1) && before == __atomic_load_n(&page->seq, __ATOMIC_RELAXED)) ||
	    ++*tries == TRIES)
		return false;
	(void)sched_yield(); /* the worker may wait for this processor */
	return true;
}

void stats_page_text(const struct launch_stats *page, const char *text, char *buf, size_t size)
{
	uint64_t before;
	int tries = 0;

	do {
		before = read_begin(page);
		snprintf(buf, size, "%.*s", (int)size - 1, text);
	} while (read_again(page, before, &tries));
	text_clean(buf);
}

static void end_texts(struct launch_path_stats *s)
{
	s->local[sizeof(s->local) - 1] = '\0';
	s->remote[sizeof(s->remote) - 1] = '\0';
	s->leg[sizeof(s->leg) - 1] = '\0';
	s->peer[sizeof(s->peer) - 1] = '\0';
	s->slow_than[sizeof(s->slow_than) - 1] = '\0';
	text_clean(s->local);
	text_clean(s->remote);
	text_clean(s->leg);
	text_clean(s->peer);
	text_clean(s->slow_than);
}

size_t stats_page_paths(const struct launch_stats *page,
			struct launch_path_stats ret[LAUNCH_PATHS_MAX])
{
	uint64_t n, before;
	int tries = 0;

	do {
		before = read_begin(page);
		n = MIN_OF(launch_stat_get(&page->n_paths), (uint64_t)LAUNCH_PATHS_MAX);
		memcpy(ret, page->paths, n * sizeof(*ret));
	} while (read_again(page, before, &tries));
	for (uint64_t i = 0; i < n; i++)
		end_texts(&ret[i]);
	return n;
}

size_t stats_page_clients(const struct launch_stats *page,
			  struct launch_client_stats ret[LAUNCH_CLIENT_STATS_MAX],
			  uint64_t *ret_omitted)
{
	uint64_t all, before;
	size_t n;
	int tries = 0;

	do {
		before = read_begin(page);
		all = launch_stat_get(&page->n_clients);
		n = MIN_OF(all, (uint64_t)LAUNCH_CLIENT_STATS_MAX);
		memcpy(ret, page->clients, n * sizeof(*ret));
	} while (read_again(page, before, &tries));
	for (size_t i = 0; i < n; i++) {
		ret[i].host[sizeof(ret[i].host) - 1] = '\0';
		text_clean(ret[i].host);
	}
	*ret_omitted = all - n;
	return n;
}

bool stats_page_has_sessions(const struct launch_watch *page)
{
	return page && page->magic == LAUNCH_WATCH_MAGIC && page->version == LAUNCH_WATCH_VERSION &&
	       page->size == sizeof(*page);
}

static bool ip_is_valid(const struct ip_addr *ip)
{
	return ip->family == AF_INET || ip->family == AF_INET6;
}

static bool session_is_valid(const struct launch_session *s)
{
	bool ok = s->looked_ns && s->state < LAUNCH_SESSION_STATE_MAX &&
		  s->n_paths <= LAUNCH_SESSION_PATHS_MAX;

	for (uint32_t i = 0; ok && i < s->n_paths; i++)
		ok = s->paths[i].state < LAUNCH_PATH_STATE_MAX && ip_is_valid(&s->paths[i].local) &&
		     ip_is_valid(&s->paths[i].remote);
	return ok;
}

bool stats_page_session(const struct launch_watch *page, size_t i, struct launch_session *ret)
{
	const struct launch_session *from = &page->sessions[i];
	bool whole = false;

	for (int tries = 0; tries < 8 && !whole; tries++) {
		uint64_t before = __atomic_load_n(&from->seq, __ATOMIC_ACQUIRE);

		*ret = *from;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* The worker makes `seq` odd, in worker_sessions.c, before it changes the entry. */
		whole = !(before & 1) && before == __atomic_load_n(&from->seq, __ATOMIC_RELAXED);
	}
	if (!whole || !session_is_valid(ret))
		return false;
	ret->peer[sizeof(ret->peer) - 1] = '\0';
	text_clean(ret->peer);
	return true;
}

size_t stats_page_refused(const struct launch_stats *page,
			  struct launch_refused_client ret[LAUNCH_REFUSED_MAX])
{
	uint64_t before;
	size_t n;
	int tries = 0;

	do {
		before = read_begin(page);
		n = MIN_OF(launch_stat_get(&page->n_refused), (uint64_t)LAUNCH_REFUSED_MAX);
		memcpy(ret, page->refused, n * sizeof(*ret));
	} while (read_again(page, before, &tries));
	for (size_t i = 0; i < n; i++) {
		ret[i].host[sizeof(ret[i].host) - 1] = '\0';
		ret[i].export_name[sizeof(ret[i].export_name) - 1] = '\0';
		ret[i].reason[sizeof(ret[i].reason) - 1] = '\0';
		text_clean(ret[i].host);
		text_clean(ret[i].export_name);
		text_clean(ret[i].reason);
	}
	return n;
}

bool stats_page_refusal(const struct launch_stats *page, uint32_t i, const struct ip_addr *to,
			uint64_t age_ns, struct launch_refusal *ret)
{
	uint64_t now = clock_now_ns();

	for (unsigned k = 0; i < LAUNCH_PORTS_MAX && k < LAUNCH_REFUSALS_MAX; k++) {
		*ret = page->ports[i].refusals[k];
		if (ret->to.family == to->family && memcmp(&ret->to, to, sizeof(*to)) == 0 &&
		    now < ret->at_ns + age_ns)
			return true;
	}
	return false;
}
