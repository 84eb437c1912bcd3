/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the labels of the legs up to date: listens for LLDP on the legs' cables, decides the labels
 * (labels.h), reports changes as events and problems, and sends changed labels to the workers.
 */
#ifndef PLENUM_AGENT_LEG_LABELS_H
#define PLENUM_AGENT_LEG_LABELS_H

#include "agent/lldp/labels.h"

struct agent;

int leg_labels_init(struct agent *a);
void leg_labels_done(struct agent *a);
struct labels_view leg_labels_view(const struct agent *a);
/* Call after a plan has come into force: listens on the cables of its legs and sets their
 * labels. */
void leg_labels_take_plan(struct agent *a);

#endif
