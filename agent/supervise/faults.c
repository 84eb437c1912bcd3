/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injected faults: their list, their timer and their JSON. The supervisor passes them on to the
 * workers.
 */
#include "agent/supervise/faults.h"
#include "agent/supervise/supervise.h"
#include <stdio.h>
#include <string.h>

#define ID_MOST 1000000U /* larger ids are invalid: no agent injects so many faults */

/* Formats parts per million as percent, such as "1.5 %". */
static const char *format_ppm(uint32_t ppm, char *buf, size_t size)
{
	snprintf(buf, size, "%.4g %%", ppm / 10000.0);
	return buf;
}

static size_t describe_share(char *buf, size_t size, size_t len, const char *what, uint32_t ppm)
{
	char share[16];

	if (ppm && len < size)
		len += (size_t)snprintf(buf + len, size - len, ", %s %s", what,
					format_ppm(ppm, share, sizeof(share)));
	return len;
}

static void describe(const struct launch_fault *f, char *buf, size_t size)
{
	size_t len = (size_t)snprintf(buf, size, "%.32s%s%.40s%s", f->leg[0] ? f->leg : "all legs",
				      f->peer[0] ? " to " : "", f->peer,
				      f->ways == LAUNCH_FAULT_IN    ? ", in"
				      : f->ways == LAUNCH_FAULT_OUT ? ", out"
								    : "");

	len = describe_share(buf, size, len, "drop", f->drop_ppm);
	len = describe_share(buf, size, len, "duplicate", f->duplicate_ppm);
	len = describe_share(buf, size, len, "reorder", f->reorder_ppm);
	if (f->delay_us && len < size)
		snprintf(buf + len, size - len, ", delay %.6g ms", f->delay_us / 1000.0);
}

static struct faults_entry *find(struct faults *fs, uint32_t id)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->all[i].is.id == id)
			return &fs->all[i];
	return NULL;
}

static void arm(struct faults *fs)
{
	uint64_t now = clock_now_ns(), first = UINT64_MAX;

	for (size_t i = 0; i < fs->n; i++)
		first = MIN_OF(first, fs->all[i].is.until_ns);
	if (fs->n == 0)
		loop_timer_disarm(fs->timer);
	else
		loop_timer_arm(fs->timer, first > now ? first - now : 1);
}

static void end_one(struct faults *fs, size_t i, const char *why)
{
	struct launch_fault f = fs->all[i].is;

	fs->all[i] = fs->all[--fs->n];
	f.until_ns = 0;
	sup_fault_changed(fs->setup.sup, &f);
	events_add(fs->setup.events, LOG_LEVEL_INFO, "agent", "injected fault %u has ended: %s",
		   f.id, why);
}

static int on_timer(void *user)
{
	struct faults *fs = user;
	uint64_t now = clock_now_ns();

	for (size_t i = fs->n; i > 0; i--)
		if (fs->all[i - 1].is.until_ns <= now)
			end_one(fs, i - 1, "its time has expired");
	arm(fs);
	return 0;
}

int faults_init(struct faults *fs, const struct faults_setup *setup)
{
	fs->setup = *setup;
	return loop_add_timer(setup->loop, NSEC_PER_MSEC, on_timer, fs, &fs->timer);
}

void faults_done(struct faults *fs)
{
	fs->timer = loop_source_free(fs->timer);
}

int faults_add(struct faults *fs, const struct launch_fault *f, uint32_t ttl_s, const char *by,
	       uint32_t *ret_id)
{
	struct faults_entry *e = &fs->all[fs->n];
	char text[200];

	if (fs->n == ARRAY_SIZE(fs->all))
		return -ENOSPC;
	*e = (struct faults_entry){.is = *f};
	e->is.id = ++fs->last_id;
	e->is.until_ns = clock_now_ns() + ttl_s * NSEC_PER_SEC;
	snprintf(e->by, sizeof(e->by), "%s", by);
	fs->n++;
	describe(&e->is, text, sizeof(text));
	events_add(fs->setup.events, LOG_LEVEL_INFO, "agent",
		   "injected fault %u for %u s: %.150s, by %.60s", e->is.id, ttl_s, text, by);
	sup_fault_changed(fs->setup.sup, &e->is);
	arm(fs);
	*ret_id = e->is.id;
	return 0;
}

size_t faults_end(struct faults *fs, uint32_t id, const char *why)
{
	size_t n = 0;

	for (size_t i = fs->n; i > 0; i--)
		if (!id || fs->all[i - 1].is.id == id) {
			end_one(fs, i - 1, why);
			n++;
		}
	arm(fs);
	return n;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

/* Returns whether an agent can have injected this fault. This is checked because a worker may write
 * anything to its page, and the fault is passed on to the other workers. A text that the worker
 * changes during the copy may be wrong, but is terminated. */
static bool is_ours(const struct launch_fault *f, uint64_t now_ns)
{
	return launch_fault_is_valid(f) && f->id <= ID_MOST && f->until_ns > now_ns &&
	       f->until_ns - now_ns <= LAUNCH_FAULT_S_MAX * NSEC_PER_SEC && is_printable(f->leg) &&
	       is_printable(f->peer);
}

static void adopt_page(struct faults *fs, const struct launch_stats *page)
{
	for (size_t i = 0; i < LAUNCH_FAULTS_MAX; i++) {
		struct launch_fault f;

		memcpy(&f, (const void *)&page->faults[i].fault, sizeof(f));
		if (!is_ours(&f, clock_now_ns()) || find(fs, f.id) || fs->n == ARRAY_SIZE(fs->all))
			continue;
		fs->all[fs->n++] = (struct faults_entry){.is = f, .by = "an earlier agent"};
		fs->last_id = MAX_OF(fs->last_id, f.id);
	}
}

void faults_adopt(struct faults *fs)
{
	for (const struct sup_worker *w = sup_first(fs->setup.sup); w; w = w->next)
		if (w->stats)
			adopt_page(fs, w->stats);
	arm(fs);
}

static uint64_t touched(const struct faults *fs, uint32_t id)
{
	uint64_t n = 0;

	for (const struct sup_worker *w = sup_first(fs->setup.sup); w; w = w->next)
		for (size_t i = 0; w->stats && i < LAUNCH_FAULTS_MAX; i++)
			if (w->stats->faults[i].fault.id == id)
				n += launch_stat_get(&w->stats->faults[i].touched);
	return n;
}

static json_t *to_json(const struct faults *fs, const struct faults_entry *e)
{
	static const char *const ways[] = {"", "in", "out", "both"};
	const struct launch_fault *f = &e->is;
	uint64_t now = clock_now_ns();
	uint64_t left_ns = f->until_ns > now ? f->until_ns - now : 0;

	return json_pack("{s:I, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "id",
			 (json_int_t)f->id, "leg", f->leg, "peer", f->peer, "direction",
			 ways[f->ways & 3], "drop_ppm", (json_int_t)f->drop_ppm, "duplicate_ppm",
			 (json_int_t)f->duplicate_ppm, "reorder_ppm", (json_int_t)f->reorder_ppm,
			 "delay_us", (json_int_t)f->delay_us, "left_s",
			 (json_int_t)((left_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC), "packets",
			 (json_int_t)touched(fs, f->id), "by", e->by);
}

json_t *faults_to_json(const struct faults *fs)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < fs->n; i++)
		json_array_append_new(list, to_json(fs, &fs->all[i]));
	return json_pack("{s:o}", "faults", list);
}
