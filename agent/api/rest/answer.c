/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of answer.h. plenum-api(7) explains the members. */
#include "agent/api/rest/answer.h"

/* clang-format off */
#define TEXT(name)       {name, ANSWER_TEXT, false, false, false, NULL}
#define TEXT_OR_NULL(name) {name, ANSWER_TEXT, false, false, true, NULL}
#define TEXTS(name)      {name, ANSWER_TEXT, true, false, false, NULL}
#define INTEGER(name)    {name, ANSWER_INTEGER, false, false, false, NULL}
#define INTEGER_OR_NULL(name) {name, ANSWER_INTEGER, false, false, true, NULL}
#define INTEGERS(name)   {name, ANSWER_INTEGER, true, false, false, NULL}
#define NUMBER(name)     {name, ANSWER_NUMBER, false, false, false, NULL}
#define NUMBER_OR_NULL(name) {name, ANSWER_NUMBER, false, false, true, NULL}
#define BOOLEAN(name)    {name, ANSWER_BOOLEAN, false, false, false, NULL}
#define OBJECT(name, of) {name, ANSWER_OBJECT, false, false, false, of}
#define OBJECT_OR_NULL(name, of) {name, ANSWER_OBJECT, false, false, true, of}
#define OBJECTS(name, of) {name, ANSWER_OBJECT, true, false, false, of}
#define VALUES(name)     {name, ANSWER_VALUE, true, false, false, NULL}
#define VALUE(name)      {name, ANSWER_VALUE, false, false, false, NULL}
/* The macros MAYBE_... are for members that some answers lack. */
#define MAYBE_BOOLEAN(name) {name, ANSWER_BOOLEAN, false, true, false, NULL}
#define MAYBE_TEXT(name)    {name, ANSWER_TEXT, false, true, false, NULL}
#define MAYBE_TEXTS(name)   {name, ANSWER_TEXT, true, true, false, NULL}
#define MAYBE_INTEGER(name) {name, ANSWER_INTEGER, false, true, false, NULL}
#define MAYBE_INTEGERS(name) {name, ANSWER_INTEGER, true, true, false, NULL}
#define MAYBE_OBJECT(name, of) {name, ANSWER_OBJECT, false, true, false, of}
#define MAYBE_OBJECTS(name, of) {name, ANSWER_OBJECT, true, true, false, of}
#define END              {NULL, ANSWER_TEXT, false, false, false, NULL}

/* ---- state ---- */

static const struct answer_member applied[] = {
	INTEGER("number"), TEXT_OR_NULL("time"), INTEGER("steps"), TEXT("by"), END};
static const struct answer_member worker_counts[] = {INTEGER("up"), INTEGER("total"), END};
static const struct answer_member pending[] = {
	INTEGER("number"), TEXT("by"), TEXT_OR_NULL("since"), INTEGER("left_s"), END};

#define LEG_MEMBERS                                                                            \
	TEXT("name"), TEXT("device"), MAYBE_TEXT("match"), TEXT("ifname"), TEXT_OR_NULL("label"),    \
	TEXT("network"),                                                                       \
	TEXT("state"), TEXT("reason"), BOOLEAN("carrier"), BOOLEAN("up"), INTEGER("mtu"),      \
	TEXTS("ips")
static const struct answer_member status_leg[] = {
	LEG_MEMBERS, TEXT("label_source"), TEXT("label_reason"), TEXT_OR_NULL("switch"),
	TEXT_OR_NULL("switch_port"), END};

static const struct answer_member latency[] = {
	TEXT("class"), INTEGER("requests"), NUMBER("seconds"), NUMBER("median_us"),
	NUMBER("p99_us"), END};
static const struct answer_member mount[] = {
	TEXT("path"), TEXT("peer"), TEXT("export"), TEXT("origin"), INTEGER("worker"), INTEGERS("lanes"),
	BOOLEAN("served"), BOOLEAN("limited"), TEXT("by"), OBJECTS("latency", latency), END};
static const struct answer_member export[] = {
	TEXT("name"), TEXT("path"), INTEGERS("workers"), OBJECTS("latency", latency), END};

