/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes what a neighbour announces in one LLDP frame (IEEE 802.1AB) into fixed, clean text. Any
 * device on the cable can send the bytes: nothing here trusts a length, allocates, or keeps state.
 * Called by the unprivileged role `lldp`, and by the tests.
 */
#ifndef PLENUM_AGENT_LLDP_PARSE_H
#define PLENUM_AGENT_LLDP_PARSE_H

#include "agent/base/lldp_neighbour.h"
#include <stddef.h>

#define LLDP_FRAME_MAX 1518 /* bytes, from the destination address on */

/* 0 and *ret; -EBADMSG: not a valid LLDP frame. */
int lldp_parse(const void *frame, size_t len, struct lldp_neighbour *ret);

#endif
