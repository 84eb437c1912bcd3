/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host on which all checks of `plenum doctor` pass. It is the host of plan_host.h with its
 * configuration applied, a folder as the root of its files, and the answers of an agent. A test
 * breaks one part and verifies which checks change.
 */
#ifndef PLENUM_TESTS_DOCTOR_RIG_H
#define PLENUM_TESTS_DOCTOR_RIG_H

#include "agent/ctl/doctor/doctor.h"
#include "tests/lib/host/plan_host.h"
#include "tests/lib/host/put_file.h"
#include <fcntl.h>
#include <sys/stat.h>

#define RIG_KERNEL "6.12.0"

struct rig {
	char root[64];
	struct kernel *kernel;
	struct doctor_host p;
	char *yaml;
	const char *need; /* a requirement that is added to the plan, or NULL */
	bool mute;	  /* the agent never answers */
	unsigned blind; /* DOCTOR_NEEDS_ bits of the parts of the host's picture that are missing */
};

/* ---- files ---- */

__attribute__((format(printf, 3, 4))) void rig_put(const struct rig *g, const char *path,
						   const char *fmt, ...);

void rig_remove(const struct rig *g, const char *path);
void rig_mode(const struct rig *g, const char *path, mode_t mode);

/* ---- the host ---- */

struct inv_link *rig_link(struct rig *g, uint32_t ifindex);
void rig_set_sysctl(struct rig *g, const char *key, const char *value);

/* Makes the plan again from the current spec and inventory. */
void rig_plan(struct rig *g);

/* Changes the configuration: replaces the only occurrence of `from` by `to`. */
void rig_change_spec(struct rig *g, const char *from, const char *to);
void rig_take_inventory(struct rig *g);

/* Applies the plan until there are no steps left. */
void rig_apply(struct rig *g);

/* Sets the host's UDP counters: received datagrams, those dropped because a socket was full, and
 * those with a wrong checksum. */
void rig_snmp(const struct rig *g, unsigned all, unsigned no_room, unsigned damaged);

/* Adds a process in the test's network namespace. */
void rig_process(const struct rig *g, unsigned pid, const char *comm);
struct doctor_arp *rig_arp(struct rig *g, enum doctor_arp_kind kind, const char *leg,
			   uint32_t ifindex, const char *ip);

/* Returns the first ARP probe of that kind on the leg. */
struct doctor_arp *rig_find_arp(struct rig *g, enum doctor_arp_kind kind, size_t leg);

/* Sets a text member of leg number i in the agent's status. */
void rig_set_leg(struct rig *g, size_t i, const char *key, const char *value);

/* Returns the data IP of leg-a in the inventory. */
struct inv_addr *rig_data_ip(struct rig *g);
json_t *rig_paths(struct rig *g, size_t i);

/* Makes a host, lets `prepare` (may be NULL) change it, and applies its configuration. */
struct rig *rig_new(void (*prepare)(struct rig *g));
void rig_free(struct rig *g);
/* Return the result, and only the state, of the check with this id. */
struct doctor_result rig_result_of(const struct rig *g, const char *id);
enum doctor_state rig_state_of(const struct rig *g, const char *id);

/* ---- other hosts ---- */

void rig_bond(struct rig *g);

/* The legs become NICs with SR-IOV, and a worker has a VF on each. */
void rig_sriov(struct rig *g);

#endif
