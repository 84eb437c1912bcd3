/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the firewall: whether foreign rules drop packets to or from the data IPs. It evaluates
 * both rule languages, nftables and iptables. A rule that it cannot evaluate makes the result
 * unknown, never passed. */
#include "agent/ctl/doctor/doctor.h"

#include <string.h>

#define ROCE_PORT 4791U /* RoCE v2 */

/* The first packet to or from a worker on one leg; ifname "": the leg sends no packets through the
 * kernel. */
struct packet {
	const char *ifname;
	unsigned port;
	bool out;
};

enum fit { FIT_NO, FIT_YES, FIT_MAYBE };
enum verdict { NOTHING, ACCEPTS, DROPS, EITHER }; /* EITHER = ACCEPTS | DROPS */

struct ruling {
	enum verdict verdict;
	bool sure; /* the rule matches the packet */
};

/* The verdict of a chain so far, rule by rule. */
struct outcome {
	unsigned maybe;	  /* verdicts of rules that may match */
	enum verdict end; /* of the first rule that matches, or NOTHING so far */
};

static enum fit fit_if(bool is)
{
	return is ? FIT_YES : FIT_NO;
}

static enum fit fit_not(enum fit f)
{
	return f == FIT_MAYBE ? f : fit_if(f == FIT_NO);
}

static void weigh(struct outcome *o, struct ruling r)
{
	if (o->end != NOTHING)
		return;
	if (r.sure && r.verdict != EITHER)
		o->end = r.verdict;
	else
		o->maybe |= r.verdict;
}

/* EITHER: the verdict depends on a rule that this evaluator does not know. */
static enum verdict settle(const struct outcome *o, bool policy_drops)
{
	enum verdict end = o->end != NOTHING ? o->end : policy_drops ? DROPS : ACCEPTS;

	return o->maybe & ~(unsigned)end ? EITHER : end;
}

/* Of soft-RoCE, whose packets pass the kernel's firewall as ours do. */
static bool is_soft_roce(const struct doctor_host *p, const char *leg)
{
	for (size_t i = 0; i < p->spec->n_nets; i++)
		if (strcmp(p->spec->nets[i].name, leg) == 0)
			return p->spec->nets[i].soft_roce;
	return false;
}

/* about: NULL for the data port; ifname "" where the leg sends no such packets. */
static struct packet packet_of(const struct doctor_host *p, const char *about, size_t leg, bool out)
{
	const struct plan_leg_info *l = &p->plan->legs[leg];
	const bool sends =
		plan_leg_is_configured(l) && !l->bond[0] && (!about || is_soft_roce(p, l->name));

	return (struct packet){.ifname = sends ? l->ifname : "",
			       .port = about ? ROCE_PORT : p->spec->port,
			       .out = out};
}

/* True: there is no packet to check, and r says so. */
static bool is_idle(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++)
		if (!c->about || packet_of(p, c->about, i, false).ifname[0])
			return false;
	if (c->about)
		doctor_report(r, DOCTOR_PASS, "no leg uses soft-RoCE");
	return c->about != NULL;
}

/* A name, or a prefix that ends with `wild`. */
static enum fit names_leg(const struct packet *pk, const char *name, char wild)
{
	const size_t len = strlen(name);

	if (len > 0 && name[len - 1] == wild)
		return fit_if(strncmp(name, pk->ifname, len - 1) == 0);
	return fit_if(strcmp(name, pk->ifname) == 0);
}

/* ---- nftables ---- */

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

static enum fit port_fits(const struct packet *pk, const json_t *right)
{
	const json_t *range = json_object_get(right, "range");

	if (json_is_integer(right))
		return fit_if(json_integer_value(right) == pk->port);
	if (range)
		return fit_if(json_integer_value(json_array_get(range, 0)) <= pk->port &&
			      json_integer_value(json_array_get(range, 1)) >= pk->port);
	return FIT_MAYBE;
}

static enum fit link_fits(const struct packet *pk, const json_t *right)
{
	const char *name = json_string_value(right);

	return name && name[0] != '@' ? names_leg(pk, name, '*') : FIT_MAYBE;
}

static enum fit proto_fits(const struct packet *pk, const json_t *right)
{
	const char *name = json_string_value(right);

	(void)pk;
	return name && name[0] != '@' ? fit_if(strcmp(name, "udp") == 0) : FIT_MAYBE;
}

