/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The labels of the legs. A label comes from the configuration (without an entry, it is the leg's
 * name) or, with `label: auto`, is the name or chassis id of the switch according to LLDP. A label
 * that is not known for certain is "". The supervisor reads the labels when a worker starts, and
 * sends changes to running workers.
 */
#ifndef PLENUM_AGENT_LABELS_H
#define PLENUM_AGENT_LABELS_H

#include "agent/lldp/neighbours.h"
#include "netcfg/base/reason.h"
#include "netcfg/host/inventory.h"

/* Maximum number of cables per leg; a bond has one cable per member. */
#define LABELS_CABLES_MAX 8

struct plan;
struct spec;

struct label {
	char leg[PLENUM_NAME_MAX];
	char text[PLENUM_NAME_MAX]; /* "": unknown */
	bool is_auto;
	struct reason why;		    /* why the label is unknown */
	uint32_t cables[LABELS_CABLES_MAX]; /* links on which the leg's switch can send LLDP */
	size_t n_cables;
};

struct labels {
	struct label all[PLENUM_LEGS_MAX];
	size_t n; /* 0: no plan has been made yet */
};

/* The input of the functions below. */
struct labels_view {
	const struct spec *spec;
	const struct plan *plan;
	const struct inventory *inv;
	const struct neighbours *heard;
	uint64_t now_ns;
};

enum label_source { LABEL_UNKNOWN, LABEL_BY_LLDP, LABEL_CONFIGURED, LABEL_SOURCE_MAX };
const char *label_source_to_string(enum label_source s);
enum label_source label_source(const struct label *l);

/* Returns the label of the leg, or NULL if no leg has that name. */
const struct label *labels_find(const struct labels *l, const char *leg);
/* Writes to buf (PLENUM_NAME_MAX bytes) the label that LLDP gives a neighbour: the neighbour's
 * system name. If another known neighbour has the same name, the label is the chassis id. Returns
 * buf. */
const char *labels_name(const struct neighbours *heard, const struct lldp_neighbour *said,
			char *buf);
/* Lists the legs of the plan with their cables. Call before labels_decide, which sets the
 * labels. */
void labels_find_cables(const struct labels_view *v, struct labels *ret);
void labels_decide(const struct labels_view *v, struct labels *l);
/* Returns warnings for the operator, a JSON list of sentences, or NULL if memory is short. */
json_t *labels_to_warnings(const struct labels_view *v, const struct labels *l);

/*
 * Lists all neighbours known on the leg's cables, each with "ifname". Returns a new reference, or
 * NULL if memory is short.
 */
json_t *label_neighbours_to_json(const struct labels_view *v, const struct label *l);

#endif
