/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is wanted: the declarative configuration, read from YAML into one immutable value.
 * spec_load reads /etc/plenum/plenum.yaml and the *.yaml of plenum.d beside it in name order (lists
 * are joined, scalars and maps may be given once); it returns a complete, checked spec or nothing.
 * It never looks at the host: what depends on the devices is the plan's to check. plenum.yaml(5) is
 * made from the same schema table that drives the parser.
 */
#ifndef PLENUM_NETCFG_SPEC_H
#define PLENUM_NETCFG_SPEC_H

#include "netcfg/base/addr.h"
#include "netcfg/base/diag.h"

#define SPEC_FILE_BYTES_MAX (1U << 20) /* a larger file is refused before it is parsed */
#define SPEC_DEPTH_MAX 16
/* First line of a file whose drop-ins are about to be replaced with it: they are read from the
 * folder of that name with the suffix while it is there. So that replacing both is one rename. */
#define SPEC_COMMIT_MARK \
	"# plenum: this text is being committed; plenum.d.next stands for plenum.d\n"
#define SPEC_NEXT_SUFFIX ".next"
#define SPEC_MTU_MIN 1280 /* bytes; workers start on nothing smaller (RUDP_MTU_BASE) */
#define SPEC_PORT_DEFAULT 7411
#define SPEC_ID_NOBODY 65534 /* who is nobody else: the kernel's overflow uid and gid */

enum spec_ha { SPEC_HA_NONE, SPEC_HA_DUAL_LEG, SPEC_HA_ACTIVE_BACKUP, SPEC_HA_LACP, SPEC_HA_MAX };
enum spec_role { SPEC_ROLE_FRONTEND, SPEC_ROLE_COMPUTE, SPEC_ROLE_DRIVES, SPEC_ROLE_MAX };
enum spec_transport {
	SPEC_TRANSPORT_AUTO,
	SPEC_TRANSPORT_DPDK,
	SPEC_TRANSPORT_DPDK_INTERRUPT,
	SPEC_TRANSPORT_UDP,
	SPEC_TRANSPORT_MAX
};
enum spec_fallback { SPEC_FALLBACK_DEGRADE, SPEC_FALLBACK_REFUSE, SPEC_FALLBACK_MAX };
enum spec_locks { SPEC_LOCKS_LOCAL, SPEC_LOCKS_NONE, SPEC_LOCKS_MAX };
enum spec_access { SPEC_ACCESS_RW, SPEC_ACCESS_RO, SPEC_ACCESS_MAX };
enum spec_squash { SPEC_SQUASH_NONE, SPEC_SQUASH_ROOT, SPEC_SQUASH_ALL, SPEC_SQUASH_MAX };
enum spec_submounts { SPEC_SUBMOUNTS_HIDE, SPEC_SUBMOUNTS_CROSS, SPEC_SUBMOUNTS_MAX };
/* What guards the packets between hosts. */
enum spec_security {
	SPEC_SECURITY_AUTH,
	SPEC_SECURITY_ENCRYPT,
	SPEC_SECURITY_NONE,
	SPEC_SECURITY_MAX
};
/* How a bond goes about its ports; the words are those of the kernel document networking/bonding.
 */
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
/* What of a packet says its priority. */
enum spec_trust { SPEC_TRUST_AS_FOUND, SPEC_TRUST_PCP, SPEC_TRUST_DSCP, SPEC_TRUST_MAX };
/* Of IPoIB. */
enum spec_ipoib { SPEC_IPOIB_AS_FOUND, SPEC_IPOIB_DATAGRAM, SPEC_IPOIB_CONNECTED, SPEC_IPOIB_MAX };
/* What an RDMA connection's GID is of where the program leaves it to the kernel. */
enum spec_roce { SPEC_ROCE_AS_FOUND, SPEC_ROCE_V1, SPEC_ROCE_V2, SPEC_ROCE_MAX };
/* How DPDK shares a kernel interface. auto: by AF_PACKET, for now. */
enum spec_kernel_port {
	SPEC_KERNEL_PORT_AUTO,
	SPEC_KERNEL_PORT_AF_PACKET,
	SPEC_KERNEL_PORT_AF_XDP,
	SPEC_KERNEL_PORT_MAX
};
enum spec_tristate { SPEC_AUTO, SPEC_OFF, SPEC_ON, SPEC_TRISTATE_MAX };
/* on: it is a reason to be degraded where it is not; only: and nothing else will do. */
enum spec_rdma { SPEC_RDMA_AUTO, SPEC_RDMA_OFF, SPEC_RDMA_ON, SPEC_RDMA_ONLY, SPEC_RDMA_MAX };

const char *spec_ha_to_string(enum spec_ha v);
const char *spec_role_to_string(enum spec_role v);
const char *spec_transport_to_string(enum spec_transport v);
/* "" where nothing is asked. */
const char *spec_ipoib_to_string(enum spec_ipoib v);
const char *spec_roce_to_string(enum spec_roce v);
const char *spec_squash_to_string(enum spec_squash v);
const char *spec_hash_to_string(enum spec_hash v);
const char *spec_lacp_rate_to_string(enum spec_lacp_rate v);
const char *spec_select_to_string(enum spec_select v);
const char *spec_reselect_to_string(enum spec_reselect v);
const char *spec_fallback_to_string(enum spec_fallback v);
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

