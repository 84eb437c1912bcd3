/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of 'plenum net' and 'plenum restore', which stage changes to legs. They convert the
 * values of options to JSON with the types of the schema; the agent validates them.
 */
#include "agent/ctl/ctl.h"

#include "netcfg/spec/spec.h"
#include "netcfg/spec/spec_node.h"
#include "netcfg/spec/spec_schema.h"
#include <string.h>
#include <sys/random.h>

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

#define NET_KEY(member, key, help) key,
static const char *const net_keys[] = {RESOURCE_NET_KEYS(NET_KEY)};
#undef NET_KEY

/* ---- values ---- */

/* Converts the text of an option to a JSON value. */
static json_t *value_of(const struct spec_key *k, const char *text)
{
	const struct spec_type_ops *ops = &spec_types[k->type];

	if (ops->is_number && spec_text_is_number(text))
		return json_loads(text, JSON_DECODE_ANY, NULL);
	if (ops->is_bool && spec_text_is_bool(text))
		return json_boolean(strcmp(text, "true") == 0);
	return json_string(text);
}

/* Converts "a,b" to a list. */
static json_t *list_of(const char *text)
{
	json_t *list = json_array();

	for (size_t len; list; text += len + 1) {
		len = strcspn(text, ",");
		if (json_array_append_new(list, json_stringn(text, len)) < 0) {
			json_decref(list);
			return NULL;
		}
		if (!text[len])
			break;
	}
	return list;
}

/* Converts a scalar: YAML's numbers and booleans become JSON's. */
static json_t *json_of(const struct spec_node *n)
{
	json_t *o;

	if (n->kind == SPEC_NODE_SCALAR && n->plain && spec_node_is_null(n))
		return json_null();
	if (n->kind == SPEC_NODE_SCALAR && n->plain && spec_text_is_number(n->text))
		return json_loads(n->text, JSON_DECODE_ANY, NULL);
	if (n->kind == SPEC_NODE_SCALAR && n->plain && spec_text_is_bool(n->text))
		return json_boolean(strcmp(n->text, "true") == 0);
	if (n->kind == SPEC_NODE_SCALAR)
		return json_string(n->text);
	o = n->kind == SPEC_NODE_LIST ? json_array() : json_object();
	for (const struct spec_node *c = n->child; o && c; c = c->next) {
		json_t *value = json_of(c);
		const int r = n->kind == SPEC_NODE_LIST ? json_array_append_new(o, value)
							: json_object_set_new(o, c->key, value);

		if (r == 0)
			continue;
		json_decref(o);
		o = NULL;
	}
	return o;
}

/* Parses a map in YAML's flow style, such as "{pfc: [3], trust: dscp}". Returns NULL after printing
 * the error. */
static json_t *map_of(const char *key, const char *text)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec_node *n = NULL;
	char option[PLENUM_NAME_MAX];
	json_t *o = NULL;

	snprintf(option, sizeof(option), "--%s", key);
	if (spec_node_parse(option, text, strlen(text), &d, &n) < 0 || diag_has_errors(&d))
		diag_print(&d, stderr);
	else if (!n || n->kind != SPEC_NODE_MAP)
		ctl_complain("%s: '%.64s' is not a map; write for example %s '{KEY: VALUE, ...}', "
			     "see plenum.yaml(5)",
			     option, text, option);
	else if (!(o = json_of(n)))
		ctl_complain("%s: '%.64s' contains an invalid number; write 3 or 0.5", option,
			     text);
	spec_node_free(n);
	return o;
}

static int not_utf8(void)
{
	ctl_complain("argument is not valid UTF-8");
	return CTL_USAGE;
}

/* Sets a configuration key of an entry of `list`. text NULL: the option is absent. */
static int set_key(json_t *o, const char *list, const char *key, const char *text)
{
	const struct spec_key *entries = spec_key_find(&spec_schema, list);
	const struct spec_key *k = spec_key_find(entries->table, key);
	json_t *value;

	if (!text)
		return CTL_OK;
	if (!k) {
		ctl_complain("this version has no key '%s' in %s", key, list);
		return CTL_USAGE;
	}
	if (k->type == SPEC_TYPE_MAP) {
		value = map_of(key, text);
		return value ? json_object_set_new(o, key, value) : CTL_USAGE;
	}
	value = spec_type_is_list(k->type) ? list_of(text) : value_of(k, text);
	return json_object_set_new(o, key, value) < 0 ? not_utf8() : CTL_OK;
}

