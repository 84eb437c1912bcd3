/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the doctor's evaluation of firewall rules: given the output of the rule tools, whether a
 * datagram to or from the legs passes. */
#include "agent/ctl/doctor/doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PORT "7411"

static enum doctor_state judge(const char *nft, const char *iptables)
{
	static struct plan plan = {.n_legs = 2,
				   .legs = {{.ifname = "veth0", .state = PLAN_LEG_USABLE},
					    {.ifname = "veth1", .state = PLAN_LEG_USABLE}}};
	static struct spec spec = {.port = 7411};
	autofree char *rules = nft ? strdup(nft) : NULL, *saved = strdup(iptables ? iptables : ""),
		      *saved6 = strdup("");
	const struct doctor_host p = {.root = "",
				      .sys = -1,
				      .plan = &plan,
				      .spec = &spec,
				      .nft = rules,
				      .iptables = saved,
				      .ip6tables = saved6};
	struct doctor_result r;

	doctor_run(&p, &doctor_firewall.checks[nft ? 0 : 1], &r);
	assert_true(r.evidence[0]);
	return r.state;
}

/* ---- nftables ---- */

#define LEFT_PORT "{'payload': {'protocol': 'udp', 'field': 'dport'}}"
#define LEFT_IN "{'meta': {'key': 'iifname'}}"
#define LEFT_OUT "{'meta': {'key': 'oifname'}}"
#define LEFT_STATE "{'ct': {'key': 'state'}}"
#define MATCH(op, left, right) "{'match': {'op': '" op "', 'left': " left ", 'right': " right "}}"
#define OURS MATCH("==", LEFT_PORT, PORT)
#define ACCEPT "{'accept': null}"
#define DROP "{'drop': null}"
#define REJECT "{'reject': {'type': 'icmp'}}"

struct nft_case {
	const char *hook, *policy, *rules[3]; /* the expressions of each rule */
	enum doctor_state want;
};

static const struct nft_case nft_cases[] = {
	{"input", "accept", {NULL}, DOCTOR_PASS},
	{"input", "drop", {NULL}, DOCTOR_FAIL},
	{"output", "drop", {NULL}, DOCTOR_FAIL},
	{"prerouting", "drop", {NULL}, DOCTOR_FAIL},
	{"forward", "drop", {NULL}, DOCTOR_PASS},
	{"input", "drop", {OURS ", {'counter': {}}, " ACCEPT}, DOCTOR_PASS},
	{"input", "drop", {OURS ", " ACCEPT, REJECT}, DOCTOR_PASS},
	{"input", "accept", {OURS ", " REJECT, ACCEPT}, DOCTOR_FAIL},
	{"input",
	 "drop",
	 {MATCH("==", LEFT_PORT, "{'set': [53, {'range': [7000, 8000]}]}") ", " ACCEPT},
	 DOCTOR_PASS},
	/* The rule matches one leg of two. */
	{"input", "drop", {MATCH("==", LEFT_IN, "'veth0'") ", " ACCEPT}, DOCTOR_FAIL},
	{"input",
	 "drop",
	 {MATCH("==", LEFT_IN, "{'set': ['veth0', 'veth1']}") ", " ACCEPT},
	 DOCTOR_PASS},
	{"input", "drop", {MATCH("==", LEFT_IN, "'veth*'") ", " ACCEPT}, DOCTOR_PASS},
	{"input", "accept", {MATCH("==", LEFT_IN, "'veth*'") ", " DROP}, DOCTOR_FAIL},
	{"input", "accept", {MATCH("!=", LEFT_IN, "'lo'") ", " DROP}, DOCTOR_FAIL},
	{"input", "accept", {MATCH("==", LEFT_IN, "'lo'") ", " DROP}, DOCTOR_PASS},
	{"output", "accept", {MATCH("==", LEFT_OUT, "'veth1'") ", " DROP}, DOCTOR_FAIL},
	/* Connection states: our packets start new connections. */
	{"input",
	 "drop",
	 {MATCH("in", LEFT_STATE, "['established', 'related']") ", " ACCEPT},
	 DOCTOR_FAIL},
	{"input", "accept", {MATCH("==", LEFT_STATE, "'invalid'") ", " DROP}, DOCTOR_PASS},
	{"input",
	 "accept",
	 {MATCH("in", LEFT_STATE, "['new', 'untracked']") ", " DROP},
	 DOCTOR_FAIL},
	/* Rules that do not match our packets. */
	{"input",
	 "accept",
	 {MATCH("==", "{'payload': {'protocol': 'tcp', 'field': 'dport'}}", PORT) ", " DROP},
	 DOCTOR_PASS},
	{"input",
	 "accept",
	 {MATCH("==", "{'meta': {'key': 'l4proto'}}", "'icmp'") ", " DROP},
	 DOCTOR_PASS},
	{"input",
	 "accept",
	 {MATCH("==", "{'payload': {'protocol': 'th', 'field': 'dport'}}", PORT) ", " DROP},
	 DOCTOR_FAIL},
	/* Rules that cannot be evaluated. */
	{"input", "drop", {MATCH("==", LEFT_PORT, "'@open'") ", " ACCEPT}, DOCTOR_UNKNOWN},
	{"input", "drop", {MATCH("==", LEFT_IN, "'@trusted'") ", " ACCEPT}, DOCTOR_UNKNOWN},
	{"input", "accept", {MATCH("<", LEFT_PORT, "8000") ", " DROP}, DOCTOR_UNKNOWN},
	{"input", "accept", {"{'limit': {'rate': 10, 'per': 'second'}}, " DROP}, DOCTOR_UNKNOWN},
	{"input",
	 "accept",
	 {"{'xt': {'type': 'match', 'name': 'hashlimit'}}, " DROP},
	 DOCTOR_UNKNOWN},
	{"input", "accept", {"{'jump': {'target': 'more'}}"}, DOCTOR_UNKNOWN},
	{"input",
	 "accept",
	 {MATCH("==", LEFT_IN, "'lo'") ", {'jump': {'target': 'more'}}"},
	 DOCTOR_PASS},
	/* A later chain can still drop a packet that an earlier one accepts. */
	{"input", "accept", {MATCH("==", LEFT_PORT, "'@open'") ", " ACCEPT}, DOCTOR_PASS},
};