static enum fit state_fits(const struct packet *pk, const json_t *right)
{
	const char *name = json_string_value(right);

	(void)pk;
	return name && name[0] != '@' ? fit_if(strcmp(name, "new") == 0) : FIT_MAYBE;
}

/* The right side of a match is one value, a list or a set. */
static enum fit any_fits(const struct packet *pk, const json_t *right,
			 enum fit (*fits)(const struct packet *pk, const json_t *right))
{
	const json_t *list = json_is_array(right) ? right : json_object_get(right, "set"), *item;
	enum fit found = FIT_NO;
	size_t i;

	if (!json_is_array(list))
		return fits(pk, right);
	json_array_foreach (list, i, item) {
		enum fit f = fits(pk, item);

		if (f == FIT_YES)
			return f;
		found = f == FIT_MAYBE ? f : found;
	}
	return found;
}

/* Headers that our datagrams do not have. */
static const char *const others[] = {"tcp", "sctp", "dccp", "icmp", "icmpv6", "igmp", "esp", "ah"};

static enum fit judge_left(const struct packet *pk, const json_t *left, const json_t *right)
{
	const char *meta = text_of(json_object_get(left, "meta"), "key");
	const json_t *payload = json_object_get(left, "payload");
	const char *header = text_of(payload, "protocol");
	const char *side = pk->out ? "oif" : "iif";

	if (strncmp(meta, side, strlen(side)) == 0 && (!meta[3] || strcmp(meta + 3, "name") == 0))
		return any_fits(pk, right, link_fits);
	if (strcmp(meta, "l4proto") == 0)
		return any_fits(pk, right, proto_fits);
	if (strcmp(text_of(json_object_get(left, "ct"), "key"), "state") == 0)
		return any_fits(pk, right, state_fits);
	if (is_one_of(header, others, ARRAY_SIZE(others)))
		return FIT_NO;
	if (strcmp(text_of(payload, "field"), "dport") == 0)
		return any_fits(pk, right, port_fits);
	return FIT_MAYBE;
}

static enum fit judge_match(const struct packet *pk, const json_t *match)
{
	const char *op = text_of(match, "op");
	enum fit f =
		judge_left(pk, json_object_get(match, "left"), json_object_get(match, "right"));

	if (strcmp(op, "!=") == 0)
		return fit_not(f);
	return strcmp(op, "==") == 0 || strcmp(op, "in") == 0 ? f : FIT_MAYBE;
}

static struct ruling judge_rule(const struct packet *pk, const json_t *rule)
{
	static const char *const harmless[] = {"counter", "log", "mangle", "notrack"};
	static const char *const elsewhere[] = {"jump", "goto", "vmap", "queue", "return"};
	struct ruling r = {.verdict = NOTHING, .sure = true};
	const json_t *expr;
	size_t i;

	json_array_foreach (json_object_get(rule, "expr"), i, expr) {
		const char *what = json_object_iter_key(json_object_iter((json_t *)expr));
		enum fit f = FIT_YES;

		if (!what)
			f = FIT_MAYBE;
		else if (strcmp(what, "match") == 0)
			f = judge_match(pk, json_object_get(expr, "match"));
		else if (strcmp(what, "accept") == 0)
			r.verdict = ACCEPTS;
		else if (strcmp(what, "drop") == 0 || strcmp(what, "reject") == 0)
			r.verdict = DROPS;
		else if (is_one_of(what, elsewhere, ARRAY_SIZE(elsewhere)))
			r.verdict = EITHER;
		else if (!is_one_of(what, harmless, ARRAY_SIZE(harmless)))
			f = FIT_MAYBE;
		if (f == FIT_NO)
			return (struct ruling){.verdict = NOTHING};
		r.sure = r.sure && f == FIT_YES;
	}
	return r;
}

static enum verdict judge_chain(const struct packet *pk, const json_t *list, const json_t *chain)
{
	struct outcome o = {.end = NOTHING};
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const json_t *rule = json_object_get(item, "rule");

		if (rule && strcmp(text_of(rule, "family"), text_of(chain, "family")) == 0 &&
		    strcmp(text_of(rule, "table"), text_of(chain, "table")) == 0 &&
		    strcmp(text_of(rule, "chain"), text_of(chain, "name")) == 0)
			weigh(&o, judge_rule(pk, rule));
	}
	return settle(&o, strcmp(text_of(chain, "policy"), "drop") == 0);
}