struct spec_dcb { /* what is left out stays as it is */
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
#define SPEC_LABEL_AUTO "auto" /* the switch's own name, by LLDP */

struct spec_net { /* one data device: a leg, or a port of a bond */
	char name[PLENUM_NAME_MAX];
	char device[PLENUM_NAME_MAX];  /* PCI address, MAC or interface name, as written */
	char network[PLENUM_NAME_MAX]; /* name of a spec_network; "" where shared_ip */
	char label[PLENUM_NAME_MAX];   /* switch; "": the leg's own name; or SPEC_LABEL_AUTO */
	int vfs;		       /* SPEC_VFS_AUTO or a count */
	/* Of its VFs; SPEC_AUTO, and 0: as their driver makes them. */
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
	uint32_t roce_tos;    /* 0: as it is */
	uint32_t udp_sources; /* UDP ports that a worker sends from */
	bool soft_roce;	      /* with an RDMA device in software, where it has none of its own */
	bool enabled;	      /* false: not configured */
	bool shared_ip;	      /* on the host's own address of the device, which is left as it is */
	struct diag_pos pos;
};

struct spec_bond { /* name == "": nothing is said of it */
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
	uint32_t soft_s; /* how long requests wait before they fail; 0: hard, they wait */
	enum spec_locks locks;
	bool suid, dev; /* whether set-id bits and device nodes work, as in mount(8) */
	struct diag_pos pos;
};

struct spec_ids { /* count ids from these on; the client's are never above UINT32_MAX - 1 */
	uint32_t client, server, count;
	struct diag_pos pos;
};

struct spec_client { /* who may use an export, and how; without hosts and networks: anyone else */
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
	struct spec_client *clients; /* the first that fits counts; none: anyone, by the defaults */
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
	uint32_t sessions; /* of each core, compute only; 0: not given */
	struct diag_pos pos;
};

struct spec_peer { /* where another host's workers are found */
	char name[PLENUM_NAME_MAX];
	struct ip_addr *ips; /* any of its workers' data IPs; the rest are learnt from it */
	size_t n_ips;
	uint16_t port; /* 0: the same as ours */
	struct diag_pos pos;
};

struct spec_cluster { /* name == "": there is none */
	char name[PLENUM_NAME_MAX];
	char **etcd;
	size_t n_etcd;
	char *secret_file; /* NULL: none, where security is none */
	enum spec_security security;
	struct diag_pos pos;
};

struct spec {
	char host[PLENUM_NAME_MAX];
	bool host_is_default;	       /* no file names it: it is the hostname */
	char management_interface[16]; /* "": not named */
	uint16_t port;		       /* UDP port of the workers' data IPs */
	enum spec_ha ha;
	struct spec_bond bond;
	char **ha_allow; /* rules of the mode that shall not hold */
	size_t n_ha_allow;
	uint32_t ha_hold_s;	/* 0: not given */
	struct diag_pos ha_pos; /* line 0: the file says nothing of it */
	enum spec_fallback on_fallback;
	bool fault_injection; /* whether 'plenum fault' may make faults */
	uint32_t rdma_read_min_kib, rdma_write_min_kib;
	uint32_t confirm_s; /* 0: not given: disruptive changes are not waited for */
	struct spec_network *networks;
	size_t n_networks;
	struct spec_net *nets;
	size_t n_nets;
	struct spec_net *net_sets; /* always empty: what changes nets is in them */
	size_t n_net_sets;
	struct spec_worker *workers;
	size_t n_workers;
	struct spec_peer *peers;
	size_t n_peers;
	char **admin_users, **admin_groups; /* who may make changes beside root: names or numbers */
	size_t n_admin_users, n_admin_groups;
	struct spec_cluster cluster;
	char **files; /* what it was read from; the pos members point into it */
	size_t n_files;
};

/*
 * Reads `file` and, where dropin_dir is not NULL and exists, its *.yaml. 0 and *ret (free with
 * spec_free); -EINVAL with the errors in d; another negative errno for files that could not be read
 * (also in d). Nothing of *ret is set on failure.
 */
int spec_load(const char *file, const char *dropin_dir, struct diag *d, struct spec **ret);
/* The same from memory; `name` stands for the file's name in messages. */
int spec_parse(const char *name, const char *text, size_t len, struct diag *d, struct spec **ret);
/* For another machine's configuration: the name of that one, where no file names it and this is a
 * valid one. */
void spec_set_default_host(struct spec *s, const char *host);
struct spec *spec_free(struct spec *s); /* accepts NULL, returns NULL */

/* Whether it could stand in the file as a name of something. */
bool spec_name_is_valid(const char *text);
/* The normal form: every key, defaults filled in; it parses back to an equal spec. Heap, caller
 * frees. */
char *spec_to_yaml(const struct spec *s);
/* One data device as a JSON object, every key of the schema; those that are not set are null. Heap,
 * caller frees. */
char *spec_net_to_json(const struct spec_net *net);
/* A key that differs: "networks[data-a].mtu", and both values as they are written, "" where it is
 * not set; of an entry that only one has, the entry and its name. */
typedef void (*spec_difference)(void *user, const char *path, const char *was, const char *will);
void spec_compare(const struct spec *a, const struct spec *b, spec_difference each, void *user);
/* JSON Schema (2020-12) of the YAML, from the schema table. Heap, caller frees. */
char *spec_json_schema(void);
/* The key table as mdoc(7) rows for plenum.yaml(5). Heap, caller frees. */
char *spec_man_table(void);

#endif
