/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A keyed hash for values that peers send back and could forge: handshake cookies, file handles.
 * The function is pure.
 */
#ifndef PLENUM_NETCFG_HASH_H
#define PLENUM_NETCFG_HASH_H

#include "netcfg/base/base.h"

/* SipHash-2-4 (Aumasson, Bernstein 2012). Its result cannot be predicted without the key. */
uint64_t hash_keyed(const uint64_t key[2], const void *data, size_t len);

#endif