static void test_nftables_rules_are_evaluated(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(nft_cases); i++) {
		const struct nft_case *c = &nft_cases[i];
		char text[4096];
		int n = snprintf(
			text, sizeof(text),
			"{'nftables': [{'chain': {'family': 'inet', 'table': 't', 'name': 'c', "
			"'type': 'filter', 'hook': '%s', 'prio': 0, 'policy': '%s'}}",
			c->hook, c->policy);

		for (size_t j = 0; j < ARRAY_SIZE(c->rules) && c->rules[j]; j++)
			n += snprintf(
				text + n, sizeof(text) - (size_t)n,
				", {'rule': {'family': 'inet', 'table': 't', 'chain': 'c', 'expr': "
				"[%s]}}",
				c->rules[j]);
		snprintf(text + n, sizeof(text) - (size_t)n, "]}");
		for (char *at = text; (at = strchr(at, '\''));)
			*at = '"';
		if (judge(text, NULL) != c->want)
			fail_msg("%s", text);
	}
}

/* ---- iptables ---- */

static const struct {
	const char *text;
	enum doctor_state want;
} save_cases[] = {
	{":INPUT ACCEPT [0:0]\n", DOCTOR_PASS},
	{":INPUT DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n", DOCTOR_FAIL},
	{":OUTPUT DROP [0:0]\n", DOCTOR_FAIL},
	{":FORWARD DROP [0:0]\n", DOCTOR_PASS},
	{"-A INPUT -i veth1 -p udp -m udp --dport " PORT " -j DROP\n", DOCTOR_FAIL},
	{"-A INPUT -i veth+ -j DROP\n", DOCTOR_FAIL},
	{"-A INPUT ! -i lo -j DROP\n", DOCTOR_FAIL},
	{"-A INPUT ! -i veth0 -j DROP\n", DOCTOR_FAIL}, /* the other leg */
	{"-A INPUT -i lo -j DROP\n", DOCTOR_PASS},
	{"-A OUTPUT -o veth0 -j REJECT --reject-with icmp-port-unreachable\n", DOCTOR_FAIL},
	{"-A INPUT -p udp -m udp --dport 7000:8000 -j DROP\n", DOCTOR_FAIL},
	{"-A INPUT -p udp -m udp ! --dport " PORT " -j DROP\n", DOCTOR_PASS},
	{"-A INPUT -m comment --comment \"all -j ACCEPT, \\\" or not\" -j DROP\n", DOCTOR_FAIL},
	{"-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n-A INPUT -j DROP\n",
	 DOCTOR_FAIL},
	{"-A INPUT -m conntrack --ctstate NEW -j DROP\n", DOCTOR_FAIL},
	{"-A INPUT -m conntrack --ctstate INVALID -j DROP\n", DOCTOR_PASS},
	{":INPUT DROP [0:0]\n-A INPUT -p udp -m udp --dport " PORT " -j ACCEPT\n", DOCTOR_PASS},
	{"-A INPUT -j LOG --log-prefix \"drop \"\n", DOCTOR_PASS},
	/* Rules that cannot be evaluated. */
	{":INPUT DROP [0:0]\n-A INPUT -s 10.0.0.0/8 -j ACCEPT\n", DOCTOR_UNKNOWN},
	{"-A INPUT -p udp -m multiport --dports 53," PORT " -j DROP\n", DOCTOR_UNKNOWN},
	{"-A INPUT -m physdev --physdev-is-bridged -j DROP\n", DOCTOR_UNKNOWN},
	{"-A INPUT -j MORE\n", DOCTOR_UNKNOWN},
	{"-A INPUT -g MORE\n", DOCTOR_UNKNOWN},
	/* Truncated rules. */
	{"-A INPUT -j", DOCTOR_UNKNOWN},
	{"-A INPUT -i", DOCTOR_PASS},
	{"-A INPUT -m comment --comment \"", DOCTOR_PASS},
};

static void test_iptables_rules_are_evaluated(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(save_cases); i++)
		if (judge(NULL, save_cases[i].text) != save_cases[i].want)
			fail_msg("%s", save_cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nftables_rules_are_evaluated),
		cmocka_unit_test(test_iptables_rules_are_evaluated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
