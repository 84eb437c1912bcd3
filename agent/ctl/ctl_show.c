/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that read from the agent, and print its answers as tables or, with -j, as JSON. */
#include "agent/ctl/ctl.h"

#include <string.h>

/* Longer than the time after which the agent exits even if workers or mounts have not ended
 * (AGENT_STOP_LIMIT_NS, 10 s). */
#define STOP_WAIT_NS (30 * NSEC_PER_SEC)

/* Gets an object from the agent. list: name of a list that the object must have; NULL: none. */
static int get(const struct ctl_args *a, enum resource_id resource, const char *list, json_t **ret)
{
	const struct ctl_request rq = {.resource = resource, .list = list};

	return ctl_ask_json(a, &rq, ret);
}

static void add_core(struct ctl_table *t, const json_t *process)
{
	const json_t *core = json_object_get(process, "core");

	if (json_is_integer(core))
		ctl_table_add(t, "%" JSON_INTEGER_FORMAT, json_integer_value(core));
	else
		ctl_table_add(t, "%s", "");
}

/* Adds the reason or, if there is none, the note. A note is information, not a problem. */
static void add_reason(struct ctl_table *t, const json_t *process)
{
	const char *note = ctl_text(process, "note");

	if (*ctl_text(process, "reason") || !*note)
		ctl_table_add(t, "%s", ctl_text(process, "reason"));
	else
		ctl_table_add(t, "(%s)", note);
}

/* Adds the switches of the legs, such as "switch-a Ethernet1/7, unknown". For a switch that does
 * not send its name, adds the leg's label. */
static void add_switches(struct ctl_table *t, const json_t *process)
{
	json_t *texts = json_array();
	const json_t *s;
	size_t i;

	json_array_foreach (json_object_get(process, "switches"), i, s) {
		const char *name = ctl_text(s, "switch"), *port = ctl_text(s, "port");

		if (!*name)
			name = ctl_text(s, "label");
		json_array_append_new(texts, json_sprintf("%s%s%s", *name ? name : "unknown",
							  *port ? " " : "", port));
	}
	ctl_table_add_list(t, texts);
	json_decref(texts);
}

/* Returns the source ports as text, or "" if there are fewer than two. */
static const char *sources_text(const json_t *counters, char *buf, size_t size)
{
	size_t n = json_array_size(json_object_get(counters, "tx_by_source"));

	buf[0] = '\0';
	if (n > 1)
		snprintf(buf, size, ", by %zu ports", n);
	return buf;
}

/* Adds the ports of the legs, such as "leg-a af-xdp: 120 sent, 118 received, 3 dropped, 0
 * missed". */
static void add_ports(struct ctl_table *t, const json_t *process)
{
	json_t *texts = json_array(), *dropped;
	const json_t *p;
	size_t i;

	json_array_foreach (json_object_get(process, "ports"), i, p) {
		const json_t *c = json_object_get(p, "counters");
		const char *leg = ctl_text(p, "leg"), *by = ctl_text(p, "by"), *why;
		uint64_t n = 0;
		char sources[32];

		json_object_foreach (json_object_get(c, "rx_dropped"), why, dropped)
			n += (uint64_t)json_integer_value(dropped);
		if (json_is_object(c))
			json_array_append_new(
				texts,
				json_sprintf("%s %s: %lld sent, %lld received, %llu dropped, "
					     "%lld missed%s",
					     leg, *by ? by : "closed",
					     (long long)ctl_int(c, "tx_packets"),
					     (long long)ctl_int(c, "rx_packets"),
					     (unsigned long long)n,
					     (long long)ctl_int(c, "rx_missed"),
					     sources_text(c, sources, sizeof(sources))));
		else
			json_array_append_new(texts,
					      json_sprintf("%s %s", leg, *by ? by : "closed"));
	}
	ctl_table_add_list(t, texts);
	json_decref(texts);
}

static void add_death(struct ctl_table *t, const json_t *death)
{
	if (json_is_object(death))
		ctl_table_add(t, "%s %s", ctl_text(death, "time"), ctl_text(death, "reason"));
	else
		ctl_table_add(t, "-");
}

