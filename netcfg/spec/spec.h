/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The desired configuration, read from YAML into one immutable value. spec_load reads
 * /etc/plenum/plenum.yaml and the *.yaml of plenum.d beside it in name order (lists are joined,
 * scalars and maps may occur once); it returns a complete, checked spec or nothing. It never looks
 * at the host: the plan checks what depends on the devices. plenum.yaml(5) is generated from the
 * schema table that drives the parser.
 */
#ifndef PLENUM_NETCFG_SPEC_H
#define PLENUM_NETCFG_SPEC_H

#include "netcfg/base/addr.h"
#include "netcfg/base/diag.h"

#define SPEC_FILE_BYTES_MAX (1U << 20) /* a larger file is refused before it is parsed */
#define SPEC_DEPTH_MAX 16
/* First line of a main file that is being replaced together with its drop-ins. While the folder
 * with the suffix .next exists, the drop-ins are read from it, so that one rename replaces both. */
#define SPEC_COMMIT_MARK \
	"# plenum: this text is being committed; plenum.d.next stands for plenum.d\n"
#define SPEC_NEXT_SUFFIX ".next"
#define SPEC_MTU_MIN 1280 /* bytes; workers start on nothing smaller (RUDP_MTU_BASE) */
#define SPEC_PORT_DEFAULT 7411
#define SPEC_API_PORT_DEFAULT 7443 /* TCP */
#define SPEC_ID_NOBODY 65534	   /* the kernel's overflow uid and gid, for unmapped users */

/* Modes of ha, roles and transports: one line each, with the name in YAML. A role and a transport
 * have the same name in enum launch_role and enum launch_transport. */
#define SPEC_HA_MODES(X)                  \
	X(NONE, "none")                   \
	X(DUAL_LEG, "dual-leg")           \
	X(ACTIVE_BACKUP, "active-backup") \
	X(LACP, "lacp")
#define SPEC_ROLES(X)           \
	X(FRONTEND, "frontend") \
	X(COMPUTE, "compute")   \
	X(DRIVES, "drives")
#define SPEC_TRANSPORTS(X) /* beside auto */ \
	X(DPDK, "dpdk")                      \
	X(DPDK_INTERRUPT, "dpdk-interrupt")  \
	X(UDP, "udp")
#define SPEC_HA_MEMBER(name, text) SPEC_HA_##name,
#define SPEC_ROLE_MEMBER(name, text) SPEC_ROLE_##name,
#define SPEC_TRANSPORT_MEMBER(name, text) SPEC_TRANSPORT_##name,
enum spec_ha { SPEC_HA_MODES(SPEC_HA_MEMBER) SPEC_HA_MAX };
enum spec_role { SPEC_ROLES(SPEC_ROLE_MEMBER) SPEC_ROLE_MAX };
enum spec_transport {
	SPEC_TRANSPORT_AUTO,
	SPEC_TRANSPORTS(SPEC_TRANSPORT_MEMBER) SPEC_TRANSPORT_MAX
};
enum spec_fallback { SPEC_FALLBACK_DEGRADE, SPEC_FALLBACK_REFUSE, SPEC_FALLBACK_MAX };
enum spec_locks { SPEC_LOCKS_LOCAL, SPEC_LOCKS_NONE, SPEC_LOCKS_MAX };
enum spec_access { SPEC_ACCESS_RW, SPEC_ACCESS_RO, SPEC_ACCESS_MAX };
enum spec_squash { SPEC_SQUASH_NONE, SPEC_SQUASH_ROOT, SPEC_SQUASH_ALL, SPEC_SQUASH_MAX };
enum spec_submounts { SPEC_SUBMOUNTS_HIDE, SPEC_SUBMOUNTS_CROSS, SPEC_SUBMOUNTS_MAX };
/* How packets between hosts are protected. */
enum spec_security {
	SPEC_SECURITY_AUTH,
	SPEC_SECURITY_ENCRYPT,
	SPEC_SECURITY_NONE,
	SPEC_SECURITY_MAX
};
/* Bond settings, named as in the kernel document networking/bonding. */
enum spec_hash {
	SPEC_HASH_LAYER34,
	SPEC_HASH_LAYER23,
	SPEC_HASH_LAYER2,
	SPEC_HASH_ENCAP34,
	SPEC_HASH_ENCAP23,
	SPEC_HASH_MAX
};
enum spec_lacp_rate { SPEC_LACP_FAST, SPEC_LACP_SLOW, SPEC_LACP_MAX };
enum spec_select { SPEC_SELECT_STABLE, SPEC_SELECT_BANDWIDTH, SPEC_SELECT_COUNT, SPEC_SELECT_MAX };
enum spec_reselect {
	SPEC_RESELECT_ALWAYS,
	SPEC_RESELECT_BETTER,
	SPEC_RESELECT_FAILURE,
	SPEC_RESELECT_MAX
};
/* Which field of a packet determines its priority. */
enum spec_trust { SPEC_TRUST_AS_FOUND, SPEC_TRUST_PCP, SPEC_TRUST_DSCP, SPEC_TRUST_MAX };
/* IPoIB mode. */
enum spec_ipoib { SPEC_IPOIB_AS_FOUND, SPEC_IPOIB_DATAGRAM, SPEC_IPOIB_CONNECTED, SPEC_IPOIB_MAX };
/* GID type of RDMA connections whose program leaves it to the kernel. */
enum spec_roce { SPEC_ROCE_AS_FOUND, SPEC_ROCE_V2, SPEC_ROCE_MAX };
/* How DPDK uses a kernel interface. auto: AF_PACKET at present. */
enum spec_kernel_port {
	SPEC_KERNEL_PORT_AUTO,
	SPEC_KERNEL_PORT_AF_PACKET,
	SPEC_KERNEL_PORT_AF_XDP,
	SPEC_KERNEL_PORT_MAX
};
enum spec_tristate { SPEC_AUTO, SPEC_OFF, SPEC_ON, SPEC_TRISTATE_MAX };
/* on: the worker is degraded without RDMA; only: the worker requires it. */
enum spec_rdma { SPEC_RDMA_AUTO, SPEC_RDMA_OFF, SPEC_RDMA_ON, SPEC_RDMA_ONLY, SPEC_RDMA_MAX };