/* ---- the network of a leg ---- */

/* Returns the prefix length given as "16", "/16" or "255.255.0.0", or -1 if the text is invalid. */
static int netmask_length(const char *text)
{
	const char *digits = text + (*text == '/');
	struct ip_addr mask;
	char *end;
	unsigned long v = strtoul(digits, &end, 10);
	int len = 0;

	if (*digits >= '0' && *digits <= '9' && !*end && v <= 128)
		return (int)v;
	if (ip_addr_parse(text, &mask) < 0 || mask.family != AF_INET)
		return -1;
	while (len < 32 && (mask.bytes[len / 8] & (0x80 >> (len % 8))))
		len++;
	for (int i = len; i < 32; i++)
		if (mask.bytes[i / 8] & (0x80 >> (i % 8)))
			return -1;
	return len;
}

/* Makes the range from the lowest to the highest of the given addresses. */
static int range_of(const struct ctl_args *a, char *buf, size_t size)
{
	int len = netmask_length(a->netmask);
	struct ip_range all = {0}, one;
	json_t *ips = list_of(a->ips);
	const json_t *ip;
	size_t i;

	json_array_foreach (ips, i, ip) {
		if (!json_is_string(ip) || ip_range_parse(json_string_value(ip), &one) < 0) {
			ctl_complain("--ips: '%.64s' is not a valid address or range; write "
				     "10.0.0.1 or 10.0.0.1-10.0.0.9",
				     json_is_string(ip) ? json_string_value(ip) : "?");
			json_decref(ips);
			return CTL_USAGE;
		}
		if (i == 0 || ip_addr_cmp(&one.first, &all.first) < 0)
			all.first = one.first;
		if (i == 0 || ip_addr_cmp(&one.last, &all.last) > 0)
			all.last = one.last;
	}
	json_decref(ips);
	if (len < 0 || len > (int)ip_addr_bits(&all.first)) {
		ctl_complain("--netmask: '%.64s' is not a netmask; write 255.255.0.0 or 16",
			     a->netmask);
		return CTL_USAGE;
	}
	all.prefix_len = (uint8_t)len;
	ip_range_format(&all, buf, size);
	if (!strchr(buf, '/'))
		snprintf(buf + strlen(buf), size - strlen(buf), "/%d", len);
	return CTL_OK;
}

/* Adds the network that is created together with the leg. */
static int describe_network(const struct ctl_args *a, const char *name, json_t *body)
{
	char range[2 * IP_ADDR_STR_MAX];
	json_t *network;
	int r;

	if (!a->ips || !a->netmask) {
		ctl_complain(
			"--netmask, --gateway, --vlan and --mtu describe a new network for the "
			"leg; give --ips and --netmask together, or --network NAME alone");
		return CTL_USAGE;
	}
	r = range_of(a, range, sizeof(range));
	if (r != CTL_OK)
		return r;
	network = json_pack("{s:s, s:s}", "name", a->network ? a->network : name, "range", range);
	if (!network)
		return not_utf8();
	r = set_key(network, "networks", "gateway", a->gateway);
	if (r == CTL_OK)
		r = set_key(network, "networks", "vlan", a->vlan);
	if (r == CTL_OK)
		r = set_key(network, "networks", "mtu", a->mtu);
	/* A single range becomes the range of the network. The leg takes its addresses from there,
	 * so the leg itself has no list. */
	if (r == CTL_OK && !strchr(a->ips, ','))
		json_object_del(body, "ips");
	json_object_set_new(body, "network", network);
	return r;
}

static bool network_is_used(const struct spec *s, const struct spec_network *n)
{
	for (size_t i = 0; i < s->n_nets; i++)
		if (strcmp(s->nets[i].network, n->name) == 0)
			return true;
	return false;
}

