/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the values of the last hour for plots (see samples.h). */
#include "agent/samples.h"

#include "agent/base/loop.h"
#include "agent/status/status_internal.h"
#include <math.h>
#include <string.h>

enum kind { LEG, PEER, MOUNT, EXPORT, KIND_MAX };
_Static_assert(KIND_MAX == SAMPLES_KINDS, "the limit is for each kind");
enum value { TRAFFIC, RTT, LOSS, P99, VALUE_MAX };

static const char *const kind_names[KIND_MAX] = {"leg", "peer", "mount", "export"};
static const char *const value_names[VALUE_MAX] = {"bytes_per_s", "rtt_us", "loss_percent",
						   "p99_us"};

struct samples_object {
	enum kind kind;
	char *name;
	uint64_t seen;	/* number of the sample in which the object was last seen */
	uint64_t bytes; /* total of the object's paths at that sample */
	bool has_bytes; /* the object had paths at that sample */
	/* While a sample is made: the total of the paths so far. */
	uint64_t sum;
	bool has_sum;
	float values[VALUE_MAX][SAMPLES_KEPT]; /* rings by the number of the sample; NAN: unknown */
};

static void object_free(struct samples_object *o)
{
	free(o->name);
	free(o);
}

/* ---- objects ---- */

/* Returns the place of the object in the list, or the place where it belongs. */
static size_t place_of(const struct samples *s, enum kind kind, const char *name, bool *ret_found)
{
	size_t low = 0, high = s->n_objects;

	*ret_found = false;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		const struct samples_object *o = s->objects[mid];
		const int order =
			o->kind != kind ? (int)o->kind - (int)kind : strcmp(o->name, name);

		if (order == 0) {
			*ret_found = true;
			return mid;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct samples_object *object_new(enum kind kind, const char *name)
{
	struct samples_object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->kind = kind;
	o->name = strdup(name);
	for (size_t v = 0; v < VALUE_MAX; v++)
		for (size_t i = 0; i < SAMPLES_KEPT; i++)
			o->values[v][i] = NAN;
	if (o->name)
		return o;
	free(o);
	return NULL;
}

/* Returns the object, which is new if it is not known yet, or NULL if there is no room. */
static struct samples_object *find(struct samples *s, enum kind kind, const char *name)
{
	struct samples_object *o;
	bool found;
	const size_t at = place_of(s, kind, name, &found);

	if (found)
		return s->objects[at];
	if (s->n_of_kind[kind] == SAMPLES_OBJECTS_MAX)
		return NULL;
	if (!s->objects)
		s->objects = calloc(SAMPLES_KINDS * SAMPLES_OBJECTS_MAX,
				    sizeof(struct samples_object *));
	o = s->objects ? object_new(kind, name) : NULL;
	if (!o)
		return NULL;
	memmove(&s->objects[at + 1], &s->objects[at],
		(s->n_objects - at) * sizeof(struct samples_object *));
	s->objects[at] = o;
	s->n_objects++;
	s->n_of_kind[kind]++;
	return o;
}

/* Removes objects that no sample of the last hour has. */
static void forget_old(struct samples *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_objects; i++) {
		struct samples_object *o = s->objects[i];

		if (s->n - o->seen < SAMPLES_KEPT) {
			s->objects[n++] = o;
			continue;
		}
		s->n_of_kind[o->kind]--;
		object_free(o);
	}
	s->n_objects = n;
}

/* ---- a sample ---- */

static float *value_at(const struct samples *s, struct samples_object *o, enum value v)
{
	return &o->values[v][s->n % SAMPLES_KEPT];
}

static void keep_most(float *value, double found)
{
	if (isnan(*value) || *value < found)
		*value = (float)found;
}

static void add_path(struct samples *s, enum kind kind, const char *name,
		     const struct launch_path_stats *p)
{
	const uint64_t losses[] = {p->loss_out_ppm, p->loss_in_ppm};
	struct samples_object *o = *name ? find(s, kind, name) : NULL;
	float *rtt;

	if (!o)
		return;
	o->seen = s->n;
	o->sum += p->tx_bytes + p->rx_bytes + p->rdma_read_bytes + p->rdma_write_bytes;
	o->has_sum = true;
	rtt = value_at(s, o, RTT);
	if (p->up && status_rtt_is_current(p->srtt_ns, p->rtt_at_ns)) {
		const float us = (float)((double)p->srtt_ns / NSEC_PER_USEC);

		if (isnan(*rtt) || us < *rtt)
			*rtt = us;
	}
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++)
		if (losses[i] != UINT64_MAX)
			keep_most(value_at(s, o, LOSS), (double)losses[i] / 10000);
}

static void add_latency(struct samples *s, enum kind kind, const char *name,
			const struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX])
{
	struct samples_object *o = find(s, kind, name);

	if (!o)
		return;
	o->seen = s->n;
	for (size_t c = 0; c < LAUNCH_REQUEST_CLASS_MAX; c++)
		if (windows[c].requests)
			keep_most(value_at(s, o, P99),
				  (double)latency_quantile_ns(&windows[c], 99) / NSEC_PER_USEC);
}