static const struct answer_member path[] = {
	INTEGER("worker"), TEXT("leg"), TEXT("local"), TEXT("remote"), TEXT("peer"), BOOLEAN("up"),
	BOOLEAN("standby"), NUMBER("srtt_us"), INTEGER("mtu"), INTEGER("cwnd_bytes"),
	INTEGER("tx_bytes"), INTEGER("rx_bytes"), INTEGER("retransmits"), INTEGER("failovers"),
	NUMBER("last_pause_ms"), TEXT("state"), INTEGER("since_s"), TEXT("reason"),
	BOOLEAN("segmentation_lost"), INTEGER("sources"), INTEGER("sources_lost"), INTEGER("tx_packets"),
	INTEGER("rx_packets"), INTEGER("lost_packets"), INTEGER("rdma_read_bytes"),
	INTEGER("rdma_write_bytes"), INTEGER_OR_NULL("rtt_age_s"),
	NUMBER_OR_NULL("loss_to_percent"), NUMBER_OR_NULL("loss_from_percent"),
	BOOLEAN("lossy_to"), BOOLEAN("lossy_from"), BOOLEAN("avoided"), NUMBER("peer_srtt_us"),
	TEXT("id"), TEXT("mount"), TEXT("export"),
	INTEGER("rx_lost_packets"), NUMBER("slow_us"), NUMBER("slow_than_us"), TEXT("slow_than"),
	END};

static const struct answer_member listed_mount[] = {
	TEXT("path"), TEXT("peer"), TEXT("export"), TEXT("state"), TEXT("reason"),
	INTEGER_OR_NULL("since_s"), INTEGER("worker"), INTEGERS("lanes"), TEXT("by"),
	BOOLEAN("read_only"), INTEGER_OR_NULL("soft_s"), INTEGER_OR_NULL("open_files"),
	INTEGER_OR_NULL("max_bytes_per_s"), INTEGER_OR_NULL("max_operations_per_s"),
	BOOLEAN("limited"), INTEGER_OR_NULL("waited_ms"), TEXT("origin"), OBJECTS("latency", latency), END};
static const struct answer_member new_mount[] = {
	TEXT("path"), TEXT("peer"), TEXT("export"), INTEGER("worker"), END};
static const struct answer_member unmounted[] = {TEXT("unmounted"), END};
static const struct answer_member mounts[] = {TEXT("host"), OBJECTS("mounts", listed_mount), END};
static const struct answer_member listed_export[] = {
	TEXT("name"), TEXT("path"), TEXT("state"), TEXT("reason"), INTEGERS("workers"),
	BOOLEAN("read_only"), TEXTS("squash"), INTEGER_OR_NULL("clients"),
	INTEGER_OR_NULL("open_files"), INTEGER("removed_files"), OBJECTS("latency", latency), END};
static const struct answer_member exports[] = {
	TEXT("host"), OBJECTS("exports", listed_export), END};
static const struct answer_member client[] = {
	TEXT("host"), TEXT("state"), TEXTS("addresses"), TEXTS("exports"), INTEGERS("workers"),
	INTEGER("mounts"), INTEGER_OR_NULL("open_files"), INTEGER_OR_NULL("since_s"),
	INTEGER_OR_NULL("heard_s"), INTEGER("refused_mounts"), TEXT("reason"), END};
static const struct answer_member clients[] = {
	TEXT("host"), OBJECTS("clients", client), INTEGER("omitted_mounts"), END};
static const struct answer_member peer[] = {
	TEXT("host"), TEXT("state"), TEXT("reason"), TEXTS("addresses"), TEXTS("legs_up"),
	TEXTS("legs_down"), TEXTS("mounts"), TEXTS("exports"), INTEGER("paths"),
	INTEGER("paths_up"), NUMBER_OR_NULL("rtt_us"), NUMBER_OR_NULL("loss_to_percent"),
	NUMBER_OR_NULL("loss_from_percent"), INTEGER_OR_NULL("mtu"), INTEGER_OR_NULL("since_s"),
	INTEGER_OR_NULL("heard_s"), END};
