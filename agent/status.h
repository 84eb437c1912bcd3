/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A snapshot of the agent's state, for REST, metrics and the service manager's status line. It is
 * made from the agent's data and the workers' statistics pages, and changes nothing.
 */
#ifndef PLENUM_AGENT_STATUS_H
#define PLENUM_AGENT_STATUS_H

#include "agent/agent.h"
#include <jansson.h>

#define STATUS_IPS_MAX 16
#define STATUS_EXPORT_WORKERS_MAX 64
/* Maximum number of listed sessions. The list must be smaller than PRIVSEP_REPLY_MAX. */
#define STATUS_SESSIONS_MAX 8192

struct status_leg {
	char name[PLENUM_NAME_MAX], device[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX];
	char match[SPEC_MATCH_TEXT_MAX]; /* how the device was selected; "": it is named */
	char network[PLENUM_NAME_MAX], ifname[IFNAMSIZ];
	const char *state;		      /* static text: plan_leg_state_to_string */
	char reason[REASON_FORMAT_MAX];	      /* why the leg is not usable; "": it is usable */
	const char *label_source;	      /* static text; "": the leg is not in the plan */
	char label_reason[REASON_FORMAT_MAX]; /* why the label is unknown; "": it is known */
	json_t *neighbours;		      /* list of LLDP neighbours, owned */
	char switch_name[PLENUM_NAME_MAX],
		switch_port[LLDP_TEXT_MAX]; /* port of the label's switch; "": unknown */
	bool up, carrier;
	uint32_t mtu;
	/* Packets per million that the kernel's queue before the NIC dropped recently. */
	uint32_t queue_drop_ppm;
	char file[128]; /* configuration file that has the leg */
	struct ip_prefix ips[STATUS_IPS_MAX];
	size_t n_ips;
};

/* The switch port at a leg's cable, from LLDP; "": unknown. */
struct status_switch {
	char leg[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX];
	/* the switch and its port, as LLDP names them */
	char name[PLENUM_NAME_MAX], port[LLDP_TEXT_MAX];
};

struct status_process {
	uint32_t id; /* 0: the agent itself */
	char role[16], state[16], network[32], reason[HEALTH_TEXT_MAX];
	char note[REASON_FORMAT_MAX]; /* note that requires no action */
	bool serves;
	int core; /* core of the process; -1: any */
	/* Messages up to this level are logged; 0: unknown. */
	enum log_level log_level;
	bool adopted;  /* a previous agent started it */
	bool outdated; /* it runs another version of the program than this agent */
	pid_t pid;
	uint64_t memory_bytes, uptime_s, restarts;
	uint64_t died_ms; /* wall clock time of the worker's last death; 0: no death is known */
	char died_of[LAUNCH_REASON_MAX * 2];
	struct ip_addr ips[LAUNCH_PORTS_MAX];
	size_t n_ips;
	struct status_switch switches[LAUNCH_PORTS_MAX]; /* one per leg */
	size_t n_switches;
	struct {
		char leg[PLENUM_NAME_MAX];
		struct launch_rdma_stats s; /* its texts are NUL-terminated */
	} rdma[LAUNCH_PORTS_MAX];	    /* one per leg; only of running workers */
	size_t n_rdma;
	struct {
		char leg[PLENUM_NAME_MAX];
		struct launch_port_stats s; /* its texts are NUL-terminated */
	} ports[LAUNCH_PORTS_MAX];	    /* one per leg; only of running workers */
	size_t n_ports;
};

struct status_path {
	uint32_t worker;
	struct launch_path_stats s; /* its texts are NUL-terminated */
	uint64_t since_s;	    /* seconds since the path came up or went down */
	const char *reason; /* why it is down, borrowed; NULL: it is up or the reason is unknown */
	/* What the path's session serves, borrowed: a mount of this host, or an export; "":
	 * neither. */
	const char *mount, *export_name;
	bool current; /* the worker has updated it within the last seconds */
};

struct status_mount {
	uint32_t worker;
	const char *path, *peer, *export_name; /* borrowed */
	const char *origin; /* static text: configured, or command: made by command */
	bool served;
	char by[IP_ADDR_STR_MAX]; /* address of the worker that serves the mount; "": none */
	uint32_t mount_workers[LAUNCH_MOUNT_WORKERS_MAX]; /* ids of the mount's other workers */
	unsigned n_mount_workers;
	struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX];
	bool limited; /* its limits hold requests back now */
	/* How long requests have waited for that, all together; -1: unknown. */
	int64_t waited_ns;
	/* The members down to limits are set by status_collect_hosts(). */
	const char *state;	      /* static text: served, waits, unknown */
	char reason[HEALTH_TEXT_MAX]; /* why it is not served; "": no reason is known */
	int64_t since_s, open_files;  /* -1: unknown */
	bool read_only;
	uint32_t soft_s; /* 0: a hard mount */
	struct launch_limits limits;
};

struct status_export {
	const char *name, *path; /* borrowed */
	uint32_t workers[STATUS_EXPORT_WORKERS_MAX];
	unsigned n_workers;
	struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX];
	/* The members below are set by status_collect_hosts(). n_serving: count of workers that
	 * serve the export; n_unknown: count of workers that do not report whether they do. */
	unsigned n_serving, n_unknown; /* see above */
	char reason[HEALTH_TEXT_MAX];  /* why the first worker that does not serve the export cannot
					  serve it; "": there is no reason */
	bool read_only, squash[SPEC_SQUASH_MAX];
	uint64_t open_files;
	/* n_removed: removed files that are kept; n_clients: connected hosts */
	unsigned n_removed, n_clients;
};