static void report_chain(const struct doctor_host *p, const char *about, const json_t *list,
			 const json_t *chain, struct doctor_result *r)
{
	char where[200];

	snprintf(where, sizeof(where), "%.40s %.64s %.64s", text_of(chain, "family"),
		 text_of(chain, "table"), text_of(chain, "name"));
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct packet pk =
			packet_of(p, about, i, strcmp(text_of(chain, "hook"), "output") == 0);
		enum verdict v = pk.ifname[0] ? judge_chain(&pk, list, chain) : ACCEPTS;

		if (v == DROPS) {
			doctor_report(r, DOCTOR_FAIL, "nft chain %s drops UDP port %u on %s", where,
				      pk.port, pk.ifname);
			doctor_advise(r, "nft insert rule %s udp dport %u accept", where, pk.port);
		} else if (v == EITHER) {
			doctor_report(
				r, DOCTOR_UNKNOWN,
				"nft chain %s depends on more than port and interface; see 'nft "
				"list chain %s'",
				where, where);
		}
	}
}

/* Whether the chain's hook and family see each of our packets. */
static bool sees_our_packets(const json_t *chain)
{
	static const char *const hooks[] = {"prerouting", "input", "output"};
	static const char *const families[] = {"ip", "ip6", "inet"};

	return is_one_of(text_of(chain, "hook"), hooks, ARRAY_SIZE(hooks)) &&
	       is_one_of(text_of(chain, "family"), families, ARRAY_SIZE(families)) &&
	       strcmp(text_of(chain, "type"), "nat") != 0;
}

static void run_nft(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	json_t *o = p->nft ? json_loads(p->nft, 0, NULL) : NULL;
	const json_t *list = json_object_get(o, "nftables"), *item;
	size_t i, n = 0;

	if (is_idle(p, c, r)) {
		json_decref(o);
		return;
	}
	if (!o) {
		doctor_report(r, DOCTOR_UNKNOWN, "the rules of nftables cannot be read: %s",
			      p->no_nft);
		doctor_advise(r, "run plenum doctor as root, with nft installed");
		return;
	}
	json_array_foreach (list, i, item) {
		const json_t *chain = json_object_get(item, "chain");

		if (!sees_our_packets(chain))
			continue;
		n++;
		report_chain(p, c->about, list, chain, r);
	}
	json_decref(o);
	doctor_report(r, DOCTOR_PASS, "%zu nftables chains let UDP port %u pass", n,
		      c->about ? ROCE_PORT : p->spec->port);
}

/* ---- iptables ---- */

/* The next word of a saved rule; quoted text (a comment) counts as one word. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " "), *end;
	const bool quoted = *word == '"';

	if (!*word)
		return NULL;
	for (end = word + quoted; *end && *end != (quoted ? '"' : ' '); end++)
		if (*end == '\\' && end[1])
			end++;
	end += quoted && *end;
	*rest = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static bool list_has(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && strncmp(list, word, len) == 0)
			return true;
	return false;
}

/* "7411" or "7000:8000" */
static enum fit range_fits(const struct packet *pk, const char *text)
{
	const char *colon = strchr(text, ':');
	const unsigned long first = strtoul(text, NULL, 10);

	return fit_if(first <= pk->port &&
		      pk->port <= (colon ? strtoul(colon + 1, NULL, 10) : first));
}

/* An option whose value is the next word. FIT_MAYBE: an unknown option. */
static enum fit option_fits(const struct packet *pk, const char *option, const char *value)
{
	if (strcmp(option, pk->out ? "-o" : "-i") == 0)
		return names_leg(pk, value, '+');
	if (strcmp(option, "-p") == 0)
		return fit_if(strcmp(value, "udp") == 0);
	if (strcmp(option, "--dport") == 0)
		return range_fits(pk, value);
	if (strcmp(option, "--ctstate") == 0 || strcmp(option, "--state") == 0)
		return fit_if(list_has(value, "NEW"));
	return strcmp(option, "-m") == 0 || strcmp(option, "--comment") == 0 ? FIT_YES : FIT_MAYBE;
}

static enum verdict verdict_of(const char *target)
{
	static const char *const harmless[] = {"LOG", "NFLOG", "MARK", "CONNMARK", "TRACE"};