/* Chooses the only network that has no leg, or with --inet6 the only such IPv6 network. */
static int choose_network(const struct ctl_args *a, const struct spec *s, json_t *body)
{
	char names[256] = "";
	const char *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->n_networks; i++) {
		const struct spec_network *network = &s->networks[i];
		size_t len = strlen(names);

		if (network_is_used(s, network) ||
		    (a->inet6 && network->range.first.family != AF_INET6))
			continue;
		found = network->name;
		snprintf(names + len, sizeof(names) - len, "%s%s", n++ ? ", " : "", found);
	}
	if (n == 1)
		return json_object_set_new(body, "network", json_string(found)) < 0 ? CTL_OS
										    : CTL_OK;
	ctl_complain("which network? %s%s; write --network NAME, or --ips and --netmask for a new "
		     "network",
		     n ? "networks without a leg: " : "every configured network has a leg", names);
	return CTL_USAGE;
}

static int find_network(const struct ctl_args *a, json_t *body)
{
	const struct ctl_request rq = {.resource = RESOURCE_CONFIG_STAGED};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *text = NULL;
	struct spec *s = NULL;
	int r = ctl_ask(a, &rq, &reply);

	if (r != CTL_OK)
		return r;
	if (spec_parse("the staged configuration", reply.body, reply.len, &d, &s) < 0) {
		text = diag_format(&d);
		ctl_complain("the agent's staged configuration is invalid:");
		ctl_put_lines(text ? text : "out of memory\n", stderr);
		return CTL_SOFTWARE;
	}
	r = choose_network(a, s, body);
	spec_free(s);
	return r;
}

/* With --inet6 all addresses must be IPv6, so an IPv4 address is reported as a typing error. */
static int check_family(const struct ctl_args *a, const char *option, const char *text)
{
	json_t *list = text && a->inet6 ? list_of(text) : NULL;
	const json_t *item;
	size_t i;
	int r = CTL_OK;

	json_array_foreach (list, i, item) {
		struct ip_range range;
		const char *one = json_string_value(item);

		if (r != CTL_OK || !one || ip_range_parse(one, &range) < 0 ||
		    range.first.family == AF_INET6)
			continue;
		ctl_complain("%s: '%.64s' is not an IPv6 address, but --inet6 was given", option,
			     one);
		r = CTL_USAGE;
	}
	json_decref(list);
	return r;
}

/* ---- the keys of a leg ---- */

/* Checks that at most one of two options for the same configuration key is given. */
static int one_of(const char *a_name, bool a, const char *b_name, bool b)
{
	if (!a || !b)
		return CTL_OK;
	ctl_complain("%s and %s contradict each other; give only one", a_name, b_name);
	return CTL_USAGE;
}

/* Adds the configuration keys of all options except --name and the options of the network. */
static int fill_keys(const struct ctl_args *a, json_t *body)
{
	const struct {
		const char *key, *text;
	} keys[] = {
		{"device", a->device},
		{"label", a->auto_label ? "auto" : a->label},
		{"rdma", a->rdma_off	? "off"
			 : a->rdma_on	? "on"
			 : a->rdma_only ? "only"
					: NULL},
		{"ips", a->ips},
		{"shared-ip", a->shared_ip ? "true" : NULL},
		{"soft-roce", a->soft_roce ? "true" : NULL},
	};
	int r = one_of("--label", a->label, "--auto-label", a->auto_label);

	if (r == CTL_OK)
		r = one_of("--rdma-off", a->rdma_off, "--rdma-on", a->rdma_on);
	if (r == CTL_OK)
		r = one_of("--rdma-only", a->rdma_only, "--rdma-off or --rdma-on",
			   a->rdma_off || a->rdma_on);
	if (r == CTL_OK)
		r = check_family(a, "--ips", a->ips);
	if (r == CTL_OK)
		r = check_family(a, "--gateway", a->gateway);
	for (size_t i = 0; i < ARRAY_SIZE(keys) && r == CTL_OK; i++)
		r = set_key(body, "net", keys[i].key, keys[i].text);
	for (size_t i = 0; i < RESOURCE_NET_KEY_MAX && r == CTL_OK; i++)
		r = set_key(body, "net", net_keys[i], a->net_keys[i]);
	return r;
}

static bool describes_network(const struct ctl_args *a)
{
	return a->netmask || a->gateway || a->vlan || a->mtu;
}

/* ---- requests ---- */

