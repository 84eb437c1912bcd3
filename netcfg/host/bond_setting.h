/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of a bond and their values, named as the kernel document networking/bonding names
 * them. Inventory, plan, journal and kernel code use the same table. The functions are pure, and
 * independent of any host or spec.
 */
#ifndef PLENUM_NETCFG_BOND_SETTING_H
#define PLENUM_NETCFG_BOND_SETTING_H

#include "netcfg/host/inventory.h"

/* Settings that can change while the bond exists. The mode cannot change. */
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
/* Returns a name such as "802.3ad"; "?" for an unknown mode. */
const char *bond_mode_to_string(uint8_t mode);
/* Returns whether all ports of a bond of that mode carry traffic and need one switch, or an MLAG
 * pair, that has joined its ports into one LAG. */
bool bond_mode_is_lag(uint8_t mode);
/* Returns whether a bond of that mode has the setting. Settings that the mode lacks are 0 and
 * ignored. */
bool bond_attr_applies(enum bond_attr a, uint8_t mode);
/* Writes the setting's value, such as "fast", "100", "eth1" or "", into buf; returns buf. */
const char *bond_value_format(const struct inv_bond_setting *s, enum bond_attr a,
			      char buf[static IFNAMSIZ]);
/* Returns 0, or -EINVAL if the text is not a valid value of the setting. */
int bond_value_parse(struct inv_bond_setting *s, enum bond_attr a, const char *text);
/* Writes all settings of the mode, such as "802.3ad hash=layer3+4 rate=fast"; returns the length as
 * snprintf(3) does. */
int bond_setting_format(const struct inv_bond_setting *s, char *buf, size_t size);
/* Parses the text of bond_setting_format(). Returns 0 or -EINVAL. */
int bond_setting_parse(const char *text, struct inv_bond_setting *ret);

#endif
