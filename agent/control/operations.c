/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of operations, and their JSON. */
#include "agent/control/operations.h"
#include "netcfg/base/when.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static uint64_t wall_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / NSEC_PER_MSEC;
}

static void clear(struct operation *o)
{
	json_decref(o->answer);
	*o = (struct operation){.number = 0};
}

void operations_done(struct operations *ops)
{
	for (size_t i = 0; i < OPERATIONS_MAX; i++)
		clear(&ops->list[i]);
}

static struct operation *find(const struct operations *ops, uint32_t number)
{
	for (size_t i = 0; number && i < OPERATIONS_MAX; i++)
		if (ops->list[i].number == number)
			return (struct operation *)&ops->list[i];
	return NULL;
}

/* Returns a free entry or, if there is none, the entry of the oldest operation that has ended.
 * Returns NULL if all operations are still running. */
static struct operation *place(struct operations *ops)
{
	struct operation *oldest = NULL;

	for (size_t i = 0; i < OPERATIONS_MAX; i++) {
		struct operation *o = &ops->list[i];

		if (!o->number)
			return o;
		if (o->status && (!oldest || o->number < oldest->number))
			oldest = o;
	}
	return oldest;
}

static uint32_t next_number(struct operations *ops)
{
	uint32_t begin = 0;

	if (ops->last == 0 && getrandom(&begin, sizeof(begin), 0) == sizeof(begin))
		ops->last = begin >> 2; /* leaves many numbers before an overflow */
	return ++ops->last;
}

uint32_t operations_begin(struct operations *ops, const char *request, uint64_t client, uid_t uid,
			  const char *by)
{
	struct operation *o = place(ops);
	size_t n = 0;

	for (size_t i = 0; i < OPERATIONS_MAX; i++)
		n += ops->list[i].number && !ops->list[i].status && ops->list[i].uid == uid;
	if (!o || n >= OPERATIONS_UID_MAX)
		return 0;
	clear(o);
	*o = (struct operation){.number = next_number(ops),
				.client = client,
				.uid = uid,
				.request = request,
				.begun_ms = wall_ms()};
	snprintf(o->by, sizeof(o->by), "%s", by);
	return o->number;
}

void operations_forget(struct operations *ops, uint32_t number)
{
	struct operation *o = find(ops, number);

	if (o)
		clear(o);
}

bool operations_end(struct operations *ops, uint64_t client, unsigned status, const char *text)
{
	for (size_t i = 0; i < OPERATIONS_MAX; i++) {
		struct operation *o = &ops->list[i];

		if (!o->number || o->status || o->client != client)
			continue;
		o->status = status;
		o->ended_ms = wall_ms();
		o->answer = json_loads(text, 0, NULL);
		return true;
	}
	return false;
}

static json_t *to_json(const struct operation *o)
{
	char begun[WHEN_TEXT_MAX], ended[WHEN_TEXT_MAX];

	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:s?, s:o, s:O?}", "id", (json_int_t)o->number,
			 "request", o->request, "by", o->by, "begun",
			 when_format(o->begun_ms, begun), "state", o->status ? "ended" : "running",
			 "ended", o->status ? when_format(o->ended_ms, ended) : NULL, "status",
			 o->status ? json_integer(o->status) : json_null(), "answer", o->answer);
}

json_t *operation_to_json(const struct operations *ops, uint32_t number)
{
	const struct operation *o = find(ops, number);

	return o ? to_json(o) : NULL;
}

json_t *operations_to_json(const struct operations *ops)
{
	json_t *list = json_array();

	for (uint32_t n = ops->last, left = OPERATIONS_MAX; n && left; n--, left--) {
		const struct operation *o = find(ops, n);

		if (o)
			json_array_append_new(list, to_json(o));
	}
	return json_pack("{s:o}", "operations", list);
}