int ctl_put_processes(const struct ctl_args *a, const json_t *processes, const char *columns)
{
	static const char *const headings[] = {"ID",	 "HOST",    "ROLE",	  "IPS",
					       "STATUS", "NETWORK", "SWITCHES",	  "CORE",
					       "MEMORY", "UPTIME",  "RESTARTS",	  "REASON",
					       "PORTS",	 "VERSION", "LAST DEATH", "LOG LEVEL"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *p;
	size_t i;

	json_array_foreach (processes, i, p) {
		char memory[32], uptime[32];

		ctl_table_add(&t, "%s", ctl_text(p, "id"));
		ctl_table_add(&t, "%s", ctl_text(p, "host"));
		ctl_table_add(&t, "%s", ctl_text(p, "role"));
		ctl_table_add_list(&t, json_object_get(p, "ips"));
		ctl_table_add(&t, "%s", ctl_text(p, "status"));
		ctl_table_add(&t, "%s", ctl_text(p, "network"));
		add_switches(&t, p);
		add_core(&t, p);
		ctl_table_add(&t, "%s",
			      ctl_format_bytes(ctl_int(p, "memory_bytes"), memory, sizeof(memory)));
		ctl_table_add(&t, "%s",
			      ctl_format_seconds(ctl_int(p, "uptime_s"), uptime, sizeof(uptime)));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(p, "restarts"));
		add_reason(&t, p);
		add_ports(&t, p);
		ctl_table_add(&t, "%s",
			      json_is_true(json_object_get(p, "outdated"))
				      ? "earlier"
				      : ctl_text(p, "version"));
		add_death(&t, json_object_get(p, "last_death"));
		ctl_table_add(&t, "%s", ctl_text(p, "log_level"));
	}
	return ctl_view_print(a, &t, columns);
}

static int put_processes(const struct ctl_args *a, bool with_agent)
{
	json_t *o, *list;
	int r = get(a, RESOURCE_PROCESSES, "processes", &o);

	if (r != CTL_OK)
		return r;
	list = json_object_get(o, "processes");
	for (size_t i = with_agent ? 0 : json_array_size(list); i-- > 0;)
		if (strcmp(ctl_text(json_array_get(list, i), "role"), "MANAGEMENT") == 0)
			json_array_remove(list, i);
	r = a->json ? ctl_put_json(o)
		    : ctl_put_processes(a, list, resources[RESOURCE_PROCESSES].columns);
	json_decref(o);
	return r;
}

int ctl_cmd_processes(const struct ctl_args *a)
{
	return put_processes(a, true);
}

int ctl_cmd_workers(const struct ctl_args *a)
{
	return put_processes(a, false);
}

const char *ctl_carrier_of(const json_t *leg)
{
	if (!*ctl_text(leg, "ifname"))
		return "-";
	if (!json_is_true(json_object_get(leg, "up")))
		return "down";
	return json_is_true(json_object_get(leg, "carrier")) ? "up" : "no carrier";
}

/* Adds a switch, such as "switch-a Ethernet1/7". */
static void add_switch(struct ctl_table *t, const json_t *leg)
{
	ctl_table_add(t, "%s%s%s", ctl_text(leg, "switch"), *ctl_text(leg, "switch") ? " " : "",
		      ctl_text(leg, "switch_port"));
}

/* Adds the device and, if it was selected, by what: "ens1 (driver mlx5_core)". */
static void add_leg_device(struct ctl_table *t, const json_t *leg)
{
	const char *match = ctl_text(leg, "match"), *device = ctl_text(leg, "device");

	if (*match)
		ctl_table_add(t, "%s%s(%s)", device, *device ? " " : "", match);
	else
		ctl_table_add(t, "%s", device);
}

