/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The desired configuration, read from YAML into one immutable value. spec_load reads
 * /etc/plenum/plenum.yaml, and then the *.yaml files of plenum.d beside it in the order of their
 * names. Lists of several files are joined; scalars and maps may occur only once. The result is a
 * complete, checked spec or an error. It does not depend on the host: the plan checks what depends
 * on devices. The table that drives the parser also generates plenum.yaml(5).
 */
#ifndef PLENUM_NETCFG_SPEC_H
#define PLENUM_NETCFG_SPEC_H

#include "netcfg/base/addr.h"
#include "netcfg/base/diag.h"

#define SPEC_FILE_BYTES_MAX (1U << 20) /* a larger file is rejected before it is parsed */
#define SPEC_DEPTH_MAX 16
/* The first line of a main file while it and its drop-in files are being replaced together. If the
 * main file has this mark, the drop-in files are read from the folder with the suffix .next while
 * that folder exists. So the rename of the main file replaces all files at once. */
#define SPEC_COMMIT_MARK \
	"# plenum: this text is being committed; plenum.d.next stands for plenum.d\n"
#define SPEC_NEXT_SUFFIX ".next"
/* Minimum MTU in bytes; workers do not start with a smaller MTU (RUDP_MTU_BASE). */
#define SPEC_MTU_MIN 1280
/* Limits of a mount: throughput in kB/s, and operations per second. */
#define SPEC_RATE_MIN 100U
#define SPEC_RATE_MAX 1000000000U
#define SPEC_OPERATIONS_MAX 10000000U
#define SPEC_RATE_TEXT_MAX 16
#define SPEC_PORT_DEFAULT 7411
#define SPEC_API_PORT_DEFAULT 7443 /* a TCP port */
#define SPEC_ID_NOBODY 65534	   /* the kernel's overflow uid and gid, which unmapped users get */

/* Modes of ha: the name in YAML, whether the devices become ports of a bond, and the help. */
#define SPEC_HA_MODES(X)                                                                           \
	X(NONE, "none", false, "one leg without redundancy.")                                      \
	X(DUAL_LEG, "dual-leg", false,                                                             \
	  "two or more independent legs, each on its own network; traffic uses all of them at"     \
	  " once. With VFs each worker has one VF and one address on every device.")               \
	X(ACTIVE_BACKUP, "active-backup", true,                                                    \
	  "a bond in which one port carries traffic. If 'vfs' is set on each device, there is no " \
	  "bond: each worker has a VF of every device, and one address. The address is on the VF " \
	  "of the first device while this device has a link, and on the next device's VF "         \
	  "otherwise.")                                                                            \
	X(LACP, "lacp", true,                                                                      \
	  "a bond by IEEE 802.1AX in which all ports carry traffic; the switch needs LACP on its"  \
	  " ports.")                                                                               \
	X(STATIC_LAG, "static-lag", true,                                                          \
	  "a bond without LACP in which all ports carry traffic; the switch must have joined its"  \
	  " ports into one LAG by hand. The host sees only whether its ports have a carrier.")
/* Roles and transports, each with its name in YAML on one line. They have the same names in enum
 * launch_role and enum launch_transport. */
#define SPEC_ROLES(X)           \
	X(FRONTEND, "frontend") \
	X(COMPUTE, "compute")   \
	X(DRIVES, "drives")
#define SPEC_TRANSPORTS(X) /* Transports that the spec can name, in addition to auto. */ \
	X(DPDK, "dpdk")                                                                  \
	X(DPDK_INTERRUPT, "dpdk-interrupt")                                              \
	X(UDP, "udp")
