/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the request handlers. control.c answers most requests at once, control_net.c those
 * about legs. control_query.c answers requests that need a child process to read the host. */
#ifndef PLENUM_AGENT_CONTROL_INTERNAL_H
#define PLENUM_AGENT_CONTROL_INTERNAL_H

#include "agent/agent.h"
#include "agent/clients/clients.h"
#include "agent/status.h"

/* A reply. It has either json or text, or neither if memory was lacking. */
struct control_reply {
	unsigned http_status;
	enum privsep_content content;
	json_t *json;			     /* owned */
	char *text;			     /* owned */
	size_t len;			     /* length of a binary reply in bytes; 0: the reply is
						not binary */
	uint64_t etag;			     /* version of the returned object; 0: it has no
						version */
	char location[PRIVSEP_LOCATION_MAX]; /* path of the object that the request created */
	bool later;			     /* the reply will be sent later */
};

void control_json(struct control_reply *r, unsigned status, json_t *json);
/* Makes a reply with status 201: the request created the object at that path. */
void control_created(struct control_reply *r, json_t *json, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* Makes the reply for an error. Becomes the owner of details, which may be NULL. */
void control_error(struct control_reply *r, unsigned status, const char *code, const char *message,
		   json_t *details);
/* Makes the reply for an error of the store, the plan or the reconcile, with the details in d. */
void control_failure(struct agent *a, struct control_reply *r, int error, const struct diag *d);
/* Returns the text of the reply. r->text owns the text, and the caller frees it there. Never fails:
 * without memory, the text is an error. */
const char *control_text(struct control_reply *r);
/* Sends the reply while its request is being handled, and frees the members of the reply. */
void control_answer_now(struct agent *a, uint64_t client, struct control_reply *r);
/* Sends a reply to a request that was handled earlier, or stores it in the client's operation.
 * Frees the members of the reply. */
void control_answer(struct agent *a, uint64_t client, struct control_reply *r);

/* Adds an event with the request and its client. */
void control_note(struct agent *a, const struct client *cl, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);

/* ---- running and staged configuration (control_staged.c) ---- */

/* Checks whether m may change the staged configuration. Returns 0, -EINPROGRESS if the staged
 * configuration is being applied, -ESTALE if m names another version of it, or another negative
 * errno if it cannot be read. */
int control_may_stage(struct agent *a, const struct privsep_msg *m);
/* Like control_may_stage(), for a change by this client. The client becomes the author of the
 * changes that are staged next. */
int control_begin_stage(struct agent *a, const struct client *cl, const struct privsep_msg *m);
/* Gets the version (ETag) of the object that m would change, a leg or the whole configuration. *ret
 * 0: the object does not exist. Returns 0 or negative errno. */
int control_tag(struct agent *a, const struct privsep_msg *m, uint64_t *ret);
uint64_t control_tag_of_tree(const struct spec *next);
/* Returns the version of the running and staged configuration of a leg, or 0 if it has neither. */
uint64_t control_tag_of_net(const struct spec *running, const struct spec *next, const char *name);
const struct spec_net *control_find_net(const struct spec *spec, const char *name);
/* The running and the staged core of a worker. */
struct control_place {
	/* Whether the worker is in the running and in the staged configuration. */
	bool runs, is_staged;
	unsigned running, staged;
	enum spec_role role;
	const struct spec_worker *entry; /* entry of the staged configuration; NULL: not staged */
};
/* Finds the cores of the worker. The caller has zeroed *p. Returns 0, -ENOENT if no worker has the
 * id, or another negative errno. */
int control_find_place(struct agent *a, uint32_t id, const struct spec *next,
		       struct control_place *p);
/* Returns the version of the running and the staged core of a worker, or 0 if no worker has the
 * id. */
uint64_t control_tag_of_worker(struct agent *a, uint32_t id, const struct spec *next);
/* Returns what an apply would do with a leg or a worker: "add", "remove", "change", or "" for
 * nothing. */
const char *control_pending_word(const json_t *running, const json_t *staged);
/* Lists the changed configuration keys, such as {"label": {"running": "a", "staged": "b"}}. */
json_t *control_changes_to_json(const json_t *running, const json_t *staged);
/* Returns the file that has the entry at pos, one of those that an apply would read. Call with the
 * staged configuration: the running configuration may come from the history, which has no such
 * files. */
json_t *control_file_to_json(const struct agent *a, const struct diag_pos *pos);
/* Lists the values of the entry that one file sets and another file overrides. of: the list that
 * has the entry, "net" or "workers". entry: position of the entry; NULL: returns an empty list. */
json_t *control_overridden_to_json(const struct agent *a, const struct spec *next, const char *of,
				   const struct diag_pos *entry);

/* ---- legs (control_net.c) ---- */

/* Answers GET /v1/net: the running legs, and the staged changes of each. */
void control_net(struct agent *a, const struct status *st, struct control_reply *r);
void control_get_net(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_net_add(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_net_set(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_net_del(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);

/* ---- moves of workers (control_move.c) ---- */

void control_get_worker(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			int fd, struct control_reply *r);
void control_worker_move(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			 int fd, struct control_reply *r);

/* ---- configurations (control_config.c) ---- */

/* Answers PRIVSEP_CONFIG_RUNNING, PRIVSEP_CONFIG_STAGED and PRIVSEP_HISTORY_CONFIG. */
void control_get_config(struct agent *a, const struct privsep_msg *m, struct control_reply *r);
/* Returns the apply with that number if its configuration is kept, borrowed; otherwise NULL, and r
 * has the error. */
const struct history_entry *control_kept_entry(struct agent *a, uint64_t number,
					       struct control_reply *r);

/* ---- fault injection (control_fault.c) ---- */

void control_get_faults(struct agent *a, struct control_reply *r);
/* Answers with all operations, or with the operation that has the requested number. In
 * control_query.c. */
void control_get_operations(struct agent *a, const struct privsep_msg *m, struct control_reply *r);
void control_get_fault(struct agent *a, uint32_t id, struct control_reply *r);
void control_capture(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_fault_add(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);
void control_fault_del(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);

/* ---- workers (control_workers.c) ---- */

void control_restart(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_worker_stop(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			 int fd, struct control_reply *r);
void control_worker_start(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  int fd, struct control_reply *r);
/* Answers with journal lines of a worker or of the agent, which a child process reads. */
void control_get_logs(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		      struct control_reply *r);
/* Called in that child process: makes the answer. worker: id of the worker; 0: the agent. In
 * control_logs.c. */
void control_answer_logs(struct agent *a, uint32_t worker, struct control_reply *r);
void control_log_level(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);
/* Makes the error that no worker with that id exists or runs. what: "exists" or "runs". The text
 * lists the ids of the existing workers. */
void control_unknown_worker(struct agent *a, uint32_t id, const char *what,
			    struct control_reply *r);
/* Appends a note if workers run an earlier program. */
void control_note_outdated(const struct agent *a, json_t *notes);

/* ---- mounts made by command (control_mounts.c) ---- */

void control_mount(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		   struct control_reply *r);
void control_unmount(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
/* Called when the child has ended, with 0, -EBUSY or another negative errno. users: the processes
 * that use the mount; NULL: not known. */
typedef void (*control_unmount_done)(struct agent *a, const char *path, int error,
				     const struct mount_users *users, const char *const *paths);
/* Unmounts in a child process, unless programs use the mount (control_unmount.c). Returns NULL if
 * it cannot be started. */
struct control_unmount *control_unmount_start(struct agent *a, const char *path, const char *real,
					      control_unmount_done done);
struct control_unmount *control_unmount_forget(struct control_unmount *u);

/* Makes the error for a request that would end mounts which programs use: its member `users` lists
 * the processes, and the details have a line for each. found NULL: the processes are not known. */
void control_in_use(struct control_reply *r, const char *message, const struct mount_users *found,
		    const char *const *paths);

/* ---- the stop of the agent (control_stop.c) ---- */

void control_stop(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		  struct control_reply *r);

/* ---- file locks (control_locks.c) ---- */

void control_lock_break(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			int fd, struct control_reply *r);
/* ---- the cluster (control_cluster.c) ---- */

/* Answers PRIVSEP_CLUSTER_STATUS, and requests the lists of all hosts. */
void control_get_cluster(struct agent *a, const struct client *cl, enum privsep_what what,
			 struct control_reply *r);

/* Requests PRIVSEP_POOL_ADD, _POOL_SET, _POOL_REMOVE, _CLUSTER_FORGET and _CLUSTER_LEAVE. */
void control_edit_cluster(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  int fd, struct control_reply *r);

/* ---- rollouts (control_rollout.c) ---- */

/* Returns whether the running configuration has a cluster in etcd. If not, r has the error. */
bool control_is_in_cluster(const struct agent *a, struct control_reply *r);
/* Handles the result of passing a request to the process of the cluster. */
void control_cluster_requested(int k, struct control_reply *r);
/* Requests PRIVSEP_CLUSTER_DOCUMENT and PRIVSEP_ROLLOUT_STATUS. */
void control_get_rollout(struct agent *a, const struct client *cl, enum privsep_what what,
			 struct control_reply *r);
/* Requests PRIVSEP_DOCUMENT_SET and the changes of a rollout. */
void control_edit_rollout(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  int fd, struct control_reply *r);

/* ---- RDMA tests (control_ping.c) ---- */

void control_rdma_ping(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);

/* ---- the doctor (control_doctor.c) ---- */

/* Starts a run of 'plenum doctor', and sets r->later. The report of the run is the answer. */
void control_doctor(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		    struct control_reply *r);
/* Ends the run without an answer. */
void control_doctor_done(struct agent *a);

/* ---- events, and queries of the host (control_query.c) ---- */

/* Answers with the events that the client selects, without waiting. */
void control_get_events(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			int fd, struct control_reply *r);
/* Admits a stream of events: replies with 200 and no content, and the child then sends the
 * stream. */
void control_stream(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		    struct control_reply *r);
/* Starts a child process that makes the answer, and sets r->later. On an error, r has the error.
 * what: PRIVSEP_INVENTORY, PRIVSEP_LOCKS, PRIVSEP_PLAN (c has the checks to override), or
 * PRIVSEP_PLAN_BACK: the plan of a rollback to apply c->back_to or, if c->back_to is 0, of a
 * rollback of the pending apply. */
void control_query_host(struct agent *a, const struct reconcile_client *c, enum privsep_what what,
			struct control_reply *r);

#endif