static void add_leg(struct ctl_table *t, const json_t *leg)
{
	json_int_t mtu = ctl_int(leg, "mtu");

	ctl_table_add(t, "%s", ctl_text(leg, "name"));
	add_leg_device(t, leg);
	ctl_table_add(t, "%s", ctl_text(leg, "network"));
	ctl_table_add(t, "%s",
		      json_is_null(json_object_get(leg, "label")) ? "unknown"
								  : ctl_text(leg, "label"));
	add_switch(t, leg);
	ctl_table_add(t, "%s", ctl_text(leg, "state"));
	ctl_table_add(t, "%s", ctl_carrier_of(leg));
	if (mtu > 0)
		ctl_table_add(t, "%" JSON_INTEGER_FORMAT, mtu);
	else
		ctl_table_add(t, "%s", "");
	ctl_table_add_list(t, json_object_get(leg, "ips"));
}

static int print_legs(const json_t *legs)
{
	static const char *const headings[] = {"LEG",	  "DEVICE",	 "NETWORK",
					       "LABEL",	  "SWITCH PORT", "STATE",
					       "CARRIER", "MTU",	 "IPS"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *leg;
	size_t i;

	json_array_foreach (legs, i, leg)
		add_leg(&t, leg);
	return ctl_table_print(&t);
}

/* Adds the staged change of a leg: "+ added", or "~ label: switch-a -> switch-b". A single "-"
 * would look like an empty cell. */
static void add_staged(struct ctl_table *t, const json_t *leg)
{
	static const char *const marks[][2] = {
		{"add", "+ added"}, {"remove", "- removed"}, {"change", "~"}};
	autofree char *text = NULL;
	const char *word = ctl_text(leg, "pending"), *mark = "", *key;
	size_t size = 0, n = 0;
	json_t *change;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (strcmp(word, marks[i][0]) == 0)
			mark = marks[i][1];
	if (!f) {
		t->out_of_memory = true;
		return;
	}
	fputs(mark, f);
	json_object_foreach (json_object_get(leg, "changes"), key, change) {
		autofree char *was =
			json_dumps(json_object_get(change, "running"), JSON_ENCODE_ANY);
		autofree char *will =
			json_dumps(json_object_get(change, "staged"), JSON_ENCODE_ANY);

		fprintf(f, "%s %s: %s -> %s", n++ ? "," : "", key, was ? was : "?",
			will ? will : "?");
	}
	if (fclose(f) != 0)
		t->out_of_memory = true;
	else
		ctl_table_add(t, "%s", text);
}

static bool any_is_staged(const json_t *legs)
{
	const json_t *leg;
	size_t i;

	json_array_foreach (legs, i, leg)
		if (*ctl_text(leg, "pending"))
			return true;
	return false;
}

static void add_value(struct ctl_table *t, const json_t *leg, const char *key)
{
	const json_t *v = json_object_get(leg, key);
	autofree char *text = json_is_string(v) || !v ? NULL : json_dumps(v, JSON_ENCODE_ANY);

	ctl_table_add(t, "%s", json_is_string(v) ? json_string_value(v) : text ? text : "");
}

static int print_net(const struct ctl_args *a, const json_t *legs)
{
	static const char *const headings[] = {"LEG",	      "DEVICE",	 "NETWORK",   "LABEL",
					       "SWITCH PORT", "STATE",	 "CARRIER",   "MTU",
					       "IPS",	      "STAGED",	 "INTERFACE", "VFS",
					       "RDMA",	      "ENABLED", "FILE",      "REASON"};
	static const char *const values[] = {"ifname", "vfs", "rdma", "enabled", "file", "reason"};
	char columns[160];
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *leg;
	size_t i;

	json_array_foreach (legs, i, leg) {
		add_leg(&t, leg);
		add_staged(&t, leg);
		for (size_t j = 0; j < ARRAY_SIZE(values); j++)
			add_value(&t, leg, values[j]);
	}
	snprintf(columns, sizeof(columns), "%s%s", resources[RESOURCE_NET].columns,
		 any_is_staged(legs) ? ",STAGED" : "");
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_net_show(const struct ctl_args *a)
{
	json_t *o, *leg;
	size_t i;
	int r;

	if (a->n_operands > 0)
		return ctl_show_leg(a, a->operands[0]);
	r = get(a, RESOURCE_NET, "net", &o);
	if (r != CTL_OK)
		return r;
	r = a->json ? ctl_put_json(o) : print_net(a, json_object_get(o, "net"));
	/* The sentences below are printed only with the whole table. */
	if (r == CTL_OK && !a->json && !a->view.csv && !a->view.columns && !a->view.filters.n) {
		ctl_put_legs(json_object_get(o, "net"));
		ctl_put_authors(o);
		json_array_foreach (json_object_get(o, "net"), i, leg)
			ctl_put_overridden(leg);
	}
	json_decref(o);
	return r;
}

static int print_mounts(const json_t *mounts)
{
	static const char *const headings[] = {"MOUNT",	   "FROM",    "ORIGIN",	    "WORKER",
					       "LANES",	   "BY",      "STATE",	    "READ MS",
					       "WRITE MS", "SYNC MS", "METADATA MS"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *m;
	char lanes[128];
	size_t i;

	json_array_foreach (mounts, i, m) {
		ctl_format_ids(json_object_get(m, "lanes"), lanes, sizeof(lanes));
		ctl_table_add(&t, "%s", ctl_text(m, "path"));
		ctl_table_add(&t, "%s:%s", ctl_text(m, "peer"), ctl_text(m, "export"));
		ctl_table_add(&t, "%s", ctl_text(m, "origin"));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(m, "worker"));
		ctl_table_add(&t, "%s", lanes);
		ctl_table_add(&t, "%s", ctl_text(m, "by"));
		ctl_table_add(&t, "%s",
			      json_is_true(json_object_get(m, "served")) ? "served" : "waits");
		ctl_table_add_latencies(&t, m);
	}
	return ctl_table_print(&t);
}

static int print_exports(const json_t *exports)
{
	static const char *const headings[] = {"EXPORT",   "PATH",    "WORKERS",    "READ MS",
					       "WRITE MS", "SYNC MS", "METADATA MS"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *e;
	char ids[128];
	size_t i;

	json_array_foreach (exports, i, e) {
		ctl_format_ids(json_object_get(e, "workers"), ids, sizeof(ids));
		ctl_table_add(&t, "%s", ctl_text(e, "name"));
		ctl_table_add(&t, "%s", ctl_text(e, "path"));
		ctl_table_add(&t, "%s", ids);
		ctl_table_add_latencies(&t, e);
	}
	return ctl_table_print(&t);
}

static int print_paths(const json_t *paths)
{
	static const struct ctl_args all;

	return ctl_put_paths(&all, paths,
			     "WORKER,LEG,LOCAL,REMOTE,PEER,FOR,STATE,RTT,MTU,WINDOW,SENT,RECEIVED,"
			     "LOSS TO,LOSS FROM,RESENT,FAILOVERS,LAST PAUSE");
}

static void print_field(const char *name, const char *value)
{
	printf("%-9s ", name);
	ctl_put(*value ? value : "-", stdout);
	putchar('\n');
}

static void print_texts(const char *name, const json_t *texts)
{
	const json_t *text;
	size_t i;

	json_array_foreach (texts, i, text)
		print_field(i ? "" : name, json_is_string(text) ? json_string_value(text) : "?");
}

static void print_line(const char *before, const char *text, const char *after)
{
	fputs(before, stdout);
	ctl_put(text, stdout);
	puts(after);
}

/* Prints the required operator actions: settings that only an administrator can change, with the
 * commands. */
static void print_needs(const json_t *needs)
{
	const json_t *need, *command;
	size_t i, j;

	json_array_foreach (needs, i, need) {
		if (i == 0)
			puts("Actions required on this machine:");
		print_line("  ", ctl_text(need, "why"), "");
		json_array_foreach (json_object_get(need, "commands"), j, command)
			print_line("      ",
				   json_is_string(command) ? json_string_value(command) : "?", "");
		if (ctl_text(need, "firmware")[0])
			print_line("      (", ctl_text(need, "firmware"), ")");
		/* The kernel does not report changes of some of these settings, so the operator has
		 * to start an apply. */
		if (json_is_true(json_object_get(need, "reboot")))
			printf("      then reboot\n");
		else if (json_array_size(json_object_get(need, "commands")) > 0)
			printf("      then plenum apply\n");
	}
}

/* Prints the last apply with its number in the history. */
static void print_last_apply(const json_t *applied)
{
	const json_int_t number = ctl_int(applied, "number"), steps = ctl_int(applied, "steps");
	char user[160];

	if (number == 0) {
		print_field("Applied:", "nothing yet; 'plenum plan' shows the steps, 'plenum "
					"apply' carries them out");
		return;
	}
	printf("Applied:  number %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT " step%s", number,
	       steps, steps == 1 ? "" : "s");
	fputs(", ", stdout);
	ctl_put(ctl_text(applied, "time"), stdout);
	print_line(", by ", ctl_format_user(ctl_text(applied, "by"), user, sizeof(user)), "");
}

static int print_status(const json_t *o)
{
	static const struct {
		const char *key;
		int (*print)(const json_t *list);
	} tables[] = {{"legs", print_legs},
		      {"mounts", print_mounts},
		      {"exports", print_exports},
		      {"paths", print_paths}};
	const json_t *workers = json_object_get(o, "workers");
	int r = CTL_OK;
	size_t i;

	print_field("Host:", ctl_text(o, "host"));
	print_field("Version:", ctl_text(o, "version"));
	fputs("State:    ", stdout);
	ctl_put_state(ctl_text(o, "state"), 0);
	putchar('\n');
	print_last_apply(json_object_get(o, "applied"));
	printf("Workers:  %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " up\n",
	       ctl_int(workers, "up"), ctl_int(workers, "total"));
	if (json_object_get(o, "security"))
		print_field("Security:", strcmp(ctl_text(o, "security"), "none") == 0
						 ? "none; only for a trusted data network"
						 : ctl_text(o, "security"));
	if (json_is_true(json_object_get(o, "staged")))
		print_field("Staged:", "changes wait for 'plenum apply'; 'plenum diff' shows them");
	ctl_put_authors(o);
	print_texts("Reasons:", json_object_get(o, "reasons"));
	print_texts("Notes:", json_object_get(o, "notes"));
	print_needs(json_object_get(o, "needs"));
	for (i = 0; i < ARRAY_SIZE(tables) && r == CTL_OK; i++) {
		const json_t *list = json_object_get(o, tables[i].key);

		if (json_array_size(list) == 0)
			continue;
		putchar('\n');
		r = tables[i].print(list);
	}
	return r;
}

int ctl_cmd_status(const struct ctl_args *a)
{
	json_t *o;
	bool well;
	int r = get(a, RESOURCE_STATUS, NULL, &o);

	if (r != CTL_OK)
		return r;
	if (!*ctl_text(o, "state")) {
		ctl_complain("the agent's status has no state; see 'systemctl status plenumd'");
		json_decref(o);
		return CTL_SOFTWARE;
	}
	/* The exit status depends only on the state, so that it agrees with the first lines of the
	 * output. A problem that is too recent to change the state is not a fault yet. */
	well = strcmp(ctl_text(o, "state"), "running") == 0;
	r = a->json ? ctl_put_json(o) : print_status(o);
	json_decref(o);
	/* With -j the exit status is 0, because a program reads the state from the object, and
	 * under `set -o pipefail` another status would fail the pipe. */
	return r == CTL_OK && !well && !a->json ? CTL_DEGRADED : r;
}

/* Waits for the end of the agent, because an agent that is started earlier cannot get the host's
 * lock. */
int ctl_cmd_stop(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_STOP};
	autoclose int agent = a->remote ? -1 : ctl_agent_open(a->socket);
	json_t *body = a->detach ? json_pack("{s:b}", "force", 1) : NULL;
	int r = ctl_change(a, &rq, body, "Stopping mounts, workers and the agent.");

	json_decref(body);
	if (r != CTL_OK || agent < 0 || ctl_agent_wait(agent, STOP_WAIT_NS))
		return r;
	ctl_complain(
		"the agent has not ended within %u seconds; 'systemctl status plenumd' shows what "
		"it does",
		(unsigned)(STOP_WAIT_NS / NSEC_PER_SEC));
	return CTL_UNAVAILABLE;
}