static const struct answer_member peers[] = {TEXT("host"), OBJECTS("peers", peer), END};
static const struct answer_member paths[] = {TEXT("host"), OBJECTS("paths", path), END};
static const struct answer_member session_path[] = {
	TEXT("leg"), TEXT("local"), TEXT("remote"), INTEGER("local_port"), INTEGER("remote_port"),
	TEXT("state"), END};
static const struct answer_member session[] = {
	TEXT("id"), TEXT("peer"), TEXT("state"), TEXT("role"), INTEGER("worker"), INTEGER("core"),
	TEXT("mount"), TEXT("export"), TEXT_OR_NULL("local"), TEXT_OR_NULL("remote"),
	OBJECTS("paths", session_path), INTEGER_OR_NULL("since_s"), INTEGER_OR_NULL("heard_s"),
	NUMBER_OR_NULL("rtt_us"), INTEGER_OR_NULL("lease_s"), INTEGER_OR_NULL("age_s"),
	INTEGER("in_flight"), INTEGER("waiting"), INTEGER("tx_packets"), INTEGER("tx_bytes"),
	INTEGER("rx_packets"), INTEGER("rx_bytes"), INTEGER("lost_packets"),
	INTEGER("rx_lost_packets"), INTEGER("retransmits"), END};
static const struct answer_member sessions[] = {
	TEXT("host"), OBJECTS("sessions", session), INTEGER("omitted_sessions"),
	INTEGERS("unknown_workers"), END};
static const struct answer_member sample[] = {
	TEXT("kind"), TEXT("name"), VALUES("bytes_per_s"), VALUES("rtt_us"), VALUES("loss_percent"),
	VALUES("p99_us"), END};
static const struct answer_member samples[] = {
	INTEGER("step_s"), NUMBER_OR_NULL("age_s"), OBJECTS("samples", sample), END};

static const struct answer_member lock[] = {
	TEXT("id"), TEXT("export"), TEXT_OR_NULL("file"), INTEGER("inode"), TEXT("host"),
	INTEGER("pid"), TEXT("kind"), TEXT("mode"), INTEGER("start"), INTEGER_OR_NULL("end"),
	TEXT("state"), INTEGER_OR_NULL("since_s"), END};
static const struct answer_member locks[] = {
	TEXT("host"), OBJECTS("locks", lock), INTEGER("omitted_locks"), END};
static const struct answer_member broken_lock[] = {TEXT("breaks"), END};

static const struct answer_member traffic[] = {
	INTEGER("worker"), TEXT("role"), INTEGER("requests"), INTEGER("responses"),
	INTEGER("errors"), INTEGER("read_bytes"), INTEGER("write_bytes"), INTEGER("rx_drops"),
	INTEGER("sessions"), END};

static const struct answer_member need[] = {
	TEXT("code"), TEXT("why"), TEXTS("commands"), TEXT("firmware"), BOOLEAN("reboot"), END};

static const struct answer_member author[] = {
	INTEGER("uid"), TEXT("by"), TEXT("time"), INTEGER("changes"), END};

static const struct answer_member status[] = {
	TEXT("host"), TEXT("version"), TEXT("state"), OBJECT("applied", applied),
	OBJECT("workers", worker_counts), MAYBE_TEXT("security"), OBJECTS("legs", status_leg),
	OBJECTS("mounts", mount), OBJECTS("exports", export), OBJECTS("paths", path),
	OBJECTS("traffic", traffic),
	MAYBE_OBJECT("confirm", pending), TEXTS("reasons"), OBJECTS("needs", need), TEXTS("notes"),
	BOOLEAN("staged"), OBJECTS("staged_by", author), END};

static const struct answer_member process_switch[] = {
	TEXT("leg"), TEXT_OR_NULL("label"), TEXT_OR_NULL("switch"), TEXT_OR_NULL("port"), END};
static const struct answer_member rdma[] = {
	TEXT("leg"), INTEGER("pairs"), INTEGER("read_bytes"), INTEGER("write_bytes"),
	INTEGER("failures"), TEXT("reason"), TEXT("gpu"), END};
