/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of a bond and their values, named as the kernel document networking/bonding names
 * them. One table for inventory, plan, journal and kernel. Knows no host and no spec; pure.
 */
#ifndef PLENUM_NETCFG_BOND_SETTING_H
#define PLENUM_NETCFG_BOND_SETTING_H

#include "netcfg/host/inventory.h"

/* Settings that can change while the bond exists; its mode cannot. */
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
/* "802.3ad"; "?": an unknown mode. */
const char *bond_mode_to_string(uint8_t mode);
/* Whether a bond of that mode has the setting; settings that it lacks are 0 and ignored. */
bool bond_attr_applies(enum bond_attr a, uint8_t mode);
/* "fast", "100", "eth1" or "" into buf; returns buf. */
const char *bond_value_format(const struct inv_bond_setting *s, enum bond_attr a,
			      char buf[static IFNAMSIZ]);
/* 0; -EINVAL: not a valid value. */
int bond_value_parse(struct inv_bond_setting *s, enum bond_attr a, const char *text);
/* Writes "802.3ad hash=layer3+4 rate=fast" with all settings of the mode; returns the length as
 * snprintf does. */
int bond_setting_format(const struct inv_bond_setting *s, char *buf, size_t size);
/* Parses that form. 0; -EINVAL. */
int bond_setting_parse(const char *text, struct inv_bond_setting *ret);

#endif
