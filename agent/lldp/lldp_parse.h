/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the contents of one LLDP frame (IEEE 802.1AB) into fixed, printable text. Any device on
 * the cable can send such bytes, so the code trusts no length, allocates nothing and keeps no
 * state. Called by the unprivileged role `lldp`, and by tests.
 */
#ifndef PLENUM_AGENT_LLDP_PARSE_H
#define PLENUM_AGENT_LLDP_PARSE_H

#include "agent/base/lldp_neighbour.h"
#include <stddef.h>

#define LLDP_FRAME_MAX 1518 /* maximum length of a frame in bytes, with the Ethernet header */

/* Returns 0 and *ret, or -EBADMSG if the frame is not valid LLDP. */
int lldp_parse(const void *frame, size_t len, struct lldp_neighbour *ret);

#endif