int ctl_check_leg_name(const char *name)
{
	if (strspn(name, NAME_CHARS) != strlen(name)) {
		ctl_complain("'%.64s' is not a valid name of a leg", name);
		return CTL_USAGE;
	}
	if (!*name || strlen(name) >= PLENUM_NAME_MAX) {
		ctl_complain("a name has 1 to %d characters", PLENUM_NAME_MAX - 1);
		return CTL_USAGE;
	}
	return CTL_OK;
}

/* ---- the commands ---- */

int ctl_cmd_net_add(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_NET_ADD};
	char tag[CTL_TAG_SIZE];
	const char *device = a->operands[0], *name = a->name ? a->name : device;
	json_t *body;
	int r;

	if (!a->name && strspn(device, NAME_CHARS) != strlen(device)) {
		ctl_complain("net add needs --name if DEVICE is not an interface name; see 'plenum "
			     "net add --help'");
		return CTL_USAGE;
	}
	body = json_pack("{s:s, s:s}", "name", name, "device", device);
	if (!body)
		return not_utf8();
	rq.if_match = tag;
	r = ctl_take_expect(a, tag);
	if (r == CTL_OK)
		r = fill_keys(a, body);
	if (r == CTL_OK && describes_network(a))
		r = describe_network(a, name, body);
	else if (r == CTL_OK && a->network)
		r = set_key(body, "net", "network", a->network);
	else if (r == CTL_OK && !a->shared_ip)
		r = find_network(a, body);
	if (r == CTL_OK)
		r = ctl_change(a, &rq, body,
			       "The change is staged; 'plenum plan' shows the steps, 'plenum "
			       "apply' applies the change.");
	json_decref(body);
	return r;
}

/* Prints the result of a change. */
static int print_changed(const struct ctl_args *a, const char *nothing, const json_t *o)
{
	if (a->json)
		return ctl_put_json(o);
	if (*ctl_text(o, "pending"))
		puts("The change is staged; 'plenum plan' shows the steps, 'plenum apply' applies "
		     "the change.");
	else
		puts(nothing);
	return CTL_OK;
}

#define PATCH_TRIES 20
#define PATCH_PAUSE_FIRST_NS (10 * NSEC_PER_MSEC)
#define PATCH_PAUSE_MAX_NS (300 * NSEC_PER_MSEC)
#define HTTP_CHANGED 412 /* HTTP status: the version in If-Match is no longer the current one */

