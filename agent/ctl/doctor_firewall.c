/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the firewall: whether rules that others have made drop what comes to the data IPs.
 * Apart for the two languages of rules. What cannot be judged is said to be unknown, never good. */
#include "agent/ctl/doctor.h"

#include <string.h>

enum verdict { VERDICT_NONE, VERDICT_ACCEPT, VERDICT_DROP, VERDICT_MAYBE };

static bool is_leg(const struct doctor_picture *p, const char *name)
{
	for (size_t i = 0; i < p->plan->n_legs; i++)
		if (strcmp(p->plan->legs[i].ifname, name) == 0)
			return true;
	return false;
}

/* ---- nftables ---- */

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* Whether a port is among the right side of a match: a number, a range, a set of them. */
static bool covers(const json_t *right, unsigned port)
{
	const json_t *range = json_object_get(right, "range"), *set = json_object_get(right, "set");
	const json_t *item;
	size_t i;

	if (json_is_integer(right))
		return json_integer_value(right) == port;
	if (range)
		return json_integer_value(json_array_get(range, 0)) <= port &&
		       json_integer_value(json_array_get(range, 1)) >= port;
	json_array_foreach (set, i, item)
		if (covers(item, port))
			return true;
	return false;
}

/* What one match says of our packets: VERDICT_ACCEPT: it fits them; DROP: it does not; MAYBE. */
static enum verdict judge_match(const struct doctor_picture *p, const json_t *match)
{
	const json_t *left = json_object_get(match, "left"),
		     *right = json_object_get(match, "right");
	const char *key = text_of(json_object_get(left, "meta"), "key");
	const json_t *payload = json_object_get(left, "payload");
	enum verdict fits = VERDICT_MAYBE;

	if (strcmp(key, "iifname") == 0 || strcmp(key, "iif") == 0)
		fits = json_is_string(right)
			       ? is_leg(p, json_string_value(right)) ? VERDICT_ACCEPT : VERDICT_DROP
			       : VERDICT_MAYBE;
	else if (strcmp(key, "l4proto") == 0 && json_is_string(right))
		fits = strcmp(json_string_value(right), "udp") == 0 ? VERDICT_ACCEPT : VERDICT_DROP;
	else if (strcmp(text_of(payload, "field"), "dport") == 0)
		fits = strcmp(text_of(payload, "protocol"), "udp") == 0 &&
				       covers(right, p->spec->port)
			       ? VERDICT_ACCEPT
			       : VERDICT_DROP;
	else if (json_object_get(left, "ct"))
		fits = VERDICT_DROP; /* of connections that there are; ours must begin */
	if (strcmp(text_of(match, "op"), "!=") == 0 && fits != VERDICT_MAYBE)
		fits = fits == VERDICT_ACCEPT ? VERDICT_DROP : VERDICT_ACCEPT;
	return fits;
}

static enum verdict judge_rule(const struct doctor_picture *p, const json_t *rule)
{
	enum verdict r = VERDICT_NONE;
	bool maybe = false;
	const json_t *expr;
	size_t i;

	json_array_foreach (json_object_get(rule, "expr"), i, expr) {
		const json_t *match = json_object_get(expr, "match");

		if (match) {
			enum verdict fits = judge_match(p, match);

			if (fits == VERDICT_DROP)
				return VERDICT_NONE;
			maybe = maybe || fits == VERDICT_MAYBE;
		} else if (json_object_get(expr, "accept")) {
			r = VERDICT_ACCEPT;
		} else if (json_object_get(expr, "drop") || json_object_get(expr, "reject")) {
			r = VERDICT_DROP;
		} else if (json_object_get(expr, "jump") || json_object_get(expr, "goto") ||
			   json_object_get(expr, "vmap")) {
			return VERDICT_MAYBE;
		}
	}
	return r != VERDICT_NONE && maybe ? VERDICT_MAYBE : r;
}

/* The first rule that is about our packets decides, else the policy. */
static void judge_chain(const struct doctor_picture *p, const json_t *list, const json_t *chain,
			struct doctor_result *r)
{
	const char *family = text_of(chain, "family"), *table = text_of(chain, "table");
	const char *name = text_of(chain, "name");
	enum verdict found = VERDICT_NONE;
	char where[200];
	const json_t *item;
	size_t i;

	snprintf(where, sizeof(where), "%.40s %.64s %.64s", family, table, name);
	json_array_foreach (list, i, item) {
		const json_t *rule = json_object_get(item, "rule");
		enum verdict v;

		if (!rule || strcmp(text_of(rule, "family"), family) != 0 ||
		    strcmp(text_of(rule, "table"), table) != 0 ||
		    strcmp(text_of(rule, "chain"), name) != 0)
			continue;
		v = judge_rule(p, rule);
		if (v == VERDICT_MAYBE)
			found = VERDICT_MAYBE;
		else if (v != VERDICT_NONE && found == VERDICT_NONE)
			found = v;
		if (v == VERDICT_ACCEPT || v == VERDICT_DROP)
			break;
	}
	if (found == VERDICT_NONE)
		found = strcmp(text_of(chain, "policy"), "drop") == 0 ? VERDICT_DROP
								      : VERDICT_ACCEPT;
	if (found == VERDICT_DROP) {
		doctor_say(r, DOCTOR_FAIL, "nft chain %s drops UDP port %u on legs", where,
			   p->spec->port);
		doctor_advise(r, "nft insert rule %s udp dport %u accept", where, p->spec->port);
	} else if (found == VERDICT_MAYBE) {
		doctor_say(r, DOCTOR_UNKNOWN,
			   "nft chain %s decides by more than port and interface; see 'nft list "
			   "chain %s'",
			   where, where);
	}
}