	if (strcmp(target, "ACCEPT") == 0)
		return ACCEPTS;
	if (strcmp(target, "DROP") == 0 || strcmp(target, "REJECT") == 0)
		return DROPS;
	return is_one_of(target, harmless, ARRAY_SIZE(harmless)) ? NOTHING : EITHER;
}

/* Parses the part after the chain's name, as in "-A INPUT -p udp -m udp --dport 7411 -j DROP". */
static struct ruling judge_line(const struct packet *pk, char *rest)
{
	struct ruling r = {.verdict = NOTHING, .sure = true};
	bool negated = false;

	for (char *word, *value; (word = next_word(&rest));) {
		enum fit f;

		if (strcmp(word, "!") == 0) {
			negated = true;
			continue;
		}
		if (strcmp(word, "-j") == 0 || strcmp(word, "-g") == 0) {
			value = next_word(&rest);
			r.verdict = value ? verdict_of(value) : EITHER;
			return r; /* the rest belongs to the target */
		}
		f = option_fits(pk, word, "");
		if (f != FIT_MAYBE) {
			value = next_word(&rest);
			f = option_fits(pk, word, value ? value : "");
		}
		if ((negated ? fit_not(f) : f) == FIT_NO)
			return (struct ruling){.verdict = NOTHING};
		r.sure = r.sure && f != FIT_MAYBE;
		negated = false;
	}
	return r;
}

static enum verdict judge_save(const struct packet *pk, const char *text)
{
	const char *chain = pk->out ? "OUTPUT" : "INPUT";
	autofree char *copy = strdup(text);
	struct outcome o = {.end = NOTHING};
	char *rest = copy, head[16];
	bool drops = false;

	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		int len = snprintf(head, sizeof(head), ":%s DROP", chain);

		drops = drops || strncmp(line, head, (size_t)len) == 0;
		len = snprintf(head, sizeof(head), "-A %s ", chain);
		if (strncmp(line, head, (size_t)len) == 0)
			weigh(&o, judge_line(pk, line + len));
	}
	return settle(&o, drops);
}

static void say_save(const struct packet *pk, const char *text, const char *tool,
		     struct doctor_result *r)
{
	const char *chain = pk->out ? "OUTPUT" : "INPUT";
	enum verdict v = judge_save(pk, text);

	if (v == DROPS) {
		doctor_report(r, DOCTOR_FAIL, "%s: %s drops UDP port %u on %s", tool, chain,
			      pk->port, pk->ifname);
		doctor_advise(r, "%s -I %s -p udp --dport %u -j ACCEPT", tool, chain, pk->port);
	} else if (v == EITHER) {
		doctor_report(r, DOCTOR_UNKNOWN,
			      "%s: %s depends on more than port and interface; see '%s -S %s'",
			      tool, chain, tool, chain);
	}
}

static void run_iptables(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	const struct {
		const char *text, *why, *tool;
	} saves[] = {{p->iptables, p->no_iptables, "iptables"},
		     {p->ip6tables, p->no_ip6tables, "ip6tables"}};

	if (is_idle(p, c, r))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(saves); i++) {
		if (!saves[i].text)
			doctor_report(r, DOCTOR_UNKNOWN, "the rules of %s cannot be read: %s",
				      saves[i].tool, saves[i].why);
		for (size_t j = 0; saves[i].text && j < 2 * p->plan->n_legs; j++) {
			const struct packet pk = packet_of(p, c->about, j / 2, j % 2);

			if (pk.ifname[0])
				say_save(&pk, saves[i].text, saves[i].tool, r);
		}
	}
	doctor_report(r, DOCTOR_PASS, "no rule of iptables drops UDP port %u",
		      c->about ? ROCE_PORT : p->spec->port);
}

static const struct doctor_check checks[] = {
	{"firewall-nft", "nftables lets the data port pass", DOCTOR_NEEDS_PLAN, run_nft, NULL},
	{"firewall-iptables", "iptables lets the data port pass", DOCTOR_NEEDS_PLAN, run_iptables,
	 NULL},
	{"firewall-nft-roce", "nftables lets soft-RoCE pass", DOCTOR_NEEDS_PLAN, run_nft, "roce"},
	{"firewall-iptables-roce", "iptables lets soft-RoCE pass", DOCTOR_NEEDS_PLAN, run_iptables,
	 "roce"},
};

const struct doctor_subject doctor_firewall = DOCTOR_SUBJECT("firewall", checks);