struct status_client { /* a mount of another host */
	uint32_t worker;
	const char *export_name; /* borrowed; "": unknown */
	bool current;		 /* the worker has updated it within the last seconds */
	bool refused;		 /* the worker refuses the mount for this reason */
	char reason[LAUNCH_REASON_MAX];
	struct launch_client_stats s;
};

/* Latency of a mount or an export at one worker, since the worker's start. */
struct status_latency {
	uint32_t worker;
	bool is_export;
	const char *name; /* path of the mount or name of the export; borrowed */
	struct launch_latencies total;
};

struct status_totals { /* totals of one worker's statistics page */
	uint32_t worker;
	const char *role; /* static text */
	uint64_t requests, responses, request_errors, read_bytes, write_bytes, rx_drops, sessions;
	uint64_t refusals, n_refused; /* mounts of clients: refusals since the start, and mounts
					 that are refused now */
};

struct status {
	char host[PLENUM_NAME_MAX];
	char security[16];  /* packet protection between hosts; "": no configuration runs */
	const char *state;  /* static text */
	uint64_t n_applies; /* count of applies since the agent's start that changed the host */
	/* History entry of the configuration in force, borrowed; NULL: none. */
	const struct history_entry *applied;
	struct status_leg *legs;
	size_t n_legs;
	struct status_process *processes;
	size_t n_processes;
	struct status_path *paths;
	size_t n_paths;
	struct status_totals *totals;
	size_t n_totals;
	struct status_mount *mounts;
	size_t n_mounts;
	struct status_export *exports;
	size_t n_exports;
	struct status_latency *latencies;
	size_t n_latencies;
	struct status_client *clients; /* sorted by host; set by status_collect_hosts() */
	size_t n_clients;
	uint64_t clients_omitted; /* count of clients for which the workers' pages have no room */
	unsigned workers_up, workers_total;
	/* Progress of the running or pending apply; "": no apply. */
	char apply[EVENTS_TEXT_MAX + 80];
	/* The pending apply; waits_entry 0: none. */
	uint64_t waits_entry, waits_since_s, waits_left_s;
	const char *waits_by;  /* borrowed */
	json_t *needs;	       /* required_actions.h; a new reference */
	char *const *problems; /* borrowed; first the problems that degrade the state, then
				  warnings */
	size_t n_problems, n_warnings;
};

/* Collects the snapshot. Returns 0 or -ENOMEM. It is valid until the agent's next reconcile. */
int status_collect(const struct agent *a, struct status *ret);
void status_done(struct status *st);
/* Returns the worker's entry in the plan, or NULL if the plan has none. */
const struct plan_worker *status_plan_worker(const struct agent *a, uint32_t id);
/* Returns a leg of the running plan, or NULL if the plan does not have it. */
const struct plan_leg_info *status_plan_leg(const struct agent *a, const char *name);
/* Parts of status_collect(), in status_latency.c. Call status_latency_alloc() first, then
 * status_latency_add_exports() for each worker. When all mounts and exports are listed, call
 * status_latency_add() for each worker. */
int status_latency_alloc(const struct agent *a, struct status *st);
void status_latency_add_exports(struct status *st, const struct sup_worker *w);
void status_latency_add(const struct agent *a, struct status *st, const struct sup_worker *w);
/* Returns the path of the mount that a session of the worker serves, or the name of its export; "":
 * it serves none. serves: as in struct launch_path_stats. */
const char *status_session_mount(const struct sup_worker *w, uint64_t serves);
const char *status_session_export(const struct sup_worker *w, uint64_t serves);
/* Sets the states of mounts and exports, and the list of clients. Returns 0 or -ENOMEM. */
int status_collect_hosts(const struct agent *a, struct status *st);
/* Returns whether the worker runs and has lately updated its statistics page, so that its values
 * are current. */
bool status_page_is_current(const struct sup_worker *w);
/* Each of these functions returns a new reference, or NULL if memory is short. For mounts, exports,
 * clients and peers, call status_collect_hosts() first. */
json_t *status_paths_to_json(const struct status *st);
/* Lists the sessions of the workers, at most STATUS_SESSIONS_MAX. */
json_t *status_sessions_to_json(const struct agent *a, const struct status *st);
json_t *status_mounts_to_json(const struct status *st);
json_t *status_exports_to_json(const struct status *st);
json_t *status_clients_to_json(const struct status *st);
json_t *status_peers_to_json(const struct agent *a, const struct status *st);
/* Lists the file locks that clients hold or wait for. fd: sup_locks_fd(). Takes many milliseconds
 * if there are many, so call it in a child process. Returns 0 or negative errno. */
int status_locks_to_json(const struct agent *a, int fd, json_t **ret);
/* Describes the lock with this id. *ret_held: it is held, and is not being broken. Returns 0,
 * -ENOENT, or another negative errno. */
int status_lock_describe(const struct agent *a, uint64_t id, char *buf, size_t size,
			 bool *ret_held);
json_t *status_to_json(const struct status *st);
json_t *status_processes_to_json(const struct status *st);
json_t *status_net_to_json(const struct status *st);
/* Returns the snapshot in Prometheus' text format, on the heap; the caller frees it. */
char *status_to_metrics(const struct status *st);

#endif