#define SPEC_HA_MEMBER(name, text, bonds, help) SPEC_HA_##name,
#define SPEC_ROLE_MEMBER(name, text) SPEC_ROLE_##name,
#define SPEC_TRANSPORT_MEMBER(name, text) SPEC_TRANSPORT_##name,
enum spec_ha { SPEC_HA_MODES(SPEC_HA_MEMBER) SPEC_HA_MAX };
enum spec_role { SPEC_ROLES(SPEC_ROLE_MEMBER) SPEC_ROLE_MAX };
enum spec_transport {
	SPEC_TRANSPORT_AUTO,
	SPEC_TRANSPORTS(SPEC_TRANSPORT_MEMBER) SPEC_TRANSPORT_MAX
};
enum spec_fallback { SPEC_FALLBACK_DEGRADE, SPEC_FALLBACK_REFUSE, SPEC_FALLBACK_MAX };
enum spec_locks { SPEC_LOCKS_LOCAL, SPEC_LOCKS_NONE, SPEC_LOCKS_CLUSTER, SPEC_LOCKS_MAX };
enum spec_access { SPEC_ACCESS_RW, SPEC_ACCESS_RO, SPEC_ACCESS_MAX };
enum spec_squash { SPEC_SQUASH_NONE, SPEC_SQUASH_ROOT, SPEC_SQUASH_ALL, SPEC_SQUASH_MAX };
enum spec_submounts { SPEC_SUBMOUNTS_HIDE, SPEC_SUBMOUNTS_CROSS, SPEC_SUBMOUNTS_MAX };
/* How packets between hosts are protected. */
/* In the order of their names in the schema. */
enum spec_cluster_config { SPEC_CLUSTER_CONFIG_OFF, SPEC_CLUSTER_CONFIG_FOLLOW };
enum spec_identity { SPEC_IDENTITY_OFF, SPEC_IDENTITY_ACCEPT, SPEC_IDENTITY_REQUIRE };
enum spec_security {
	SPEC_SECURITY_AUTH,
	SPEC_SECURITY_ENCRYPT,
	SPEC_SECURITY_NONE,
	SPEC_SECURITY_MAX
};
/* Settings of a bond, with the names of the kernel document networking/bonding. */
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
/* The field of a packet that determines the packet's priority. */
enum spec_trust { SPEC_TRUST_AS_FOUND, SPEC_TRUST_PCP, SPEC_TRUST_DSCP, SPEC_TRUST_MAX };
/* Mode of an IPoIB interface. */
enum spec_ipoib { SPEC_IPOIB_AS_FOUND, SPEC_IPOIB_DATAGRAM, SPEC_IPOIB_CONNECTED, SPEC_IPOIB_MAX };
/* Queueing disciplines of a device, with their names in YAML and in the kernel. */
#define SPEC_QDISCS(X)          \
	X(FQ, "fq")             \
	X(FQ_CODEL, "fq_codel") \
	X(PFIFO, "pfifo")
#define SPEC_QDISC_MEMBER(name, text) SPEC_QDISC_##name,
enum spec_qdisc { SPEC_QDISC_AS_FOUND, SPEC_QDISCS(SPEC_QDISC_MEMBER) SPEC_QDISC_MAX };
/* GID type for RDMA connections of programs that do not choose one. */
enum spec_roce { SPEC_ROCE_AS_FOUND, SPEC_ROCE_V2, SPEC_ROCE_MAX };
/* How DPDK accesses an interface that the kernel keeps. auto currently means AF_PACKET. */
enum spec_kernel_port {
	SPEC_KERNEL_PORT_AUTO,
	SPEC_KERNEL_PORT_AF_PACKET,
	SPEC_KERNEL_PORT_AF_XDP,
	SPEC_KERNEL_PORT_MAX
};
enum spec_tristate { SPEC_AUTO, SPEC_OFF, SPEC_ON, SPEC_TRISTATE_MAX };
/* on: a worker without RDMA counts as degraded. only: a worker does not send bulk data without
 * RDMA. */
enum spec_rdma { SPEC_RDMA_AUTO, SPEC_RDMA_OFF, SPEC_RDMA_ON, SPEC_RDMA_ONLY, SPEC_RDMA_MAX };