static const struct answer_member rx_dropped[] = {
	INTEGER("short"), INTEGER("malformed"), INTEGER("fragment"), INTEGER("checksum"),
	INTEGER("not-ours"), END};
static const struct answer_member counters[] = {
	INTEGER("tx_packets"), INTEGER("rx_packets"), INTEGER("tx_full"), INTEGER("tx_lost"),
	INTEGER("rx_missed"), INTEGER("conflicts"), OBJECT("rx_dropped", rx_dropped),
	MAYBE_INTEGER("tx_bytes"), MAYBE_INTEGER("rx_bytes"), MAYBE_INTEGER("tx_bursts"),
	MAYBE_INTEGER("rx_bursts"), MAYBE_INTEGERS("tx_by_source"), END};
static const struct answer_member port[] = {
	TEXT("leg"), TEXT_OR_NULL("by"), TEXT("reason"), OBJECT_OR_NULL("counters", counters), END};
static const struct answer_member death[] = {TEXT("time"), TEXT("reason"), END};

static const struct answer_member process[] = {
	TEXT("id"), TEXT("host"), TEXT("role"), TEXTS("ips"), OBJECTS("switches", process_switch),
	TEXT("status"), TEXT("network"), INTEGER_OR_NULL("core"), INTEGER("memory_bytes"),
	INTEGER("uptime_s"), INTEGER("pid"), INTEGER("restarts"), BOOLEAN("adopted"),
	BOOLEAN("outdated"), TEXT_OR_NULL("version"), TEXT("reason"), TEXT("note"),
	OBJECTS("rdma", rdma), OBJECTS("ports", port), OBJECT_OR_NULL("last_death", death),
	TEXT_OR_NULL("log_level"), END};
static const struct answer_member processes[] = {
	TEXT("host"), OBJECTS("processes", process), END};

static const struct answer_member server[] = {
	TEXT("host"), TEXT("state"), TEXT("source"), TEXTS("addresses"), TEXTS("labels"), END};
static const struct answer_member host_pool[] = {
	TEXT("pool"), TEXT("network"), INTEGER("needs"), TEXTS("addresses"), TEXT("reason"), END};
static const struct answer_member cluster[] = {
	TEXT("cluster"), TEXT("host"), TEXT("id"), INTEGER("start"), TEXT("state"), TEXT("reason"),
	TEXT("endpoint"), INTEGER("lease_s"), OBJECTS("servers", server),
	OBJECTS("pools", host_pool), END};
#define CLUSTER_LIST(name, of) \
	TEXT("host"), TEXT("cluster"), OBJECTS(name, of), INTEGER("omitted_hosts"), END
static const struct answer_member cluster_host[] = {
	TEXT("host"), TEXT("state"), TEXT("version"), INTEGER("workers_up"),
	INTEGER("workers_total"), INTEGER("exports"), TEXTS("reasons"), TEXT_OR_NULL("seen"),
	INTEGER_OR_NULL("age_s"), END};
static const struct answer_member cluster_hosts[] = {CLUSTER_LIST("hosts", cluster_host)};
static const struct answer_member cluster_process[] = {
	TEXT("id"), TEXT("host"), TEXT("role"), TEXTS("ips"), OBJECTS("switches", process_switch),
	TEXT("status"), TEXT("network"), INTEGER_OR_NULL("core"), INTEGER("memory_bytes"),
	INTEGER("uptime_s"), INTEGER("restarts"), TEXT_OR_NULL("version"), TEXT("reason"),
	TEXT("note"), END};
static const struct answer_member cluster_processes[] = {
	CLUSTER_LIST("processes", cluster_process)};
static const struct answer_member cluster_leg[] = {
	LEG_MEMBERS, TEXT("id"), TEXT("host"), END};
static const struct answer_member cluster_net[] = {CLUSTER_LIST("net", cluster_leg)};
static const struct answer_member cluster_export[] = {
	TEXT("id"), TEXT("host"), TEXT("name"), TEXT("path"), TEXT("state"), TEXT("reason"),
	BOOLEAN("read_only"), INTEGER_OR_NULL("clients"), END};
static const struct answer_member cluster_exports[] = {CLUSTER_LIST("exports", cluster_export)};