/* Prepares the next sample: marks its values as unknown, and clears the totals. */
static void begin_sample(struct samples *s)
{
	s->n++;
	for (size_t i = 0; i < s->n_objects; i++) {
		struct samples_object *o = s->objects[i];

		for (size_t v = 0; v < VALUE_MAX; v++)
			*value_at(s, o, v) = NAN;
		o->sum = 0;
		o->has_sum = false;
	}
}

/* Sets the traffic of all objects. If the total is smaller than before, a worker or a path has
 * ended, and the traffic is unknown. If a path with few bytes has ended, the traffic is a bit too
 * small in this sample. */
static void end_sample(struct samples *s, double seconds)
{
	for (size_t i = 0; i < s->n_objects; i++) {
		struct samples_object *o = s->objects[i];

		if (o->has_bytes && o->has_sum && o->sum >= o->bytes && seconds > 0)
			*value_at(s, o, TRAFFIC) = (float)((double)(o->sum - o->bytes) / seconds);
		o->bytes = o->sum;
		o->has_bytes = o->has_sum;
	}
}

void samples_add(struct samples *s, const struct status *st, uint64_t now_ns)
{
	const uint64_t passed_ns = s->at_ns ? now_ns - s->at_ns : 0;
	uint64_t missing = passed_ns / SAMPLES_STEP_NS;

	/* If the timer is late by less than one step, the samples have no gap. */
	missing = missing > 1 ? MIN_OF(missing - 1, (uint64_t)SAMPLES_KEPT) : 0;
	for (; missing > 0; missing--)
		begin_sample(s);
	begin_sample(s);
	for (size_t i = 0; i < st->n_legs; i++) {
		struct samples_object *o = find(s, LEG, st->legs[i].name);

		if (o)
			o->seen = s->n;
	}
	for (size_t i = 0; i < st->n_paths; i++) {
		const struct status_path *p = &st->paths[i];

		if (!p->current) /* skip a worker that hangs, because its counters are out of
				    date */
			continue;
		add_path(s, LEG, p->s.leg, &p->s);
		add_path(s, PEER, *p->s.peer ? p->s.peer : p->s.remote, &p->s);
		add_path(s, MOUNT, p->mount, &p->s);
		add_path(s, EXPORT, p->export_name, &p->s);
	}
	for (size_t i = 0; i < st->n_mounts; i++)
		add_latency(s, MOUNT, st->mounts[i].path, st->mounts[i].windows);
	for (size_t i = 0; i < st->n_exports; i++)
		add_latency(s, EXPORT, st->exports[i].name, st->exports[i].windows);
	end_sample(s, (double)passed_ns / NSEC_PER_SEC);
	forget_old(s);
	s->at_ns = now_ns;
}

static int on_timer(void *user)
{
	struct agent *a = user;
	struct status st;

	if (status_collect(a, &st) == 0) {
		samples_add(&a->samples, &st, clock_now_ns());
		status_done(&st);
	}
	return loop_timer_arm(a->samples.timer, SAMPLES_STEP_NS);
}

int samples_init(struct agent *a)
{
	int r = loop_add_timer(a->loop, NSEC_PER_SEC, on_timer, a, &a->samples.timer);

	return r < 0 ? r : loop_timer_arm(a->samples.timer, SAMPLES_FIRST_NS);
}

void samples_done(struct samples *s)
{
	for (size_t i = 0; i < s->n_objects; i++)
		object_free(s->objects[i]);
	free(s->objects);
	loop_source_free(s->timer);
	*s = (struct samples){0};
}

/* ---- the answer ---- */

/* Three digits after the point suffice for a plot. */
static double rounded(float v)
{
	return (double)(int64_t)((double)v * 1000 + 0.5) / 1000;
}

/* Returns the values, the oldest first. */
static json_t *values_to_json(const struct samples *s, const float *ring)
{
	const uint64_t n = MIN_OF(s->n, (uint64_t)SAMPLES_KEPT);
	json_t *list = json_array();

	for (uint64_t i = s->n - n + 1; i <= s->n; i++) {
		const float v = ring[i % SAMPLES_KEPT];

		json_array_append_new(list, isnan(v) ? json_null() : json_real(rounded(v)));
	}
	return list;
}

json_t *samples_to_json(const struct samples *s, uint64_t now_ns)
{
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < s->n_objects; i++) {
		const struct samples_object *from = s->objects[i];

		o = json_pack("{s:s, s:o}", "kind", kind_names[from->kind], "name",
			      status_text_to_json(from->name));
		for (size_t v = 0; o && v < VALUE_MAX; v++)
			json_object_set_new(o, value_names[v], values_to_json(s, from->values[v]));
		json_array_append_new(list, o);
	}
	return json_pack(
		"{s:i, s:o, s:o}", "step_s", (int)(SAMPLES_STEP_NS / NSEC_PER_SEC), "age_s",
		s->n ? json_real((double)(now_ns - MIN_OF(s->at_ns, now_ns)) / NSEC_PER_SEC)
		     : json_null(),
		"samples", list);
}