const char *spec_ha_to_string(enum spec_ha v);
/* Returns whether the data devices become ports of a bond in this mode. Devices with VFs do not. */
bool spec_ha_bonds(enum spec_ha v);
/* Writes the names of these modes into buf, such as "active-backup or lacp"; returns buf. */
#define SPEC_HA_NAMES_MAX 80
char *spec_ha_bond_names(char buf[static SPEC_HA_NAMES_MAX]);
const char *spec_role_to_string(enum spec_role v);
const char *spec_transport_to_string(enum spec_transport v);
/* Both functions return "" for the value that stands for a missing key. */
const char *spec_ipoib_to_string(enum spec_ipoib v);
const char *spec_qdisc_to_string(enum spec_qdisc v);
const char *spec_roce_to_string(enum spec_roce v);
const char *spec_squash_to_string(enum spec_squash v);
const char *spec_hash_to_string(enum spec_hash v);
const char *spec_lacp_rate_to_string(enum spec_lacp_rate v);
const char *spec_select_to_string(enum spec_select v);
const char *spec_reselect_to_string(enum spec_reselect v);
const char *spec_security_to_string(enum spec_security v);

struct spec_network { /* a network, from which legs get addresses */
	char name[PLENUM_NAME_MAX];
	/* The pool of the cluster from which this host takes its addresses; "": the addresses are
	 * in `range`. For a network with a pool, plan_build() sets the members from range to vlan
	 * to the known values of the pool. */
	char pool[PLENUM_NAME_MAX];
	/* first.family 0: the network has a pool whose range is not known yet */
	struct ip_range range;
	struct ip_addr gateway; /* family 0: none */
	uint32_t mtu;		/* MTU in bytes, at least SPEC_MTU_MIN; 0: the MTU stays
				   unchanged */
	uint16_t vlan;		/* 802.1Q tag 1-4094; 0: untagged */
	/* The addresses of the pool that this host owns, in the order of the worker ids; borrowed,
	 * and set only by plan_build(). */
	const struct ip_addr *taken;
	size_t n_taken;
	struct diag_pos pos;
};

#define SPEC_PRIOS 8 /* 802.1p priorities; also the maximum number of traffic classes */
#define SPEC_DSCPS 64

struct spec_ets { /* a traffic class */
	uint32_t tc;
	uint32_t *prios;
	size_t n_prios;
	uint32_t bandwidth; /* bandwidth in percent; 0: strict priority */
	struct diag_pos pos;
};

struct spec_dscp {
	uint32_t dscp, prio;
	struct diag_pos pos;
};

