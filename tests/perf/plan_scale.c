/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures inventory, plan and apply on a large host: the host's own links, with cores and VFs
 * added in memory only, because no test machine has so many.
 *
 *	plan_scale look CONFIG			one inventory, and plans for it in a loop
 *	plan_scale apply CONFIG JOURNAL BATCH	carries the plan out, after its steps have been
 *						written to BATCH for 'ip -batch' and to BATCH.sysctl
 *						for 'sysctl -p'
 *
 * Prints figures, one "NAME VALUE" a line.
 */
#include "netcfg/apply/apply.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/object/object.h"
#include "plugins/plugins.h"
#include <stdio.h>
#include <string.h>

#define CORES 65
#define VFS 64
#define PF "0000:3b:00.0"
#define ROUNDS 51

static void die(const char *what, const struct diag *d)
{
	fprintf(stderr, "plan_scale: %s\n", what);
	diag_print(d, stderr);
	exit(1);
}

static bool has_core(const struct inventory *inv, unsigned id)
{
	for (size_t i = 0; i < inv->n_cores; i++)
		if (inv->cores[i].id == id)
			return true;
	return false;
}

static void add_cores(struct inventory *inv)
{
	for (unsigned id = 0; id < CORES; id++) {
		struct inv_core *c = has_core(inv, id) ? NULL : inv_core_add(inv);

		if (!c)
			continue;
		c->id = id;
		c->online = true;
	}
}

static void add_hugepages(struct inventory *inv)
{
	struct inv_hugepages *h;

	inv->n_hugepages = 0;
	h = inv_hugepages_add(inv);
	h->size_kib = PLAN_HUGEPAGE_KIB;
	h->total = h->free = (CORES - 1) * (uint64_t)PLAN_HUGEPAGES_PER_WORKER;
}

/* Adds a PF under the first leg with one VF per worker. */
static void add_vfs(struct inventory *inv, struct inv_link *leg)
{
	struct inv_function *fn = inv_function_add(inv);

	inv_text_set(fn->pci, sizeof(fn->pci), PF);
	inv_text_set(fn->driver, sizeof(fn->driver), "i40e");
	fn->max_vfs = fn->n_vfs = VFS;
	fn->iommu_group = 1;
	inv_text_set(leg->pci, sizeof(leg->pci), PF);
	inv_text_set(leg->driver, sizeof(leg->driver), "i40e");
	for (uint32_t i = 0; i < VFS; i++) {
		struct inv_vf *vf = inv_vf_add(inv);

		vf->ifindex = leg->ifindex;
		vf->vf = i;
		fn = inv_function_add(inv);
		snprintf(fn->pci, sizeof(fn->pci), "0000:3b:%02x.%x", 2 + i / 8, i % 8);
		inv_text_set(fn->physfn, sizeof(fn->physfn), PF);
		fn->vf = i;
		fn->iommu_group = 2 + (int)i;
	}
}

static struct inv_link *find_link(struct inventory *inv, const char *name)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (strcmp(inv->links[i].name, name) == 0)
			return &inv->links[i];
	return NULL;
}

static struct plan *plan(const struct spec *spec, const struct inventory *inv)
{
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;

	if (plan_build(spec, inv, NULL, &d, &p) < 0)
		die("no plan", &d);
	diag_done(&d);
	return p;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double ms(uint64_t ns)
{
	return (double)ns / NSEC_PER_MSEC;
}

static int look(const struct spec *spec, struct kernel *k)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	uint64_t times[ROUNDS], began = clock_now_ns();
	size_t n_steps = 0;

	if (inv_collect(k, &d, &inv) < 0)
		die("the host cannot be looked at", &d);
	printf("links %zu\ncollect_ms %.1f\n", inv->n_links, ms(clock_now_ns() - began));
	add_cores(inv);
	add_hugepages(inv);
	add_vfs(inv, find_link(inv, spec->nets[0].device));
	inv_sort(inv);
	for (int i = 0; i < ROUNDS; i++) {
		struct plan *p;

		began = clock_now_ns();
		p = plan(spec, inv);
		times[i] = clock_now_ns() - began;
		n_steps = p->n_steps;
		plan_free(p);
	}
	qsort(times, ROUNDS, sizeof(times[0]), by_size);
	printf("steps %zu\nplan_ms %.1f\n", n_steps, ms(times[ROUNDS / 2]));
	inv_free(inv);
	diag_done(&d);
	return 0;
}