/* Waits for a random time, so that commands which collided do not collide again. */
static void pause_before_try(unsigned n_tries)
{
	const uint64_t limit =
		MIN_OF(PATCH_PAUSE_FIRST_NS << MIN_OF(n_tries, 8U), PATCH_PAUSE_MAX_NS);
	uint32_t x = 0;
	uint64_t ns;

	if (getrandom(&x, sizeof(x), 0) != sizeof(x))
		x = (uint32_t)getpid();
	ns = limit / 4 + limit * (x % 1024) / 1024;
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* Sends the change for the expected version. If no version is expected, first reads the current
 * version. Returns CTL_OK with the agent's answer, whatever its HTTP status is, or another exit
 * status after printing the error. */
static int try_patch(const struct ctl_args *a, const struct ctl_patch *p, const char *text,
		     const char *expected, struct ctl_reply *ret)
{
	const struct ctl_request look = {.resource = p->get, .name = p->name};
	struct ctl_request rq = {.resource = p->set, .name = p->name, .body = text};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply leg = {0};
	int r = *expected ? CTL_OK : ctl_ask(a, &look, &leg);

	if (r != CTL_OK)
		return r;
	rq.if_match = *expected ? expected : leg.etag;
	r = ctl_http(a, &rq, ret);
	return r < 0 ? ctl_failed(a, &rq, r) : CTL_OK;
}

int ctl_patch(const struct ctl_args *a, const struct ctl_patch *p, const json_t *body)
{
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	autofree char *text = json_dumps(body, JSON_COMPACT);
	const struct ctl_request rq = {.resource = p->set};
	const unsigned n_tries = a->expect ? 1 : PATCH_TRIES;
	char tag[CTL_TAG_SIZE];
	json_t *o;
	int r;

	if (!text)
		return not_utf8();
	r = ctl_take_expect(a, tag);
	if (r == CTL_OK)
		r = try_patch(a, p, text, tag, &reply);
	for (unsigned i = 1; r == CTL_OK && reply.status == HTTP_CHANGED && i < n_tries; i++) {
		ctl_reply_done(&reply);
		pause_before_try(i);
		r = try_patch(a, p, text, tag, &reply);
	}
	if (r == CTL_OK)
		r = ctl_judge(a, &reply);
	if (r != CTL_OK)
		return r;
	o = ctl_parse(&rq, &reply);
	if (!o)
		return CTL_SOFTWARE;
	r = print_changed(a, p->nothing, o);
	json_decref(o);
	return r;
}

static int patch(const struct ctl_args *a, const char *name, const json_t *body)
{
	const struct ctl_patch p = {RESOURCE_NET_GET, RESOURCE_NET_SET, name,
				    "Nothing to stage: the leg has these values already."};
	int r = ctl_check_leg_name(name);

	return r == CTL_OK ? ctl_patch(a, &p, body) : r;
}

/* Resets the configuration keys in a text such as "label,ips" to their values in a file or to their
 * defaults. */
static int unset_keys(const struct ctl_args *a, json_t *body)
{
	const struct spec_table *t = spec_key_find(&spec_schema, "net")->table;
	json_t *list = a->unset ? list_of(a->unset) : NULL;
	const json_t *item;
	size_t i;
	int r = CTL_OK;

	json_array_foreach (list, i, item) {
		const char *key = json_string_value(item);

		if (r != CTL_OK || !key)
			continue;
		if (!spec_key_find(t, key) || strcmp(key, "name") == 0 ||
		    json_object_get(body, key)) {
			ctl_complain("--unset: '%.64s' %s", key,
				     json_object_get(body, key)
					     ? "is set by another option"
					     : "is not a key of a leg that can be unset");
			r = CTL_USAGE;
		} else {
			json_object_set_new(body, key, json_null());
		}
	}
	json_decref(list);
	return r;
}

int ctl_cmd_net_set(const struct ctl_args *a)
{
	const char *name = a->operands[0];
	json_t *body = json_object();
	int r = body ? fill_keys(a, body) : CTL_OS;

	if (r == CTL_OK && describes_network(a))
		r = describe_network(a, name, body);
	else if (r == CTL_OK)
		r = set_key(body, "net", "network", a->network);
	if (r == CTL_OK)
		r = unset_keys(a, body);
	if (r == CTL_OK && json_object_size(body) == 0) {
		ctl_complain("net set needs an option that changes the leg; see 'plenum net set "
			     "--help'");
		r = CTL_USAGE;
	}
	if (r == CTL_OK)
		r = patch(a, name, body);
	json_decref(body);
	return r;
}

static int set_one(const struct ctl_args *a, const char *key, const char *text)
{
	json_t *body = json_object();
	int r = body ? set_key(body, "net", key, text) : CTL_OS;

	if (r == CTL_OK)
		r = patch(a, a->operands[0], body);
	json_decref(body);
	return r;
}

int ctl_cmd_net_label(const struct ctl_args *a)
{
	return set_one(a, "label", a->operands[1]);
}

int ctl_cmd_net_enable(const struct ctl_args *a)
{
	return set_one(a, "enabled", "true");
}

int ctl_cmd_net_disable(const struct ctl_args *a)
{
	return set_one(a, "enabled", "false");
}

int ctl_cmd_net_remove(const struct ctl_args *a)
{
	char tag[CTL_TAG_SIZE];
	struct ctl_request rq = {
		.resource = RESOURCE_NET_REMOVE, .name = a->operands[0], .if_match = tag};
	int r = ctl_check_leg_name(a->operands[0]);

	if (r == CTL_OK)
		r = ctl_take_expect(a, tag);
	if (r != CTL_OK)
		return r;
	return ctl_change(a, &rq, NULL,
			  "The removal is staged; 'plenum plan' shows the steps, 'plenum apply' "
			  "applies the change.");
}

int ctl_cmd_restore(const struct ctl_args *a)
{
	char tag[CTL_TAG_SIZE];
	struct ctl_request rq = {.resource = RESOURCE_CONFIG_RESTORE, .if_match = tag};
	int r = ctl_take_expect(a, tag);

	return r != CTL_OK ? r : ctl_change(a, &rq, NULL, "The staged changes are discarded.");
}