struct spec_dcb { /* keys that are omitted do not change the device */
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
#define SPEC_LABEL_AUTO "auto" /* the leg's label is the switch's name, from LLDP */

/* Selects the device of a leg by its properties: a device matches if it has all that are set. */
#define SPEC_MATCH_TEXT_MAX 320
struct spec_match {
	/* patterns of fnmatch(3); "": not set */
	char driver[PLENUM_NAME_MAX], name[PLENUM_NAME_MAX];
	char mac[PLENUM_NAME_MAX], pci[PLENUM_NAME_MAX]; /* upper and lower case are equal */
	struct ip_prefix *subnets; /* the device has an address in one of these subnets */
	size_t n_subnets;
	uint32_t min_speed_mbps; /* 0: not set */
	uint32_t numa;		 /* the number of the NUMA node plus one; 0: not set */
	struct diag_pos pos;
};

struct spec_net { /* a data device, which becomes a leg or a port of a bond */
	char name[PLENUM_NAME_MAX];
	/* A PCI address, MAC or interface name, as in the file. "": `match` selects the device;
	 * then plan_build() sets the name of the selected interface in its copy. */
	char device[PLENUM_NAME_MAX];
	struct spec_match match;
	char network[PLENUM_NAME_MAX]; /* name of a spec_network; "" with shared_ip */
	/* name of the switch; "": the leg's own name is the label; SPEC_LABEL_AUTO: the name comes
	 * from LLDP */
	char label[PLENUM_NAME_MAX];
	int vfs; /* SPEC_VFS_AUTO or a number */
	/* Settings of the device's VFs; SPEC_AUTO and 0 leave the driver's defaults. */
	enum spec_tristate vf_spoof_check, vf_trust;
	uint32_t vf_rate_mbps;
	enum spec_kernel_port kernel_port;
	enum spec_rdma rdma;
	/* explicit addresses in order; if empty, the leg takes addresses from the network's range
	 */
	struct ip_range *ips;
	size_t n_ips; /* count of entries; each has ip_range_count() addresses */
	struct spec_dcb dcb;
	enum spec_ipoib ipoib_mode;
	enum spec_qdisc qdisc;
	enum spec_roce roce_mode;
	uint32_t roce_tos;    /* 0: the traffic class stays unchanged */
	uint32_t udp_sources; /* count of UDP source ports of a worker */
	bool soft_roce;	      /* create a software RDMA device if the port has no hardware device */
	bool enabled;	      /* false: the leg is not configured */
	bool shared_ip;	      /* uses the host's address on the device, which is not reconfigured */
	struct diag_pos pos;
};

struct spec_bond { /* name "": no bond is configured */
	char name[16];
	enum spec_hash hash;
	enum spec_lacp_rate rate;
	enum spec_select select;
	enum spec_reselect reselect;
	uint32_t min_links;	       /* 0 means 1 */
	char primary[PLENUM_NAME_MAX]; /* name of a spec_net; "": none */
	struct diag_pos pos;
};

struct spec_mount {
	char *path;			 /* absolute path */
	char from_host[PLENUM_NAME_MAX]; /* "storage-01" of "storage-01/scratch" */
	char from_export[PLENUM_NAME_MAX];
	bool read_only;
	uint32_t soft_s; /* seconds until requests fail; 0: requests wait without a limit (hard) */
	enum spec_locks locks;
	bool write_back;
	bool suid, dev;		 /* set-user-ID bits and device nodes take effect, as in mount(8) */
	uint32_t max_kbs;	 /* limit of throughput in kB/s; 0: none */
	uint32_t max_operations; /* limit of operations per second; 0: none */
	struct diag_pos pos;
};

/* maps the `count` ids that begin at `client` to the ids that begin at `server`; no id of a client
 * exceeds UINT32_MAX - 1 */
struct spec_ids {
	uint32_t client, server, count;
	struct diag_pos pos;
};

/* clients that may use an export, and their rights; without hosts and networks: all other
 * clients */
struct spec_client {
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
	char *path; /* absolute path */
	bool read_only;
	enum spec_submounts submounts;
	/* the first entry that matches a client counts; without entries, all clients have access
	 * with the defaults */
	struct spec_client *clients;
	size_t n_clients;
	struct diag_pos pos;
};

struct spec_worker { /* one entry of the configuration, which stands for n_cores workers */
	enum spec_role role;
	enum spec_transport transport;
	unsigned *cores; /* cores in the order of the file, without duplicates */
	size_t n_cores;
	struct spec_mount *mounts; /* mounts; only for role frontend */
	size_t n_mounts;
	struct spec_export *exports; /* exports; only for role compute */
	size_t n_exports;
	/* maximum number of sessions per core, only for role compute; 0: not set */
	uint32_t sessions;
	struct diag_pos pos;
};

struct spec_peer { /* another host, with data IPs of its workers */
	char name[PLENUM_NAME_MAX];
	/* data IPs of any of the host's workers; the client gets the other data IPs from that
	 * worker */
	struct ip_addr *ips;
	size_t n_ips;
	uint16_t port; /* UDP port of the host; 0: the port that this host uses */
	struct diag_pos pos;
};

struct spec_cluster { /* name "": no cluster is configured */
	char name[PLENUM_NAME_MAX];
	char **etcd; /* URLs; none: hosts and servers are not registered */
	size_t n_etcd;
	char *etcd_ca;			 /* path of the CA certificates; NULL: none */
	char etcd_user[PLENUM_NAME_MAX]; /* user name for etcd; "": no authentication */
	char *etcd_password_file;	 /* path of the password file; NULL only if etcd_user is
					    NULL */
	char *secret_file;		 /* path of the key file; NULL: `security` is none, which
					    needs no key */
	enum spec_security security;
	enum spec_identity identity; /* whether hosts prove their identities */
	char *identity_dir; /* folder of the files of this host's identity; NULL: the default */
	enum spec_cluster_config config; /* whether this host takes the cluster's document */
	bool probe_legs;		 /* whether legs probe the legs of other hosts */
	struct diag_pos pos;
};

struct spec_api { /* the REST API over TCP; listen.family 0: not configured */
	struct ip_addr listen;
	uint16_t port;
	char *certificate, *key, *tokens; /* absolute paths */
	struct diag_pos pos;
};

/* A value in a file that an entry of `net-set:` or `workers-set:` replaces, and the new value. */
struct spec_override {
	const char *list, *by_list; /* "net" and "net-set"; static texts of the schema */
	/* name of the changed leg; "": the entry is in another list than net */
	char name[PLENUM_NAME_MAX];
	char by[PLENUM_NAME_MAX];	/* the name or core by which the change finds the entry */
	char *path;			/* "net[leg-a].label", "workers[0].cores" */
	char *key, *value, *overridden; /* the key, and both values as YAML */
	struct diag_pos pos, overridden_pos; /* positions of the values */
	/* position of the changed entry; equals the `pos` of that entry */
	struct diag_pos entry_pos;
};

struct spec {
	char host[PLENUM_NAME_MAX];
	bool host_is_default;	       /* no file sets `host`, so `host` is the system's hostname */
	char management_interface[16]; /* name of the management interface; "": not set */
	uint16_t port;		       /* UDP port for the workers' data IPs */
	enum spec_ha ha;
	struct spec_bond bond;
	char **ha_allow; /* rules of the HA mode that the plan does not enforce (ha.allow) */
	size_t n_ha_allow;
	uint32_t ha_hold_s;	/* hold time in seconds; 0: not set */
	struct diag_pos ha_pos; /* line 0: no file has the key "ha" */
	enum spec_fallback on_fallback;
	bool fault_injection; /* whether 'plenum fault' may inject faults */
	uint32_t rdma_read_min_kib, rdma_write_min_kib;
	uint32_t confirm_s; /* seconds to confirm a disruptive change; 0: not set, so no
			       confirmation is needed */
	struct spec_network *networks;
	size_t n_networks;
	struct spec_net *nets;
	size_t n_nets;
	/* only for the schema table, and always empty: entries of `net-set:` are merged into
	 * `nets`, and entries of `workers-set:` into `workers` */
	struct spec_net *net_sets;
	size_t n_net_sets;
	struct spec_worker *worker_sets;
	size_t n_worker_sets;
	/* the values that entries of these lists replace by other values */
	struct spec_override *overrides;
	size_t n_overrides;
	struct spec_worker *workers;
	size_t n_workers;
	struct spec_peer *peers;
	size_t n_peers;
	/* names or numbers of users and groups that may change the configuration in addition to
	 * root */
	char **admin_users, **admin_groups;
	size_t n_admin_users, n_admin_groups;
	struct spec_cluster cluster;
	struct spec_api api;
	char **files; /* the files that were read; the pos members point to these strings */
	size_t n_files;
};

/*
 * Reads `file` and, if dropin_dir is not NULL and exists, its *.yaml files. Returns 0 and *ret, to
 * be freed with spec_free(). Returns -EINVAL if the files have errors, or another negative errno if
 * a file could not be read; in both cases the errors are in d. On failure, *ret is unchanged.
 */
int spec_load(const char *file, const char *dropin_dir, struct diag *d, struct spec **ret);
/* Parses a text in memory, with the results of spec_load; messages use `name` as the file's
 * name. */
int spec_parse(const char *name, const char *text, size_t len, struct diag *d, struct spec **ret);
/* The file in the drop-in folder that has the cluster's configuration document. It counts while the
 * host's own files have cluster.config: follow. */
#define SPEC_DOCUMENT_FILE "00-cluster.yaml"
#define SPEC_DOCUMENT_BYTES_MAX (64U << 10)
/* Checks a document of the cluster as far as that is possible without the files of its hosts.
 * Returns 0, or -EINVAL or -ENOMEM with the errors in d. */
int spec_document_check(const char *name, const char *text, size_t len, struct diag *d);
/* Sets the host name to `host` if no file sets it and `host` is a valid name. Used for
 * configurations of other hosts. */
void spec_set_default_host(struct spec *s, const char *host);
struct spec *spec_free(struct spec *s); /* accepts NULL, returns NULL */

/* The file in the drop-in folder that `plenum net` and `plenum worker move` maintain. */
#define SPEC_CLI_FILE "50-cli.yaml"
/* Returns whether the value that the override replaces has changed since `before`, the running
 * configuration. If so, the file was edited, but the edit has no effect. Returns false if before is
 * NULL. */
bool spec_override_is_edited(const struct spec_override *o, const struct spec *before);
/* Adds a note that says which of the two values is used, where both are, and how to end the
 * override. If the replaced value was edited, adds a warning instead. */
void spec_override_note(const struct spec_override *o, const struct spec *before, struct diag *d);
/* If an entry of `workers-set:` replaces the cores of the entry w, finds the cores in the file of
 * w. Returns the number of these cores, which may exceed `max`, or 0 if nothing replaces them. */
size_t spec_override_cores(const struct spec *s, const struct spec_worker *w, unsigned *ret,
			   size_t max);
/* Calls spec_override_note for all overrides. */
void spec_note_overrides(const struct spec *s, const struct spec *before, struct diag *d);

/* Returns whether the data devices become ports of a bond. */
bool spec_has_bond(const struct spec *s);
/* Returns whether packets between hosts are protected with a key. */
bool spec_has_key(const struct spec *s);
/* Finds the IPs of all peers whose names match this host name. Returns the number of IPs, and
 * stores the first `max` of them in ret. */
size_t spec_host_ips(const struct spec *s, const char *host, struct ip_addr *ret, size_t max);
/* Returns whether `match` has a key, so that it selects the device. */
bool spec_match_is_set(const struct spec_match *m);
/* Writes the keys of a match as in the file, such as "driver mlx5_core, numa 0", into buf; "" if it
 * has none. Returns buf. */
const char *spec_match_format(const struct spec_match *m, char buf[static SPEC_MATCH_TEXT_MAX]);
/* Returns the text by which a message names a leg's device: the device, or the name of the leg if
 * `match` selects the device. */
const char *spec_net_device(const struct spec_net *net);
/* Returns whether the text is a valid name. */
bool spec_name_is_valid(const char *text);
/* spec_rate_parse: parses a rate such as "200MB/s"; returns 0, or -EINVAL if it is wrong or out
 * of range. spec_rate_format: writes it to buf, of SPEC_RATE_TEXT_MAX bytes, which it returns. */
int spec_rate_parse(const char *text, uint32_t min_kbs, uint32_t max_kbs, uint32_t *ret_kbs);
const char *spec_rate_format(uint32_t kbs, char *buf, size_t size);
/* Returns the normal form of the spec as YAML: it has every key, with defaults filled in, and
 * parsing it gives an equal spec. The caller frees the heap string. */
char *spec_to_yaml(const struct spec *s);
/* Returns the normal form as a JSON object, which is also valid YAML, on the heap, or NULL if out
 * of memory. */
char *spec_to_json(const struct spec *s);
/* Returns one data device as a JSON object with every key of the schema; keys that are not set are
 * null. The caller frees the heap string. */
char *spec_net_to_json(const struct spec_net *net);
/* Called for each difference between two specs. `path` is, for example, "networks[data-a].mtu";
 * both values are texts, "" if not set. If only one spec has an entry, the path is that of the
 * entry, and the value is its name. */
typedef void (*spec_difference)(void *user, const char *path, const char *was, const char *will);
void spec_compare(const struct spec *a, const struct spec *b, spec_difference each, void *user);
/* Returns a JSON Schema (2020-12) of the YAML, made from the schema table. The caller frees the
 * heap string. */
char *spec_json_schema(void);
/* Returns the key table as mdoc(7) rows for plenum.yaml(5). The caller frees the heap string. */
char *spec_man_table(void);

#endif