/* ---- apply ---- */

static void write_route(const struct plan_step *s, FILE *ip)
{
	const struct inv_route *r = &s->change.route;
	char dst[IP_ADDR_STR_MAX], gateway[IP_ADDR_STR_MAX];

	fprintf(ip, "route add %s%s", r->type == INV_ROUTE_UNREACHABLE ? "unreachable " : "",
		ip_prefix_format(&r->dst, dst, sizeof(dst)));
	if (r->gateway.family)
		fprintf(ip, " via %s", ip_addr_format(&r->gateway, gateway, sizeof(gateway)));
	if (r->type != INV_ROUTE_UNREACHABLE)
		fprintf(ip, " dev %s", s->ifname);
	fprintf(ip, " table %u proto %u metric %u\n", r->table, PLENUM_RTPROT, r->metric);
}

/* Writes the step as an operator would. */
static void write_step(const struct plan_step *s, FILE *ip, FILE *sysctl)
{
	const struct kernel_change *c = &s->change;
	char text[IP_ADDR_STR_MAX];

	switch (c->kind) {
	case KERNEL_LINK:
		if (c->link.attr == KERNEL_LINK_UP)
			fprintf(ip, "link set %s up\n", s->ifname);
		else
			fprintf(ip, "link set %s mtu %u\n", s->ifname, c->link.value);
		break;
	case KERNEL_ADDR:
		fprintf(ip, "addr add %s dev %s noprefixroute\n",
			ip_prefix_format(&c->addr.ip, text, sizeof(text)), s->ifname);
		break;
	case KERNEL_ROUTE:
		write_route(s, ip);
		break;
	case KERNEL_RULE:
		fprintf(ip, "rule add from %s lookup %u priority %u protocol %u\n",
			ip_prefix_format(&c->rule.from, text, sizeof(text)), c->rule.table,
			c->rule.priority, PLENUM_RTPROT);
		break;
	case KERNEL_SYSCTL:
		fprintf(sysctl, "%s = %s\n", c->sysctl.key, c->sysctl.value);
		break;
	default:
		fprintf(stderr, "plan_scale: a step that ip(8) does not know\n");
		exit(1);
	}
}

static void write_steps(const struct plan *p, const char *path)
{
	char other[256];
	FILE *ip, *sysctl;

	snprintf(other, sizeof(other), "%s.sysctl", path);
	ip = fopen(path, "we");
	sysctl = fopen(other, "we");
	if (!ip || !sysctl)
		exit(1);
	for (size_t i = 0; i < p->n_steps; i++)
		write_step(&p->steps[i], ip, sysctl);
	fclose(ip);
	fclose(sysctl);
}

static int apply(const struct spec *spec, struct kernel *k, const char *journal, const char *batch)
{
	struct apply_outcome out;
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct apply *a = NULL;
	struct plan *p;
	uint64_t began;
	int r;

	if (inv_collect(k, &d, &inv) < 0)
		die("the host cannot be looked at", &d);
	add_cores(inv);
	inv_sort(inv);
	p = plan(spec, inv);
	write_steps(p, batch);
	began = clock_now_ns();
	r = apply_run(k, p, journal, &a, &out);
	if (r == 0)
		r = apply_commit(a, &out);
	printf("steps %zu\napply_ms %.1f\n", p->n_steps, ms(clock_now_ns() - began));
	if (r < 0)
		fprintf(stderr, "plan_scale: %s\n", out.why.text);
	plan_free(p);
	inv_free(inv);
	diag_done(&d);
	return r < 0;
}

int main(int argc, char **argv)
{
	struct diag d = DIAG_INIT;
	struct spec *spec = NULL;
	struct kernel *k = NULL;
	int r;

	if (argc < 3 || (strcmp(argv[1], "apply") == 0 && argc != 5)) {
		fprintf(stderr, "usage: plan_scale look CONFIG | apply CONFIG JOURNAL BATCH\n");
		return 2;
	}
	plugins_register();
	if (spec_load(argv[2], NULL, &d, &spec) < 0 || kernel_linux_new(&k) < 0)
		die("no configuration, or no kernel", &d);
	r = argc == 5 ? apply(spec, k, argv[3], argv[4]) : look(spec, k);
	kernel_free(k);
	spec_free(spec);
	diag_done(&d);
	return r;
}