static const struct answer_member cluster_link[] = {
	TEXT("id"), TEXT("host"), TEXT("leg"), TEXT("address"), INTEGER("known"), INTEGER("asked"),
	INTEGER("answering"), INTEGER_OR_NULL("loss_percent"), INTEGER_OR_NULL("full_loss_percent"),
	INTEGER_OR_NULL("rtt_us"), TEXT("verdict"), TEXT("source"), INTEGER("reports"),
	INTEGER_OR_NULL("age_s"), TEXT("reason"), END};
static const struct answer_member cluster_links[] = {
	BOOLEAN("complete"), CLUSTER_LIST("links", cluster_link)};

static const struct answer_member pool[] = {
	TEXT("name"), TEXT("range"), TEXT_OR_NULL("gateway"), INTEGER_OR_NULL("mtu"),
	INTEGER_OR_NULL("vlan"), INTEGER("addresses"), INTEGER("owned"),
	INTEGER("squatted"), END};
static const struct answer_member pools[] = {CLUSTER_LIST("pools", pool)};
static const struct answer_member pool_address[] = {
	TEXT("address"), TEXT("pool"), TEXT("host"), INTEGER_OR_NULL("worker"),
	TEXT_OR_NULL("squatter"), END};
static const struct answer_member pool_addresses[] = {CLUSTER_LIST("addresses", pool_address)};
static const struct answer_member pool_change[] = {TEXT("pool"), END};
static const struct answer_member released[] = {TEXT("host"), INTEGER("addresses"), END};

static const struct answer_member document[] = {
	INTEGER("generation"), TEXT("by"), TEXT("time"), TEXT("text"), END};
static const struct answer_member rollout_host[] = {
	TEXT("host"), TEXT("state"), INTEGER("generation"), TEXT("reason"), TEXT("time"), END};
#define ROLLOUT_MEMBERS                                                              \
	INTEGER("number"), TEXT("state"), INTEGER("generation"), INTEGER("former"),  \
		INTEGER("document_generation"), BOOLEAN("returns"),                  \
		TEXT("on_failure"), INTEGER("max_unavailable"),                      \
		INTEGER("timeout_s"), TEXTS("in_flight"), TEXT("failed_host"),       \
		TEXT("reason"), TEXT("by"), TEXT("since")
static const struct answer_member rollout[] = {ROLLOUT_MEMBERS, END};
static const struct answer_member rollout_status[] = {
	ROLLOUT_MEMBERS, INTEGER("hosts_done"), INTEGER("hosts_following"),
	OBJECTS("hosts", rollout_host), END};

static const struct answer_member event[] = {
	INTEGER("seq"), TEXT("time"), TEXT("severity"), TEXT("source"), TEXT("text"), END};
static const struct answer_member events[] = {
	INTEGER("next"), TEXT("instance"), OBJECTS("events", event), END};

static const struct answer_member entry[] = {
	INTEGER("number"), TEXT("time"), TEXT("by"), TEXT("what"), INTEGER("steps"),
	TEXT("outcome"), TEXT("text"), BOOLEAN("kept"), INTEGER("times"), END};
static const struct answer_member history[] = {OBJECTS("history", entry), END};

/* ---- plans ---- */

static const struct answer_member plan_leg[] = {
	TEXT("name"), TEXT("device"), TEXT("match"), TEXT("ifname"), TEXT("network"), TEXT("label"),
	TEXT("state"), TEXT("reason"), END};
static const struct answer_member step[] = {
	TEXT("op"), TEXT("leg"), TEXT("interface"), TEXT("step"), TEXT("reason"),
	BOOLEAN("disruptive"), END};
static const struct answer_member action[] = {
	TEXT("action"), TEXT("reason"), BOOLEAN("disruptive"), END};
static const struct answer_member past_step[] = {
	TEXT("op"), TEXT("leg"), TEXT("interface"), TEXT("step"), TEXT("reason"),
	BOOLEAN("disruptive"), TEXT("result"), END};
static const struct answer_member past_action[] = {
	TEXT("action"), TEXT("reason"), BOOLEAN("disruptive"), TEXT("result"), END};