static void run_nft(const struct doctor_picture *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	json_t *o = p->nft ? json_loads(p->nft, 0, NULL) : NULL;
	const json_t *list = json_object_get(o, "nftables"), *item;
	size_t i, n = 0;

	if (!o) {
		doctor_say(r, DOCTOR_UNKNOWN, "the rules of nftables cannot be read: %s",
			   p->no_nft);
		doctor_advise(r, "run it as root, with nft installed");
		return;
	}
	json_array_foreach (list, i, item) {
		const json_t *chain = json_object_get(item, "chain");
		const char *family = text_of(chain, "family");

		if (strcmp(text_of(chain, "hook"), "input") != 0 ||
		    (strcmp(family, "ip") != 0 && strcmp(family, "ip6") != 0 &&
		     strcmp(family, "inet") != 0))
			continue;
		n++;
		judge_chain(p, list, chain, r);
	}
	json_decref(o);
	doctor_say(r, DOCTOR_PASS, "%zu chains of nftables let UDP port %u pass", n, p->spec->port);
}

/* ---- iptables ---- */

/* Whether a line "-A INPUT ..." is about our packets, and what it does with them. */
static enum verdict judge_line(const struct doctor_picture *p, char *line)
{
	enum verdict r = VERDICT_NONE;
	bool maybe = false;
	char *words[64];
	size_t n = 0;

	for (char *word; n < ARRAY_SIZE(words) && (word = strsep(&line, " "));)
		if (*word)
			words[n++] = word;
	for (size_t i = 2; i + 1 < n; i += 2) {
		const char *value = words[i + 1];

		if (strcmp(words[i], "-j") == 0) {
			r = strcmp(value, "ACCEPT") == 0			 ? VERDICT_ACCEPT
			    : !strcmp(value, "DROP") || !strcmp(value, "REJECT") ? VERDICT_DROP
										 : VERDICT_MAYBE;
			break; /* what follows is the target's */
		}
		if (strcmp(words[i], "-i") == 0 && !is_leg(p, value))
			return VERDICT_NONE;
		if (strcmp(words[i], "-p") == 0 && strcmp(value, "udp") != 0)
			return VERDICT_NONE;
		if (strcmp(words[i], "--dport") == 0 && strtoul(value, NULL, 10) != p->spec->port &&
		    !strchr(value, ':'))
			return VERDICT_NONE;
		if (strcmp(words[i], "--ctstate") == 0 && !strstr(value, "NEW"))
			return VERDICT_NONE;
		maybe = maybe || (strcmp(words[i], "-i") != 0 && strcmp(words[i], "-p") != 0 &&
				  strcmp(words[i], "-m") != 0 &&
				  (strcmp(words[i], "--dport") != 0 || strchr(value, ':')));
	}
	return r != VERDICT_NONE && maybe ? VERDICT_MAYBE : r;
}

static void judge_save(const struct doctor_picture *p, const char *text, const char *tool,
		       struct doctor_result *r)
{
	autofree char *copy = strdup(text);
	enum verdict found = VERDICT_NONE, policy = VERDICT_ACCEPT;
	bool maybe = false;
	char *rest = copy;

	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		if (strncmp(line, ":INPUT DROP", strlen(":INPUT DROP")) == 0)
			policy = VERDICT_DROP;
		if (strncmp(line, "-A INPUT ", strlen("-A INPUT ")) != 0 || found != VERDICT_NONE)
			continue;
		found = judge_line(p, line);
		maybe = maybe || found == VERDICT_MAYBE;
		if (found == VERDICT_MAYBE)
			found = VERDICT_NONE;
	}
	if (found == VERDICT_NONE)
		found = policy;
	if (found == VERDICT_DROP && !maybe) {
		doctor_say(r, DOCTOR_FAIL, "%s: INPUT drops UDP port %u on legs", tool,
			   p->spec->port);
		doctor_advise(r, "%s -I INPUT -p udp --dport %u -j ACCEPT", tool, p->spec->port);
	} else if (maybe) {
		doctor_say(r, DOCTOR_UNKNOWN,
			   "%s: INPUT decides by more than port and interface; see '%s -S INPUT'",
			   tool, tool);
	}
}

static void run_iptables(const struct doctor_picture *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	const struct {
		const char *text, *why, *tool;
	} saves[] = {{p->iptables, p->no_iptables, "iptables"},
		     {p->ip6tables, p->no_ip6tables, "ip6tables"}};

	for (size_t i = 0; i < ARRAY_SIZE(saves); i++) {
		if (saves[i].text)
			judge_save(p, saves[i].text, saves[i].tool, r);
		else
			doctor_say(r, DOCTOR_UNKNOWN, "the rules of %s cannot be read: %s",
				   saves[i].tool, saves[i].why);
	}
	doctor_say(r, DOCTOR_PASS, "no rule of iptables drops UDP port %u", p->spec->port);
}

static const struct doctor_check checks[] = {
	{"firewall-nft", "nftables lets the data ports pass", DOCTOR_WANTS_PLAN, run_nft, NULL},
	{"firewall-iptables", "iptables lets the data ports pass", DOCTOR_WANTS_PLAN, run_iptables,
	 NULL},
};

const struct doctor_subject doctor_firewall = DOCTOR_SUBJECT("firewall", checks);
