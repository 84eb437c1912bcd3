/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes an ARP or neighbour discovery packet. Any device on the cable can send such bytes, so the
 * code trusts no length, allocates nothing and keeps no state. Called by the unprivileged role
 * `lldp`, and by tests.
 */
#ifndef PLENUM_AGENT_CLAIM_H
#define PLENUM_AGENT_CLAIM_H

#include "agent/base/address_claim.h"
#include <stddef.h>

/* The parser reads at most this many bytes of a frame; the rest may be cut off. */
#define CLAIM_FRAME_MAX 128

/* Parses an Ethernet frame with ARP (RFC 826), or a neighbour solicitation or advertisement (RFC
 * 4861). Returns 0 and *ret, or -EBADMSG if the frame is invalid or of another kind. */
int claim_parse(const void *frame, size_t len, struct address_claim *ret);

#endif