static const struct answer_member past_plan[] = {
	OBJECTS("steps", past_step), OBJECTS("actions", past_action), INTEGER("left_out"), END};
static const struct answer_member past[] = {
	INTEGER("number"), TEXT("time"), TEXT("by"), TEXT("what"), INTEGER("steps"),
	TEXT("outcome"), TEXT("text"), BOOLEAN("kept"), INTEGER("times"),
	OBJECT_OR_NULL("configuration", NULL), OBJECT_OR_NULL("plan", past_plan), END};
static const struct answer_member plan_port[] = {
	TEXT("leg"), TEXT("label"), TEXT("interface"), TEXT("pci"), TEXT("vf"), TEXT("ip"),
	TEXT("gateway"), TEXT("mac"), INTEGER("mtu"), BOOLEAN("kernel_owned"), TEXT("kernel_port"),
	BOOLEAN("shared_ip"), BOOLEAN("stands_by"), END};
static const struct answer_member plan_worker[] = {
	INTEGER("id"), TEXT("role"), INTEGER("core"), TEXT("asked"), TEXT("transport"),
	TEXT("reason"), TEXT("note"), INTEGER("udp_port"), OBJECTS("ports", plan_port),
	TEXTS("mounts"), TEXTS("exports"), TEXTS("details"), END};
static const struct answer_member plan[] = {
	TEXT("host"), INTEGER("inventory"), OBJECTS("legs", plan_leg), OBJECTS("steps", step),
	OBJECTS("actions", action), OBJECTS("workers", plan_worker), TEXTS("warnings"),
	MAYBE_TEXT("version"), END};

/* ---- configuration and legs ---- */

static const struct answer_member is_staged[] = {BOOLEAN("staged"), END};

static const struct answer_member override[] = {
	TEXT("key"), TEXT("value"), TEXT("at"), TEXT("overridden"), TEXT("overridden_at"),
	BOOLEAN("edited"), TEXT_OR_NULL("text"), END};
static const struct answer_member listed_leg[] = {
	LEG_MEMBERS, MAYBE_TEXT("label_source"), MAYBE_TEXT("label_reason"),
	{"switch", ANSWER_TEXT, false, true, true, NULL},
	{"switch_port", ANSWER_TEXT, false, true, true, NULL}, TEXT("file"),
	MAYBE_OBJECTS("neighbours", NULL), BOOLEAN("enabled"), VALUE("vfs"),
	VALUE("rdma"), TEXT("pending"), OBJECT("changes", NULL), OBJECTS("overridden", override),
	END};
static const struct answer_member net[] = {
	TEXT("host"), OBJECTS("net", listed_leg), OBJECTS("workers_overridden", override),
	OBJECTS("staged_by", author), END};
static const struct answer_member leg[] = {
	TEXT("name"), TEXT_OR_NULL("file"), TEXT("pending"), OBJECT("changes", NULL),
	OBJECT_OR_NULL("running", NULL), OBJECT_OR_NULL("staged", NULL),
	OBJECTS("overridden", override), END};
static const struct answer_member removed_leg[] = {TEXT("name"), TEXT("file"), END};

/* ---- changes ---- */

static const struct answer_member made[] = {
	INTEGER("number"), INTEGER("steps"), INTEGER("kernel_writes"), END};
static const struct answer_member made_action[] = {
	TEXT("action"), TEXT("reason"), MAYBE_BOOLEAN("disruptive"), END};
static const struct answer_member apply[] = { /* with dry-run, the answer is a plan */
	MAYBE_OBJECT("applied", made), MAYBE_OBJECTS("actions", made_action),
	MAYBE_TEXTS("warnings"), MAYBE_INTEGER("history"), MAYBE_INTEGER("confirm_s"),
	MAYBE_TEXTS("mounts"), END};
