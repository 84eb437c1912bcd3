/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts the plan to JSON with all that `plenum plan` shows. plan_render.c converts the JSON to
 * text. */
#include "netcfg/object/object.h"
#include "netcfg/plan/plan.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define DESCRIPTION_MAX 256

/* Returns the place of a step, such as "leg-a (veth0)", or only the part that is known. */
static const char *place(const struct plan_step *s, char *buf, size_t size)
{
	if (s->leg[0] && s->ifname[0])
		snprintf(buf, size, "%s (%s)", s->leg, s->ifname);
	else
		snprintf(buf, size, "%s", s->leg[0] ? s->leg : s->ifname[0] ? s->ifname : "host");
	return buf;
}

const char *plan_step_describe(const struct plan_step *s, char *buf, size_t size)
{
	char where[PLENUM_NAME_MAX + IFNAMSIZ + 4];

	s->kind->describe(s, place(s, where, sizeof(where)), buf, size);
	return buf;
}

const char *plan_step_describe_undone(const struct plan_step *s, char *buf, size_t size)
{
	char where[PLENUM_NAME_MAX + IFNAMSIZ + 4], step[DESCRIPTION_MAX];

	if (s->kind->undone)
		s->kind->undone(s, place(s, where, sizeof(where)), buf, size);
	else
		snprintf(buf, size, "'%s' was undone", plan_step_describe(s, step, sizeof(step)));
	return buf;
}

/* If memory runs out, jansson's constructors return NULL, and its setters fail if they get NULL. So
 * one check of the status at the end is enough. */
static int set(json_t *o, const char *key, json_t *value)
{
	return json_object_set_new(o, key, value);
}

