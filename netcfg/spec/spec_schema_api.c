/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the schema table (spec_schema.c) for the sections `admin` and `api`: who may use the
 * API, and where. */
#include "netcfg/spec/spec_schema.h"
#include "netcfg/spec/spec_table.h"

/* clang-format off */
static const struct spec_key admin_keys[] = {
	{"users", SPEC_TYPE_ACCOUNTS, .max = SPEC_ADMINS_MAX, LIST(spec, admin_users, n_admin_users),
	 .help = "Users, by name or number.",
	 .example = "[storage]"},
	{"groups", SPEC_TYPE_ACCOUNTS, .max = SPEC_ADMINS_MAX, LIST(spec, admin_groups, n_admin_groups),
	 .help = "Groups, by name or number, for all their members.",
	 .example = "[storage-admins]"},
};
const struct spec_table spec_admin_table = {TABLE(admin_keys)};

static const struct spec_key api_keys[] = {
	{"listen", SPEC_TYPE_IP, .required = true, FIELD(spec_api, listen),
	 .help = "The address of this host in the management network at which clients reach the API. The API uses no other"
		 " address, and this address is not a data IP.\n"
		 "If the host does not have the address yet, the agent waits for the address, and says so in the status.",
	 .example = "192.0.2.11"},
	{"port", SPEC_TYPE_U16, .fallback = TEXT_OF(SPEC_API_PORT_DEFAULT), .min = 1, .max = 65535,
	 FIELD(spec_api, port), .help = "The TCP port.", .example = "7443"},
	{"certificate", SPEC_TYPE_PATH, .required = true, FIELD(spec_api, certificate),
	 .help = "The file with the host's certificate in PEM, followed by the certificates of intermediate"
		 " authorities.\n"
		 "'systemctl reload plenumd' reads all files of this section again.",
	 .example = "/etc/plenum/api.crt"},
	{"key", SPEC_TYPE_PATH, .required = true, FIELD(spec_api, key),
	 .help = "The file with the private key of the certificate in PEM, without a passphrase. Only root may have"
		 " access to it.",
	 .example = "/etc/plenum/api.key"},
	{"tokens", SPEC_TYPE_PATH, .required = true, FIELD(spec_api, tokens),
	 .help = "The file with the names, roles and hashes of tokens. Only root may have access to it.\n"
		 "'plenum token add' creates it.",
	 .example = "/etc/plenum/api.tokens"},
};
const struct spec_table spec_api_table = {TABLE(api_keys), PLACE(spec_api)};
/* clang-format on */