static const struct answer_member confirmed[] = {INTEGER("confirmed"), TEXTS("notes"), END};
static const struct answer_member stopping[] = {BOOLEAN("stopping"), END};
static const struct answer_member one_worker[] = {INTEGER("worker"), END};
static const struct answer_member core[] = {INTEGER("core"), END};
static const struct answer_member worker[] = {
	INTEGER("worker"), TEXT("role"), TEXT("file"), TEXT("pending"), OBJECT("changes", NULL),
	OBJECT_OR_NULL("running", core), OBJECT_OR_NULL("staged", core),
	OBJECTS("overridden", override), END};
static const struct answer_member log_line[] = {
	INTEGER("number"), TEXT("time"), TEXT("level"), TEXT("process"), INTEGER("pid"), TEXT("text"),
	END};
static const struct answer_member logs[] = {
	INTEGER_OR_NULL("worker"), OBJECTS("lines", log_line), BOOLEAN("complete"),
	TEXT_OR_NULL("note"), END};
static const struct answer_member log_level[] = {
	INTEGER_OR_NULL("worker"), TEXT("level"), END};
static const struct answer_member restarts[] = {INTEGERS("restarts"), END};

static const struct answer_member fault[] = {
	INTEGER("id"), TEXT("leg"), TEXT("peer"), TEXT("direction"), INTEGER("drop_ppm"),
	INTEGER("duplicate_ppm"), INTEGER("reorder_ppm"), INTEGER("delay_us"), INTEGER("left_s"),
	INTEGER("packets"), TEXT("by"), END};
static const struct answer_member faults[] = {OBJECTS("faults", fault), END};
static const struct answer_member fault_id[] = {INTEGER("id"), END};
static const struct answer_member removed[] = {INTEGER("removed"), END};

static const struct answer_member capture[] = {TEXT("capture"), END};
static const struct answer_member running_capture[] = {
	TEXT("capture"), TEXT("state"), TEXT("by"), INTEGER("since_s"), TEXT("leg"),
	INTEGER_OR_NULL("worker"), INTEGERS("workers"), INTEGER("snap"), BOOLEAN("keys"),
	INTEGER("packets"), INTEGER("bytes"), INTEGER("dropped"), END};
static const struct answer_member captures[] = {OBJECTS("captures", running_capture), END};
static const struct answer_member ping[] = {TEXT("ping"), INTEGER("worker"), END};
static const struct answer_member ping_result[] = { /* an answer with status 202 has only `ended` */
	BOOLEAN("ended"), MAYBE_INTEGER("error"), MAYBE_TEXT("reason"), MAYBE_INTEGER("done"),
	MAYBE_INTEGER("bytes"), MAYBE_INTEGER("took_ns"), MAYBE_INTEGER("min_ns"),
	MAYBE_INTEGER("median_ns"), MAYBE_INTEGER("p99_ns"), MAYBE_INTEGER("max_ns"), END};

static const struct answer_member doctor_check[] = {
	TEXT("id"), TEXT("subject"), TEXT("title"), TEXT("state"), TEXT("evidence"),
	TEXT_OR_NULL("remedy"), TEXT_OR_NULL("because"), END};
static const struct answer_member doctor[] = {
	OBJECTS("checks", doctor_check), INTEGER("pass"), INTEGER("note"), INTEGER("unknown"),
	INTEGER("warn"), INTEGER("fail"), END};

static const struct answer_member one_operation[] = {
	INTEGER("id"), TEXT("request"), TEXT("by"), TEXT("begun"), TEXT("state"),
	TEXT_OR_NULL("ended"), INTEGER_OR_NULL("status"), OBJECT_OR_NULL("answer", NULL), END};
static const struct answer_member all_operations[] = {OBJECTS("operations", one_operation), END};

/* ---- the description of the API ---- */

static const struct answer_member root[] = {
	TEXT("name"), TEXT("version"), TEXT("operations"), TEXT("description"), TEXT("manual"), END};
static const struct answer_member operation[] = {
	TEXT("method"), TEXT("path"), TEXT("purpose"), TEXT("role"), TEXT("content"), END};
static const struct answer_member operations[] = {
	TEXT("role"), OBJECTS("operations", operation), END};