const char *spec_ha_to_string(enum spec_ha v);
const char *spec_role_to_string(enum spec_role v);
const char *spec_transport_to_string(enum spec_transport v);
/* "" where the spec does not set it. */
const char *spec_ipoib_to_string(enum spec_ipoib v);
const char *spec_roce_to_string(enum spec_roce v);
const char *spec_squash_to_string(enum spec_squash v);
const char *spec_hash_to_string(enum spec_hash v);
const char *spec_lacp_rate_to_string(enum spec_lacp_rate v);
const char *spec_select_to_string(enum spec_select v);
const char *spec_reselect_to_string(enum spec_reselect v);
const char *spec_security_to_string(enum spec_security v);

struct spec_network { /* where addresses come from */
	char name[PLENUM_NAME_MAX];
	struct ip_range range;
	struct ip_addr gateway; /* family 0: none */
	uint32_t mtu;		/* bytes, SPEC_MTU_MIN or more; 0: leave as it is */
	uint16_t vlan;		/* 802.1Q tag 1-4094; 0: untagged */
	struct diag_pos pos;
};

#define SPEC_PRIOS 8 /* 802.1p priorities, and at most as many traffic classes */
#define SPEC_DSCPS 64

struct spec_ets { /* a traffic class */
	uint32_t tc;
	uint32_t *prios;
	size_t n_prios;
	uint32_t bandwidth; /* percent; 0: strict */
	struct diag_pos pos;
};

struct spec_dscp {
	uint32_t dscp, prio;
	struct diag_pos pos;
};

struct spec_dcb { /* omitted keys stay unchanged on the device */
	uint32_t *pfc;
	size_t n_pfc;
	enum spec_trust trust;
	struct spec_dscp *dscp;
	size_t n_dscp;
	struct spec_ets *ets;
	size_t n_ets;
	struct diag_pos pos;
};

#define SPEC_VFS_AUTO (-1)
#define SPEC_LABEL_AUTO "auto" /* the switch's name, from LLDP */

