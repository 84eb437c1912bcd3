/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a random part of the records of links at regular intervals. */
#include "agent/cluster/view/links_members.h"
#include "agent/cluster/store/member.h"
#include "agent/cluster/view/links_rows.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct links_members {
	struct links_members_setup setup;
	char cluster[PLENUM_NAME_MAX], host[PLENUM_NAME_MAX];
	struct loop_source *timer;
	char first[KV_KEY_MAX]; /* the key at which the current round has begun */
	json_t *list;		/* hosts read in this round; NULL: no round is active */
	bool wrapped;		/* the round has reached the last key, and continues at the first */
	char *told;
	size_t n_hosts; /* hosts whose records this round has read, including hosts that answer no
			   probes */
};

static void arm(struct links_members *m)
{
	(void)loop_timer_arm(m->timer,
			     member_jitter(m->n_hosts < LINKS_MEMBERS_FEW ? LINKS_MEMBERS_FIRST_NS
									  : LINKS_MEMBERS_READ_NS));
}

static void end_round(struct links_members *m, bool good)
{
	char *text = good ? json_dumps(m->list, JSON_COMPACT) : NULL;

	if (text) {
		if (!m->told || strcmp(text, m->told) != 0)
			m->setup.on_members(m->setup.user, text);
		free(m->told);
		m->told = text;
	}
	json_decref(m->list);
	m->list = NULL;
	arm(m);
}

static int read_some(struct links_members *m);

static void take(struct links_members *m, const struct kv_pair *p)
{
	const char *host = record_host(RECORD_LINKS, m->cluster, p->key);

	if (!host || strcmp(host, m->host) == 0 || json_array_size(m->list) >= LINKS_MEMBERS_MAX)
		return;
	m->n_hosts++;
	json_array_append_new(m->list, links_rows_member(host, p->value, p->len));
}

static void on_keys(void *user, const struct kv_answer *a)
{
	struct links_members *m = user;

	if (a->trouble != CLUSTER_FINE) {
		end_round(m, false);
		return;
	}
	for (size_t i = 0; i < a->n_pairs; i++)
		take(m, &a->pairs[i]);
	if (json_array_size(m->list) >= LINKS_MEMBERS_MAX || m->wrapped) {
		end_round(m, true);
		return;
	}
	m->wrapped = true;
	if (read_some(m) < 0)
		end_round(m, false);
}

static int read_some(struct links_members *m)
{
	char end[KV_KEY_MAX], begin[KV_KEY_MAX];
	const struct kv_range range = {.first = m->wrapped ? begin : m->first,
				       .end = m->wrapped ? m->first : end,
				       .limit = LINKS_MEMBERS_MAX + 1};

	record_key(RECORD_LINKS, m->cluster, "", begin);
	record_key_end(RECORD_LINKS, m->cluster, end);
	return m->setup.ops->range(m->setup.kv, &range, on_keys, m);
}

static int on_timer(void *user)
{
	struct links_members *m = user;
	uint16_t random = 0;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	record_key_random(m->cluster, random, m->first);
	m->wrapped = false;
	m->n_hosts = 0;
	m->list = json_array();
	if (!m->list || read_some(m) < 0)
		end_round(m, false);
	return 0;
}

void links_members_begin(struct links_members *m)
{
	if (!m->list && !loop_timer_armed(m->timer))
		(void)loop_timer_arm(m->timer, 0);
}

int links_members_new(const struct links_members_setup *setup, struct links_members **ret)
{
	struct links_members *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->setup = *setup;
	snprintf(m->cluster, sizeof(m->cluster), "%s", setup->cluster);
	snprintf(m->host, sizeof(m->host), "%s", setup->host);
	r = loop_add_timer(setup->loop, 100 * NSEC_PER_MSEC, on_timer, m, &m->timer);
	if (r < 0) {
		links_members_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

struct links_members *links_members_free(struct links_members *m)
{
	if (!m)
		return NULL;
	loop_source_free(m->timer);
	json_decref(m->list);
	free(m->told);
	free(m);
	return NULL;
}