static const struct answer_member *const answers[RESOURCE_MAX] = {
	[RESOURCE_STATUS] = status,
	[RESOURCE_PROCESSES] = processes,
	[RESOURCE_MOUNTS] = mounts,
	[RESOURCE_MOUNT] = new_mount,
	[RESOURCE_UNMOUNT] = unmounted,
	[RESOURCE_EXPORTS] = exports,
	[RESOURCE_CLIENTS] = clients,
	[RESOURCE_PEERS] = peers,
	[RESOURCE_PATHS] = paths,
	[RESOURCE_SESSIONS] = sessions,
	[RESOURCE_SAMPLES] = samples,
	[RESOURCE_LOCKS] = locks,
	[RESOURCE_LOCK_BREAK] = broken_lock,
	[RESOURCE_CLUSTER] = cluster,
	[RESOURCE_CLUSTER_HOSTS] = cluster_hosts,
	[RESOURCE_CLUSTER_PROCESSES] = cluster_processes,
	[RESOURCE_CLUSTER_LINKS] = cluster_links,
	[RESOURCE_CLUSTER_NET] = cluster_net,
	[RESOURCE_CLUSTER_EXPORTS] = cluster_exports,
	[RESOURCE_CLUSTER_FORGET] = released,
	[RESOURCE_CLUSTER_LEAVE] = released,
	[RESOURCE_POOLS] = pools,
	[RESOURCE_POOL_ADD] = pool_change,
	[RESOURCE_POOL_SET] = pool_change,
	[RESOURCE_POOL_REMOVE] = pool_change,
	[RESOURCE_DOCUMENT] = document,
	[RESOURCE_DOCUMENT_SET] = rollout,
	[RESOURCE_ROLLOUT] = rollout_status,
	[RESOURCE_ROLLOUT_START] = rollout,
	[RESOURCE_ROLLOUT_PAUSE] = rollout,
	[RESOURCE_ROLLOUT_RESUME] = rollout,
	[RESOURCE_ROLLOUT_ABORT] = rollout,
	[RESOURCE_ADDRESSES] = pool_addresses,
	[RESOURCE_EVENTS] = events,
	[RESOURCE_HISTORY] = history,
	[RESOURCE_HISTORY_CONFIG] = past,
	[RESOURCE_PLAN] = plan,
	[RESOURCE_PLAN_RUNNING] = plan,
	[RESOURCE_CONFIG_STAGE] = is_staged,
	[RESOURCE_CONFIG_RESTORE] = is_staged,
	[RESOURCE_NET] = net,
	[RESOURCE_NET_ADD] = leg,
	[RESOURCE_NET_GET] = leg,
	[RESOURCE_NET_SET] = leg,
	[RESOURCE_NET_REMOVE] = removed_leg,
	[RESOURCE_APPLY] = apply,
	[RESOURCE_CONFIRM] = confirmed,
	[RESOURCE_OPERATIONS] = all_operations,
	[RESOURCE_OPERATION] = one_operation,
	[RESOURCE_DOCTOR] = doctor,
	[RESOURCE_STOP] = stopping,
	[RESOURCE_WORKERS_RESTART] = restarts,
	[RESOURCE_WORKER_STOP] = one_worker,
	[RESOURCE_WORKER_START] = one_worker,
	[RESOURCE_WORKER] = worker,
	[RESOURCE_WORKER_MOVE] = worker,
	[RESOURCE_WORKER_LOGS] = logs,
	[RESOURCE_AGENT_LOGS] = logs,
	[RESOURCE_LOG_LEVEL] = log_level,
	[RESOURCE_FAULTS] = faults,
	[RESOURCE_FAULT] = fault,
	[RESOURCE_FAULT_ADD] = fault_id,
	[RESOURCE_FAULTS_REMOVE] = removed,
	[RESOURCE_FAULT_REMOVE] = removed,
	[RESOURCE_CAPTURES] = captures,
	[RESOURCE_CAPTURE_BEGIN] = capture,
	[RESOURCE_RDMA_PING_BEGIN] = ping,
	[RESOURCE_RDMA_PING_RESULT] = ping_result,
	[RESOURCE_ROOT] = root,
	[RESOURCE_INDEX] = operations,
};
/* clang-format on */

const struct answer_member *answer_of(enum resource_id id)
{
	return answers[id];
}