static json_t *step_to_json(const struct plan_step *s)
{
	char text[DESCRIPTION_MAX], op[32];
	json_t *o = json_object();
	int r = 0;

	r |= set(o, "op", json_string(object_op(s, op, sizeof(op))));
	r |= set(o, "leg", json_string(s->leg));
	r |= set(o, "interface", json_string(s->ifname));
	r |= set(o, "step", json_string(plan_step_describe(s, text, sizeof(text))));
	r |= set(o, "reason", json_string(s->reason));
	r |= set(o, "disruptive", json_boolean(s->disruptive));
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *action_to_json(const struct plan_action *a)
{
	json_t *o = json_object();
	int r = 0;

	r |= set(o, "action", json_string(a->text));
	r |= set(o, "reason", json_string(a->reason));
	r |= set(o, "disruptive", json_boolean(a->disruptive));
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *leg_to_json(const struct plan_leg_info *leg)
{
	char text[REASON_FORMAT_MAX];
	json_t *o = json_object();
	int r = 0;

	r |= set(o, "name", json_string(leg->name));
	r |= set(o, "device", json_string(leg->device));
	r |= set(o, "match", json_string(leg->match));
	r |= set(o, "ifname", json_string(leg->ifname));
	r |= set(o, "network", json_string(leg->network));
	r |= set(o, "label", json_string(leg->label));
	r |= set(o, "state", json_string(plan_leg_state_to_string(leg->state)));
	r |= set(o, "reason", json_string(reason_format(&leg->reason, text, sizeof(text))));
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *port_to_json(const struct plan_port *p)
{
	char text[IP_ADDR_STR_MAX];
	json_t *o = json_object();
	int r = 0;

	r |= set(o, "leg", json_string(p->leg));
	r |= set(o, "label", json_string(p->label));
	r |= set(o, "interface", json_string(p->ifname));
	r |= set(o, "pci", json_string(p->pci));
	r |= set(o, "vf", json_string(p->vf));
	r |= set(o, "ip", json_string(ip_prefix_format(&p->ip, text, sizeof(text))));
	r |= set(o, "gateway",
		 json_string(p->gateway.family ? ip_addr_format(&p->gateway, text, sizeof(text))
					       : ""));
	r |= set(o, "mac", json_string(mac_addr_format(&p->mac, text, sizeof(text))));
	r |= set(o, "mtu", json_integer(p->mtu));
	r |= set(o, "kernel_owned", json_boolean(p->kernel_owned));
	r |= set(o, "kernel_port",
		 json_string(!p->kernel_owned			? ""
			     : p->kernel_port == PLAN_AF_PACKET ? "af-packet"
								: "af-xdp"));
	r |= set(o, "shared_ip", json_boolean(p->shared));
	r |= set(o, "stands_by", json_boolean(p->stands_by));
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* ---- mounts and exports of a worker ---- */

static void print_mount(const struct spec_mount *m, FILE *f)
{
	char rate[SPEC_RATE_TEXT_MAX];

	fprintf(f, "mounts %s from %s/%s", m->path, m->from_host, m->from_export);
	if (m->read_only)
		fputs(", read-only", f);
	if (m->soft_s)
		fprintf(f, ", soft %us", m->soft_s);
	if (m->max_kbs)
		fprintf(f, ", at most %s", spec_rate_format(m->max_kbs, rate, sizeof(rate)));
	if (m->max_operations)
		fprintf(f, ", at most %u operations/s", m->max_operations);
	fprintf(f, "%s%s%s%s\n", m->suid ? "" : ", nosuid", m->dev ? "" : ", nodev",
		m->write_back ? ", write-back" : "",
		m->locks == SPEC_LOCKS_NONE	 ? ", no locks"
		: m->locks == SPEC_LOCKS_CLUSTER ? ", cluster locks"
						 : "");
}

/* Prints a client such as "to host-a, 10.10.0.0/16: read-only, squash all". */
static void print_client(const struct spec_client *c, FILE *f)
{
	char text[IP_ADDR_STR_MAX];

	fprintf(f, "  to%s", c->n_hosts + c->n_networks ? "" : " every other client");
	for (size_t i = 0; i < c->n_hosts; i++)
		fprintf(f, "%s %s", i ? "," : "", c->hosts[i]);
	for (size_t i = 0; i < c->n_networks; i++)
		fprintf(f, "%s %s", i + c->n_hosts ? "," : "",
			ip_prefix_format(&c->networks[i], text, sizeof(text)));
	fprintf(f, ": %ssquash %s%s%s\n", c->access == SPEC_ACCESS_RO ? "read-only, " : "",
		spec_squash_to_string(c->squash), c->n_uid_map ? ", users mapped" : "",
		c->n_gid_map ? ", groups mapped" : "");
}

static void print_export(const struct spec_export *e, FILE *f)
{
	fprintf(f, "exports %s as %s%s%s%s\n", e->path, e->name, e->read_only ? ", read-only" : "",
		e->submounts == SPEC_SUBMOUNTS_CROSS ? ", with submounts" : "",
		e->n_clients ? "" : ", to every client: squash root");
	for (size_t i = 0; i < e->n_clients; i++)
		print_client(&e->clients[i], f);
}

/* Returns an array such as ["mounts /mnt/x from host/x", ...], or NULL if out of memory. */
static json_t *details_to_json(const struct plan_worker *w)
{
	autofree char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	json_t *list = json_array();
	char *rest;

	if (!f) {
		json_decref(list);
		return NULL;
	}
	for (size_t i = 0; i < w->n_mounts; i++)
		print_mount(w->mounts[i], f);
	for (size_t i = 0; i < w->n_exports; i++)
		print_export(&w->exports[i], f);
	if (fclose(f) != 0) {
		json_decref(list);
		return NULL;
	}
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			json_array_append_new(list, json_string(line));
	return list;
}

static json_t *worker_to_json(const struct plan_worker *w)
{
	json_t *o = json_object(), *ports = json_array(), *mounts = json_array(),
	       *exports = json_array();
	char reason[REASON_FORMAT_MAX];
	int r = 0;

	for (size_t i = 0; i < w->n_ports; i++)
		r |= json_array_append_new(ports, port_to_json(&w->ports[i]));
	for (size_t i = 0; i < w->n_mounts; i++)
		r |= json_array_append_new(mounts, json_string(w->mounts[i]->path));
	for (size_t i = 0; i < w->n_exports; i++)
		r |= json_array_append_new(exports, json_string(w->exports[i].name));
	r |= set(o, "id", json_integer(w->id));
	r |= set(o, "role", json_string(spec_role_to_string(w->role)));
	r |= set(o, "core", json_integer(w->core));
	r |= set(o, "asked", json_string(spec_transport_to_string(w->asked)));
	r |= set(o, "transport", json_string(spec_transport_to_string(w->effective)));
	r |= set(o, "reason", json_string(reason_format(&w->reason, reason, sizeof(reason))));
	r |= set(o, "note", json_string(w->note));
	r |= set(o, "udp_port", json_integer(w->udp_port));
	r |= set(o, "ports", ports);
	r |= set(o, "mounts", mounts);
	r |= set(o, "exports", exports);
	r |= set(o, "details", details_to_json(w));
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

json_t *plan_to_object(const struct plan *p)
{
	json_t *o = json_object(), *legs = json_array(), *steps = json_array(),
	       *actions = json_array(), *workers = json_array();
	int r = 0;

	for (size_t i = 0; i < p->n_legs; i++)
		r |= json_array_append_new(legs, leg_to_json(&p->legs[i]));
	for (size_t i = 0; i < p->n_steps; i++)
		r |= json_array_append_new(steps, step_to_json(&p->steps[i]));
	for (size_t i = 0; i < p->n_actions; i++)
		r |= json_array_append_new(actions, action_to_json(&p->actions[i]));
	for (size_t i = 0; i < p->n_workers; i++)
		r |= json_array_append_new(workers, worker_to_json(&p->workers[i]));
	r |= set(o, "host", json_string(p->host));
	r |= set(o, "inventory", json_integer((json_int_t)p->inventory_number));
	r |= set(o, "legs", legs);
	r |= set(o, "steps", steps);
	r |= set(o, "actions", actions);
	r |= set(o, "workers", workers);
	if (r == 0)
		return o;
	json_decref(o);
	return NULL;
}

char *plan_to_json(const struct plan *p)
{
	json_t *o = plan_to_object(p);
	char *text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;

	json_decref(o);
	return text;
}