struct spec_net { /* one data device: a leg, or a port of a bond */
	char name[PLENUM_NAME_MAX];
	char device[PLENUM_NAME_MAX];  /* PCI address, MAC or interface name, as written */
	char network[PLENUM_NAME_MAX]; /* name of a spec_network; "" where shared_ip */
	char label[PLENUM_NAME_MAX];   /* switch; "": the leg's own name; or SPEC_LABEL_AUTO */
	int vfs;		       /* SPEC_VFS_AUTO or a count */
	/* For its VFs; SPEC_AUTO and 0: the driver's defaults. */
	enum spec_tristate vf_spoof_check, vf_trust;
	uint32_t vf_rate_mbps;
	enum spec_kernel_port kernel_port;
	enum spec_rdma rdma;
	struct ip_range
		*ips; /* explicit addresses, in order; n_ips == 0: from the network's range */
	size_t n_ips; /* entries; each stands for ip_range_count() addresses */
	struct spec_dcb dcb;
	enum spec_ipoib ipoib_mode;
	enum spec_roce roce_mode;
	uint32_t roce_tos;    /* 0: unchanged */
	uint32_t udp_sources; /* source UDP ports of a worker */
	bool soft_roce;	      /* use a software RDMA device where there is no hardware one */
	bool enabled;	      /* false: not configured */
	bool shared_ip;	      /* uses the host's address of the device, which is not reconfigured */
	struct diag_pos pos;
};

struct spec_bond { /* name == "": not set */
	char name[16];
	enum spec_hash hash;
	enum spec_lacp_rate rate;
	enum spec_select select;
	enum spec_reselect reselect;
	uint32_t min_links;	       /* 0: as 1 */
	char primary[PLENUM_NAME_MAX]; /* a spec_net; "": none */
	struct diag_pos pos;
};

struct spec_mount {
	char *path;			 /* absolute */
	char from_host[PLENUM_NAME_MAX]; /* "storage-01/scratch" -> "storage-01" */
	char from_export[PLENUM_NAME_MAX];
	bool read_only;
	uint32_t soft_s; /* seconds until requests fail; 0: hard, they wait for ever */
	enum spec_locks locks;
	bool suid, dev; /* honour set-id bits and device nodes, as in mount(8) */
	struct diag_pos pos;
};

struct spec_ids { /* count ids, starting here; the client's never exceed UINT32_MAX - 1 */
	uint32_t client, server, count;
	struct diag_pos pos;
};

struct spec_client { /* which clients may use an export, and how; without hosts and networks: all
			others */
	char **hosts;
	size_t n_hosts;
	struct ip_prefix *networks;
	size_t n_networks;
	enum spec_access access;
	enum spec_squash squash;
	uint32_t anonuid, anongid;
	struct spec_ids *uid_map, *gid_map;
	size_t n_uid_map, n_gid_map;
	struct diag_pos pos;
};

struct spec_export {
	char name[PLENUM_NAME_MAX];
	char *path; /* absolute */
	bool read_only;
	enum spec_submounts submounts;
	struct spec_client
		*clients; /* the first match counts; none: all clients, with the defaults */
	size_t n_clients;
	struct diag_pos pos;
};

struct spec_worker { /* one entry; it stands for n_cores workers */
	enum spec_role role;
	enum spec_transport transport;
	unsigned *cores; /* in the order written, no duplicates */
	size_t n_cores;
	struct spec_mount *mounts; /* frontend only */
	size_t n_mounts;
	struct spec_export *exports; /* compute only */
	size_t n_exports;
	uint32_t sessions; /* per core, compute only; 0: not set */
	struct diag_pos pos;
};

struct spec_peer { /* data IPs of another host's workers */
	char name[PLENUM_NAME_MAX];
	struct ip_addr
		*ips; /* any of its workers' data IPs; the client learns the others from it */
	size_t n_ips;
	uint16_t port; /* 0: the same as this host's */
	struct diag_pos pos;
};

struct spec_cluster { /* name == "": not configured */
	char name[PLENUM_NAME_MAX];
	char **etcd;
	size_t n_etcd;
	char *secret_file; /* NULL: none, because security is none */
	enum spec_security security;
	struct diag_pos pos;
};

struct spec_api { /* the REST API by TCP; listen.family == 0: not configured */
	struct ip_addr listen;
	uint16_t port;
	char *certificate, *key, *tokens; /* absolute paths */
	struct diag_pos pos;
};

/* A value of a file that an entry of net-set replaces, with both places. */
struct spec_override {
	char name[PLENUM_NAME_MAX];	     /* of the entry of net */
	char *key, *value, *overridden;	     /* the values as YAML */
	struct diag_pos pos, overridden_pos; /* of the values */
};

