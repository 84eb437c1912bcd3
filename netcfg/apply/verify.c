/* SPDX-License-Identifier: BSD-3-Clause */
/* Verifies an apply: plans again until the plan has no steps or the deadline has passed. */
#include "netcfg/apply/apply.h"
#include "netcfg/plan/plan_feature.h"
#include <poll.h>
#include <stdio.h>

/* The interval between checks grows: it is short at first, for changes that take effect at once,
 * and long later, for duplicate address detection. */
#define RETRY_MS_FIRST 2
#define RETRY_MS_MAX 100

/* The result of one check. */
struct look {
	struct diag diag;
	/* 0: the host is as desired; -EAGAIN: it is not as desired yet; another errno: waiting does
	 * not help */
	int error;
};

static void add_steps_left(const struct plan *p, struct diag *d)
{
	char text[256];

	for (size_t i = 0; i < p->n_steps; i++)
		diag_add(d, DIAG_ERROR, NULL, p->steps[i].leg[0] ? p->steps[i].leg : NULL,
			 "the apply did not take effect; missing step: %s",
			 plan_step_describe(&p->steps[i], text, sizeof(text)));
}

/* Returns 0 if the address is usable; -EAGAIN if it is in duplicate address detection or does not
 * have its GID yet; or -EADDRINUSE if another host uses it. */
static int check_port_addr(const struct inventory *inv, const struct plan_port *port,
			   struct diag *d)
{
	const struct inv_link *link = inv_link_by_index(inv, port->ifindex);
	char text[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < inv->n_addrs; i++) {
		const struct inv_addr *a = &inv->addrs[i];

		if (a->ifindex != port->ifindex || !ip_addr_equal(&a->ip.addr, &port->ip.addr))
			continue;
		ip_addr_format(&a->ip.addr, text, sizeof(text));
		if (a->dad_failed) {
			diag_add(d, DIAG_ERROR, NULL, port->leg,
				 "another host already uses %s (duplicate address detection on "
				 "%s); write other 'ips' or another 'pool'",
				 text, port->ifname);
			return -EADDRINUSE;
		}
		/* Do not wait for duplicate address detection on a link without a carrier, where it
		 * does not start. */
		if (a->tentative && link && link->carrier) {
			diag_add(d, DIAG_ERROR, NULL, port->leg,
				 "%s on %s is still in duplicate address detection", text,
				 port->ifname);
			return -EAGAIN;
		}
		if (plan_features_addr_is_pending(inv, a)) {
			diag_add(d, DIAG_ERROR, NULL, port->leg,
				 "%s on %s is not a GID of its RDMA device yet", text,
				 port->ifname);
			return -EAGAIN;
		}
	}
	return 0;
}

static int check_addrs(const struct inventory *inv, const struct plan *p, struct diag *d)
{
	int r = 0;

	for (size_t i = 0; i < p->n_workers && r != -EADDRINUSE; i++)
		for (size_t k = 0; k < p->workers[i].n_ports && r != -EADDRINUSE; k++) {
			int one = check_port_addr(inv, &p->workers[i].ports[k], d);

			r = one ? one : r;
		}
	return r;
}

static void look(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		 struct look *l)
{
	struct inventory *inv = NULL;
	struct plan *p = NULL;

	l->error = inv_collect(k, &l->diag, &inv);
	if (l->error == 0)
		l->error = plan_build(spec, inv, ctx, &l->diag, &p);
	if (l->error == 0 && p->n_steps) {
		add_steps_left(p, &l->diag);
		l->error = -EAGAIN;
	} else if (l->error == 0) {
		l->error = check_addrs(inv, p, &l->diag);
	}
	plan_free(p);
	inv_free(inv);
}

int apply_verify(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		 uint64_t deadline_ns, struct diag *d)
{
	int wait_ms = RETRY_MS_FIRST;

	for (;;) {
		struct look l = {.diag = DIAG_INIT};
		uint64_t now;
		bool again;

		look(k, spec, ctx, &l);
		now = clock_now_ns();
		again = l.error == -EAGAIN && now < deadline_ns;
		if (!again && l.error) /* the caller gets only the errors of the last check */
			diag_append(d, &l.diag);
		diag_done(&l.diag);
		if (!again)
			return l.error == -EAGAIN ? -ETIMEDOUT : l.error;
		/* Sleeps between checks, because the kernel's notifications go to the agent and not
		 * to the applier. */
		(void)poll(NULL, 0,
			   (int)MIN_OF((uint64_t)wait_ms, (deadline_ns - now) / NSEC_PER_MSEC + 1));
		wait_ms = MIN_OF(2 * wait_ms, RETRY_MS_MAX);
	}
}
