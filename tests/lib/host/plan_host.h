/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host for tests of plan and apply, with a matching configuration: eth0 with the default route,
 * the loopback, and two plain legs, veth0 and veth1; four cores; 64 free huge pages.
 */
#ifndef PLENUM_TESTS_PLAN_HOST_H
#define PLENUM_TESTS_PLAN_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/host/inventory_build.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan.h"
#include "tests/lib/kernel/kernel_fake.h"
#include <stdio.h>
#include <string.h>

#define HOST_ETH0 2
#define HOST_VETH0 3
#define HOST_VETH1 4

#define HOST_YAML                                                                       \
	"host: host-a\n"                                                                \
	"management: {interface: eth0}\n"                                               \
	"networks:\n"                                                                   \
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16, gateway: 10.10.0.1, mtu: " \
	"9000}\n"                                                                       \
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16, mtu: 9000}\n"              \
	"net:\n"                                                                        \
	"  - {name: leg-a, device: veth0, network: data-a, label: switch-a}\n"          \
	"  - {name: leg-b, device: veth1, network: data-b, label: switch-b}\n"          \
	"ha: {mode: dual-leg}\n"                                                        \
	"workers:\n"                                                                    \
	"  - {role: compute, cores: [1], transport: udp, exports: [{name: x, path: /srv}]}\n"

struct ip_prefix host_prefix(const char *text);
struct ip_addr host_addr(const char *text);
void host_add_sysctls(struct inventory *inv, const char *conf);
void host_add_link(struct inventory *inv, uint32_t ifindex, const char *name,
		   enum inv_link_kind kind, bool up);
void host_add_route(struct inventory *inv, uint32_t table, uint8_t proto, const char *dst,
		    const char *gateway, uint32_t oif);
struct inventory *host_new(void);

/* Returns whether the step has the operation `op`, for example "addr-add". */
bool step_is(const struct plan_step *s, const char *op);
struct spec *host_spec(const char *yaml);
/* Makes the plan of a valid configuration. The caller frees the plan and *ret_spec. */
struct plan *host_plan_of(const char *yaml, const struct inventory *inv, struct spec **ret_spec);
/* Asserts that leg number i (of two) has this state and reason. Unless its state is configured, the
 * leg must have no steps. */
void host_expect_leg(const char *yaml, const struct inventory *inv, size_t i,
		     enum plan_leg_state state, const char *code, const char *text);

#endif
