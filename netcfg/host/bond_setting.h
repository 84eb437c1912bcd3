/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of a bond: how the kernel document networking/bonding calls each and its values. One
 * table for what is read of the host, planned, journalled and asked of the kernel. Knows no host
 * and no spec; pure.
 */
#ifndef PLENUM_NETCFG_BOND_SETTING_H
#define PLENUM_NETCFG_BOND_SETTING_H

#include "netcfg/host/inventory.h"

/* What can be changed while the bond is there; its mode cannot. */
enum bond_attr {
	BOND_HASH,
	BOND_RATE,
	BOND_SELECT,
	BOND_RESELECT,
	BOND_MIN_LINKS,
	BOND_MIIMON,
	BOND_PRIMARY,
	BOND_ATTR_MAX
};

const char *bond_attr_to_string(enum bond_attr a);
/* "802.3ad"; "?": one that is not known. */
const char *bond_mode_to_string(uint8_t mode);
/* Whether a bond of that mode has the setting: the others are 0 and not looked at. */
bool bond_attr_applies(enum bond_attr a, uint8_t mode);
/* "fast", "100", "eth1" or "" into buf; returns buf. */
const char *bond_value_format(const struct inv_bond_setting *s, enum bond_attr a,
			      char buf[static IFNAMSIZ]);
/* 0; -EINVAL: no such value. */
int bond_value_parse(struct inv_bond_setting *s, enum bond_attr a, const char *text);
/* "802.3ad hash=layer3+4 rate=fast" with all that the mode has; its length as snprintf's. */
int bond_setting_format(const struct inv_bond_setting *s, char *buf, size_t size);
/* The same back. 0; -EINVAL. */
int bond_setting_parse(const char *text, struct inv_bond_setting *ret);
/* Whether they are the same bond, as far as the mode has settings. */
bool bond_setting_equal(const struct inv_bond_setting *a, const struct inv_bond_setting *b);

#endif
