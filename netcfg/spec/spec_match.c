/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of net[].match, which selects the device of a leg: their part of the schema table. */
#include "netcfg/spec/spec_table.h"

/* clang-format off */
static const struct spec_key match_keys[] = {
	{"driver", SPEC_TYPE_PATTERN, FIELD(spec_match, driver),
	 .help = "The kernel driver, such as mlx5_core or \"mlx*\".",
	 .example = "mlx5_core"},
	{"min-speed", SPEC_TYPE_U32, .min = 1, .max = 10000000, FIELD(spec_match, min_speed_mbps),
	 .help = "The fastest speed that the device supports in Mbit/s, at least; the speed in use may be lower. If the driver"
		 " reports no supported speeds, the speed in use counts, and the leg waits until the device has a carrier.",
	 .example = "100000"},
	{"numa", SPEC_TYPE_INDEX, .max = 1023, FIELD(spec_match, numa),
	 .help = "The number of the NUMA node.", .example = "0"},
	{"name", SPEC_TYPE_PATTERN, FIELD(spec_match, name),
	 .help = "The interface name or an alternative name.",
	 .example = "\"ens*f0np0\""},
	{"mac", SPEC_TYPE_PATTERN, FIELD(spec_match, mac),
	 .help = "The permanent MAC address or, if the device has none, its MAC address.",
	 .example = "\"0c:42:a1:*\""},
	{"pci", SPEC_TYPE_PATTERN, FIELD(spec_match, pci),
	 .help = "The PCI address.", .example = "\"0000:3b:*.0\""},
	{"subnet", SPEC_TYPE_NETWORKS, .max = SPEC_SUBNETS_MAX, LIST(spec_match, subnets, n_subnets),
	 .help = "The device has an address in one of these networks, which another program has configured; addresses that"
		 " Plenum adds do not count. Ports of a bond have no addresses. Without this key, devices with addresses of other"
		 " programs are not selected.",
	 .example = "[10.10.0.0/16]"},
};
const struct spec_table spec_match_table = {TABLE(match_keys), PLACE(spec_match)};
/* clang-format on */
