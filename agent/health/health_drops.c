/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how many packets this host itself drops, in the receive queues of workers and in the
 * kernel's queues before its NICs. */
#include "agent/health/health.h"
#include "netcfg/base/vec.h"
#include <stdio.h>

#define WINDOW_NS (3 * NSEC_PER_SEC)
#define WINDOWS_BAD 2
#define WINDOWS_GOOD 2
#define DROPPED_LEAST 8 /* fewer dropped packets may be one short burst */
#define BAD_PPM 5000	/* the same threshold as for losses of a path */
#define MILLION 1000000

static void window_begin(struct health_drops *d, uint64_t passed, uint64_t dropped, uint64_t now)
{
	d->since_ns = now;
	d->passed = passed;
	d->dropped = dropped;
}

void health_drops_take(struct health_drops *d, uint64_t passed, uint64_t dropped, uint64_t now)
{
	uint64_t all;
	bool bad;

	if (d->since_ns == 0 || passed < d->passed || dropped < d->dropped) {
		window_begin(d, passed, dropped, now);
		return;
	}
	if (now < d->since_ns + WINDOW_NS)
		return;
	d->window_dropped = dropped - d->dropped;
	all = passed - d->passed + d->window_dropped;
	d->ppm = all ? (uint32_t)((double)d->window_dropped * MILLION / (double)all) : 0;
	d->age_ns = now - d->since_ns;
	window_begin(d, passed, dropped, now);
	bad = d->window_dropped >= DROPPED_LEAST && d->ppm >= BAD_PPM;
	d->bad_run = bad ? (uint8_t)MIN_OF(d->bad_run + 1, WINDOWS_BAD) : 0;
	d->good_run = bad ? 0 : (uint8_t)MIN_OF(d->good_run + 1, WINDOWS_GOOD);
	if (d->bad_run == WINDOWS_BAD)
		d->is_bad = true;
	else if (d->good_run == WINDOWS_GOOD)
		d->is_bad = false;
}

const char *health_drops_format(const struct health_drops *d, char *buf, size_t size)
{
	double percent = d->ppm / 1e4;

	snprintf(buf, size, "%.*f %% of the packets (%.0f a second)", percent < 10, percent,
		 (double)d->window_dropped * NSEC_PER_SEC /
			 (double)MAX_OF(d->age_ns, NSEC_PER_MSEC));
	return buf;
}

const struct health_drops *health_port_drops(struct health *h, uint32_t worker, uint32_t index,
					     const struct launch_port_counters *c, uint64_t now)
{
	struct health_port *p = NULL;

	for (size_t i = 0; i < h->n_ports && !p; i++)
		if (h->ports[i].worker == worker && h->ports[i].index == index)
			p = &h->ports[i];
	if (!p) {
		p = vec_add(&h->ports, &h->n_ports, sizeof(*h->ports));
		if (!p) /* if memory is short, drops are not reported */
			return NULL;
		*p = (struct health_port){.worker = worker, .index = index};
	}
	health_drops_take(&p->missed, launch_stat_get(&c->rx_packets),
			  launch_stat_get(&c->rx_missed), now);
	return p->missed.is_bad ? &p->missed : NULL;
}