struct spec {
	char host[PLENUM_NAME_MAX];
	bool host_is_default;	       /* no file sets it: it is the hostname */
	char management_interface[16]; /* "": not set */
	uint16_t port;		       /* UDP port of the workers' data IPs */
	enum spec_ha ha;
	struct spec_bond bond;
	char **ha_allow; /* rules of the HA mode to ignore */
	size_t n_ha_allow;
	uint32_t ha_hold_s;	/* 0: not set */
	struct diag_pos ha_pos; /* line 0: the file has no ha key */
	enum spec_fallback on_fallback;
	bool fault_injection; /* whether 'plenum fault' may inject faults */
	uint32_t rdma_read_min_kib, rdma_write_min_kib;
	uint32_t confirm_s; /* 0: not set: disruptive changes need no confirmation */
	struct spec_network *networks;
	size_t n_networks;
	struct spec_net *nets;
	size_t n_nets;
	struct spec_net *net_sets; /* always empty: changes of nets are merged into them */
	size_t n_net_sets;
	struct spec_override *overrides; /* of them; without those that change nothing */
	size_t n_overrides;
	struct spec_worker *workers;
	size_t n_workers;
	struct spec_peer *peers;
	size_t n_peers;
	char **admin_users, **admin_groups; /* users and groups that may change the configuration
					       besides root: names or numbers */
	size_t n_admin_users, n_admin_groups;
	struct spec_cluster cluster;
	struct spec_api api;
	char **files; /* the files read; the pos members point into it */
	size_t n_files;
};

/*
 * Reads `file` and, where dropin_dir is not NULL and exists, its *.yaml. 0 and *ret (free with
 * spec_free); -EINVAL with the errors in d; another negative errno for files that could not be read
 * (also in d). Nothing of *ret is set on failure.
 */
int spec_load(const char *file, const char *dropin_dir, struct diag *d, struct spec **ret);
/* The same from memory; messages show `name` as the file's name. */
int spec_parse(const char *name, const char *text, size_t len, struct diag *d, struct spec **ret);
/* Sets the host name of another machine's configuration where no file sets it and the name is
 * valid. */
void spec_set_default_host(struct spec *s, const char *host);
struct spec *spec_free(struct spec *s); /* accepts NULL, returns NULL */

/* The file that `plenum net` maintains, in the folder of drop-ins. */
#define SPEC_CLI_FILE "50-cli.yaml"
/* Whether the replaced value is another than in `before`, the configuration that runs: the file was
 * edited, without an effect. before NULL: false. */
bool spec_override_is_edited(const struct spec_override *o, const struct spec *before);
/* Adds a note that says which value counts, where both are, and how the override ends; a warning
 * where the replaced value was edited. */
void spec_override_note(const struct spec_override *o, const struct spec *before, struct diag *d);
/* The same for all overrides. */
void spec_note_overrides(const struct spec *s, const struct spec *before, struct diag *d);

/* Whether packets between hosts are protected with a key. */
bool spec_has_key(const struct spec *s);
/* The IPs of all peers whose names match this host name. Returns their number; the first `max` are
 * in ret. */
size_t spec_host_ips(const struct spec *s, const char *host, struct ip_addr *ret, size_t max);
/* Whether the text is a valid name. */
bool spec_name_is_valid(const char *text);
/* The normal form: every key, defaults filled in; it parses back to an equal spec. Heap, caller
 * frees. */
char *spec_to_yaml(const struct spec *s);
/* The same as a JSON object, which is also YAML; heap, NULL: out of memory. */
char *spec_to_json(const struct spec *s);
/* One data device as a JSON object with every key of the schema; keys that are not set are null.
 * Heap, caller frees. */
char *spec_net_to_json(const struct spec_net *net);
/* Called for each difference: "networks[data-a].mtu" and both values as text, "" where not set;
 * for an entry that only one spec has, the entry and its name. */
typedef void (*spec_difference)(void *user, const char *path, const char *was, const char *will);
void spec_compare(const struct spec *a, const struct spec *b, spec_difference each, void *user);
/* JSON Schema (2020-12) of the YAML, from the schema table. Heap, caller frees. */
char *spec_json_schema(void);
/* The key table as mdoc(7) rows for plenum.yaml(5). Heap, caller frees. */
char *spec_man_table(void);

#endif
