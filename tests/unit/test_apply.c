/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies against a host in memory: idempotence, rollback after a failure at every write, and
 * recovery after SIGKILL at every write. For the latter, a child process applies and the parent
 * carries out its changes, so that the host outlives the child.
 */
#include "netcfg/apply/apply.h"
#include "netcfg/base/files/boot_stamp.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct fixture {
	struct inventory *inv; /* the original host */
	struct spec *spec;
	struct kernel *k;
	char dir[32], journal[48];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	plugins_register();
	f->inv = host_new();
	/* Adds a stale object of ours, so that every run includes removals. */
	host_add_route(f->inv, 9, PLENUM_RTPROT, "10.30.0.0/16", NULL, HOST_VETH1);
	host_add_route(f->inv, 254, 2, "10.10.0.0/16", NULL, HOST_VETH1);
	f->inv->routes[f->inv->n_routes - 1].src = host_addr("10.10.9.9");
	*inv_addr_add(f->inv) = (struct inv_addr){
		.ifindex = HOST_VETH1, .ip = host_prefix("10.10.9.9/16"), .proto = PLENUM_RTPROT};
	*inv_rule_add(f->inv) = (struct inv_rule){.priority = 5,
						  .table = 9,
						  .family = AF_INET,
						  .proto = PLENUM_RTPROT,
						  .from = host_prefix("10.10.9.9/32")};
	f->spec = host_spec(HOST_YAML);
	assert_int_equal(kernel_fake_new(f->inv, &f->k), 0);
	strcpy(f->dir, "/tmp/plenum-apply-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->journal, sizeof(f->journal), "%s/journal", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->journal);
	assert_int_equal(rmdir(f->dir), 0);
	kernel_free(f->k);
	spec_free(f->spec);
	inv_free(f->inv);
	free(f);
	return 0;
}

static struct plan *plan_now(struct fixture *f)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct plan *p = NULL;

	assert_int_equal(inv_collect(f->k, &d, &inv), 0);
	if (plan_build(f->spec, inv, NULL, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	inv_free(inv);
	diag_done(&d);
	return p;
}

/* The host as text without the snapshot number. */
static char *host_text(struct fixture *f)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char a[IP_ADDR_STR_MAX];

	assert_int_equal(inv_collect(f->k, &d, &inv), 0);
	for (size_t i = 0; i < inv->n_links; i++)
		fprintf(out, "%s mtu %u up %d\n", inv->links[i].name, inv->links[i].mtu,
			inv->links[i].up);
	for (size_t i = 0; i < inv->n_addrs; i++)
		fprintf(out, "%u %s proto %u\n", inv->addrs[i].ifindex,
			ip_prefix_format(&inv->addrs[i].ip, a, sizeof(a)), inv->addrs[i].proto);
	for (size_t i = 0; i < inv->n_routes; i++)
		fprintf(out, "%u %s table %u proto %u\n", inv->routes[i].oif,
			ip_prefix_format(&inv->routes[i].dst, a, sizeof(a)), inv->routes[i].table,
			inv->routes[i].proto);
	for (size_t i = 0; i < inv->n_rules; i++)
		fprintf(out, "%u %s table %u\n", inv->rules[i].priority,
			ip_prefix_format(&inv->rules[i].from, a, sizeof(a)), inv->rules[i].table);
	for (size_t i = 0; i < inv->n_sysctls; i++)
		fprintf(out, "%s=%s\n", inv->sysctls[i].key, inv->sysctls[i].value);
	fclose(out);
	inv_free(inv);
	diag_done(&d);
	return text;
}

static void assert_host_is(struct fixture *f, const char *before)
{
	char *now = host_text(f);

	assert_string_equal(now, before);
	free(now);
}

static void test_a_second_apply_writes_nothing(void **state)
{
	struct fixture *f = *state;
	struct apply_outcome o;
	struct apply *a = NULL;
	struct diag d = DIAG_INIT;
	struct plan *p = plan_now(f);
	uint64_t writes;

	assert_true(p->n_steps > 10);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	assert_int_equal(o.n_done, p->n_steps);
	assert_int_equal(f->k->n_writes, p->n_steps);
	assert_int_equal(access(f->journal, F_OK), 0);
	assert_int_equal(apply_verify(f->k, f->spec, NULL, 0, &d), 0);
	assert_int_equal(apply_commit(a, &o), 0);
	assert_int_equal(o.n_done, p->n_steps);
	assert_int_equal(access(f->journal, F_OK), -1);
	plan_free(p);
	writes = f->k->n_writes;
	p = plan_now(f);
	assert_int_equal(p->n_steps, 0);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	assert_int_equal(access(f->journal, F_OK), -1);
	assert_int_equal(apply_commit(a, &o), 0);
	assert_int_equal(f->k->n_writes, writes);
	plan_free(p);
	diag_done(&d);
}

static void test_failure_at_every_step_is_rolled_back(void **state)
{
	struct fixture *f = *state;
	struct plan *p = plan_now(f);
	char *before = host_text(f);

	for (size_t i = 0; i < p->n_steps; i++) {
		struct apply_outcome o;
		struct apply *a = NULL;

		kernel_fake_fail(f->k, i + 1, 1, -EIO, "the cable is made of cheese");
		assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), -EIO);
		assert_int_equal(o.failed_step, i);
		assert_int_equal(o.n_done, i);
		assert_int_equal(o.n_rolled_back, i);
		assert_false(o.stuck);
		assert_non_null(strstr(o.why.text, "cheese"));
		assert_int_equal(access(f->journal, F_OK), -1);
		assert_host_is(f, before);
	}
	free(before);
	plan_free(p);
}

/* A failed rollback leaves the journal, and a later recovery completes it. */
static void test_stuck_rollback_is_finished_later(void **state)
{
	struct fixture *f = *state;
	struct plan *p = plan_now(f);
	char *before = host_text(f);
	struct apply_outcome o;
	struct apply *a = NULL;

	kernel_fake_fail(f->k, p->n_steps, 3, -EIO, "no");
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), -EIO);
	assert_true(o.stuck);
	assert_non_null(strstr(o.why.text, "cannot roll back"));
	assert_int_equal(access(f->journal, F_OK), 0);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), -EEXIST);
	assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
	assert_int_equal(access(f->journal, F_OK), -1);
	assert_host_is(f, before);
	free(before);
	plan_free(p);
}

/* An object created between plan and apply is kept if it is exactly as desired, else it is an
 * error. */
static void test_an_object_made_meanwhile_is_kept(void **state)
{
	struct fixture *f = *state;
	struct plan *p = plan_now(f);
	struct apply_outcome o;
	struct apply *a = NULL;
	struct inv_route other;
	char *before;
	size_t i = 0;

	while (!step_is(&p->steps[i], "addr-add"))
		i++;
	assert_int_equal(f->k->ops->change(f->k, &p->steps[i].change, NULL), 0);
	before = host_text(f);
	kernel_fake_fail(f->k, p->n_steps, 1, -EIO, NULL);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), -EIO);
	assert_host_is(f, before); /* the rollback kept it */
	free(before);
	while (!step_is(&p->steps[i], "route-add"))
		i++;
	other = p->steps[i].change.route;
	other.oif = HOST_VETH1;
	assert_int_equal(kernel_do_route_add(f->k, &other, NULL), 0);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), -EEXIST);
	assert_int_equal(o.failed_step, i);
	plan_free(p);
}

/* All steps done but the verification fails: the rollback restores the host and keeps foreign
 * objects. */
static void test_a_rollback_keeps_foreign_objects(void **state)
{
	struct fixture *f = *state;
	struct plan *p = plan_now(f);
	struct apply_outcome o;
	struct apply *a = NULL;
	struct kernel_change theirs;
	char *before;
	size_t i = 0;

	while (!step_is(&p->steps[i], "addr-add"))
		i++;
	theirs = p->steps[i].change;
	theirs.addr.proto = INV_PROTO_STATIC;
	assert_int_equal(f->k->ops->change(f->k, &theirs, NULL), 0);
	before = host_text(f);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	assert_int_equal(apply_rollback(a, &o), 0);
	assert_int_equal(o.n_done, p->n_steps);
	assert_int_equal(o.n_rolled_back, p->n_steps - 1);
	assert_int_equal(access(f->journal, F_OK), -1);
	assert_host_is(f, before);
	/* The same from the journal alone. */
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	kernel_fake_fail(f->k, 1, 0, -EIO, "no");
	assert_int_equal(apply_rollback(a, &o), -EIO);
	assert_true(o.stuck);
	kernel_fake_fail(f->k, 0, 0, 0, NULL);
	assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
	assert_host_is(f, before);
	free(before);
	plan_free(p);
}

/* An object that is already gone counts as removed. */
static void test_an_absent_object_counts_as_removed(void **state)
{
	struct fixture *f = *state;
	struct plan *p = plan_now(f);
	struct apply_outcome o;
	struct apply *a = NULL;

	for (size_t i = 0; i < p->n_steps; i++) {
		if (step_is(&p->steps[i], "rule-del"))
			assert_int_equal(kernel_do_rule_del(f->k, &p->steps[i].change.rule, NULL),
					 0);
		if (step_is(&p->steps[i], "route-del"))
			assert_int_equal(kernel_do_route_del(f->k, &p->steps[i].change.route, NULL),
					 0);
		if (step_is(&p->steps[i], "addr-del"))
			assert_int_equal(kernel_do_addr_del(f->k, &p->steps[i].change.addr, NULL),
					 0);
	}
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	assert_int_equal(apply_commit(a, &o), 0);
	plan_free(p);
}

/* kernel_ops of the child: each call is a message to the parent, which owns the host. */
struct proxy_call {
	enum { PROXY_FIND, PROXY_READ, PROXY_CHANGE } what;
	char ref[KERNEL_LINK_REF_MAX];
	struct kernel_change change;
	int result;
};

static int proxy_fd;
static uint64_t proxy_kill_at; /* the child dies instead of change n (from 1), or after it */
static bool proxy_kill_after;
static uint64_t proxy_n;

static int proxy(struct proxy_call *c)
{
	if (send(proxy_fd, c, sizeof(*c), 0) != sizeof(*c) ||
	    recv(proxy_fd, c, sizeof(*c), 0) != sizeof(*c))
		_exit(9);
	return c->result;
}

static int proxy_find(struct kernel *k, const char *ref, uint32_t *ret_ifindex)
{
	struct proxy_call c = {.what = PROXY_FIND};

	snprintf(c.ref, sizeof(c.ref), "%s", ref);
	if (proxy(&c) == 0)
		*ret_ifindex = c.change.ifindex;
	return c.result;
}

static int proxy_read(struct kernel *k, struct kernel_change *change)
{
	struct proxy_call c = {.what = PROXY_READ, .change = *change};

	if (proxy(&c) == 0)
		*change = c.change;
	return c.result;
}

static int proxy_change(struct kernel *k, const struct kernel_change *change, struct reason *why)
{
	struct proxy_call c = {.what = PROXY_CHANGE, .change = *change};

	proxy_n++;
	if (proxy_n == proxy_kill_at && !proxy_kill_after)
		raise(SIGKILL);
	proxy(&c);
	if (proxy_n == proxy_kill_at)
		raise(SIGKILL);
	return c.result;
}

static const struct kernel_ops proxy_ops = {
	.link_find = proxy_find,
	.read = proxy_read,
	.change = proxy_change,
};

static void serve(struct kernel *k, struct proxy_call *c)
{
	switch (c->what) {
	case PROXY_FIND:
		c->result = k->ops->link_find(k, c->ref, &c->change.ifindex);
		break;
	case PROXY_READ:
		c->result = k->ops->read(k, &c->change);
		break;
	case PROXY_CHANGE:
		c->result = k->ops->change(k, &c->change, NULL);
		break;
	}
}

/* Applies in a child that dies at its nth change; 0: after the last one, before the commit. */
static void apply_killed(struct fixture *f, const struct plan *p, uint64_t nth, bool after)
{
	struct kernel k = {.ops = &proxy_ops};
	struct apply *a = NULL;
	struct apply_outcome o;
	struct proxy_call c;
	int sv[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(sv[0]);
		proxy_fd = sv[1];
		proxy_kill_at = nth;
		proxy_kill_after = after;
		if (apply_run(&k, p, f->journal, &a, &o) == 0 && !nth)
			raise(SIGKILL); /* done, and not yet verified */
		_exit(1);
	}
	close(sv[1]);
	while (recv(sv[0], &c, sizeof(c), 0) == sizeof(c)) {
		serve(f->k, &c);
		assert_int_equal(send(sv[0], &c, sizeof(c), MSG_NOSIGNAL), sizeof(c));
	}
	close(sv[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Journals left by a writer that died within a line. */
static void tear_last_line(struct fixture *f)
{
	FILE *out = fopen(f->journal, "ae");

	assert_non_null(out);
	fputs("rolled-ba", out);
	fclose(out);
}

static void test_kill_at_every_step_is_recovered(void **state)
{
	struct fixture *f = *state;
	struct plan *p = plan_now(f);
	char *before = host_text(f);
	struct apply_outcome o;

	for (size_t i = 1; i <= p->n_steps; i++) {
		for (int after = 0; after < 2; after++) {
			apply_killed(f, p, i, after);
			assert_int_equal(access(f->journal, F_OK), 0);
			tear_last_line(f);
			assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
			assert_int_equal(o.n_done, i - 1);
			assert_host_is(f, before);
			assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
		}
	}
	apply_killed(f, p, 0, true);
	assert_int_equal(access(f->journal, F_OK), 0);
	assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
	assert_int_equal(o.n_done, p->n_steps);
	assert_host_is(f, before);
	free(before);
	plan_free(p);
}

static void write_journal(struct fixture *f, const char *text, int cut)
{
	FILE *out = fopen(f->journal, "we");

	assert_non_null(out);
	fprintf(out, "%.*s", (int)strlen(text) - cut, text);
	fclose(out);
}

static void test_foreign_journals_are_refused(void **state)
{
	struct fixture *f = *state;
	char *before = host_text(f);
	struct apply_outcome o;
	int fd;

	assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
	write_journal(f, "", 0); /* killed before the first line */
	assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
	write_journal(f, "plenum-journal 1 boot x netns 1\n", 0);
	assert_int_equal(apply_recover(f->k, f->journal, &o), -EBADMSG);
	assert_non_null(strstr(o.why.text, "line 1"));
	write_journal(f, "\x01\x02garbage\n\n", 0);
	assert_int_equal(apply_recover(f->k, f->journal, &o), -EBADMSG);
	/* A journal of an earlier boot is ignored. */
	write_journal(f,
		      "plenum-journal 2 boot x netns 1\n"
		      "begin 0 addr-add veth0 10.10.1.10/16 112 0 0\n",
		      0);
	assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
	assert_non_null(strstr(o.why.text, "ignored"));
	/* The journal of a live writer is not touched. */
	write_journal(f, "", 0);
	fd = open(f->journal, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(apply_recover(f->k, f->journal, &o), -EBUSY);
	close(fd);
	assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
	assert_int_equal(access(f->journal, F_OK), -1);
	assert_host_is(f, before);
	free(before);
}

/* A set of an object without value is an invalid line; the error names it. */
static void test_journal_with_a_verb_of_another_kind(void **state)
{
	static const char *const steps[] = {
		"vlan-set eth1 100 eth1.100",
		"addr-restore veth0 10.10.1.10/16 112",
		"sysctl-add veth0 net/ipv4/conf/veth0/arp_announce 0 2",
	};
	struct fixture *f = *state;
	char here[BOOT_STAMP_TEXT_MAX], text[2 * BOOT_STAMP_TEXT_MAX];
	char *before = host_text(f);
	struct apply_outcome o;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		snprintf(text, sizeof(text), "plenum-journal 2 %s\nbegin 0 %s\n",
			 boot_stamp_text(here, sizeof(here)), steps[i]);
		write_journal(f, text, 0);
		assert_int_equal(apply_recover(f->k, f->journal, &o), -EBADMSG);
		assert_non_null(strstr(o.why.text, "line 2"));
		assert_host_is(f, before);
	}
	free(before);
}

/* A disk that becomes full at any byte of the journal: no partial line stays. */
static void test_journal_on_a_full_disk(void **state)
{
	struct fixture *f = *state;
	struct plan *p = plan_now(f);
	char *before = host_text(f);
	struct rlimit unlimited, limit;
	size_t n_failed = 0;
	int r;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	signal(SIGXFSZ, SIG_IGN);
	limit = unlimited;
	for (limit.rlim_cur = 0; limit.rlim_cur < 4096; limit.rlim_cur += 31) {
		struct apply *a = NULL;
		struct apply_outcome o;

		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		r = apply_run(f->k, p, f->journal, &a, &o);
		if (r == 0)
			assert_int_equal(apply_rollback(a, &o), 0);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
		n_failed += r < 0;
		assert_false(o.stuck);
		assert_int_equal(access(f->journal, F_OK), -1);
		assert_host_is(f, before);
	}
	assert_true(n_failed > 30);
	signal(SIGXFSZ, SIG_DFL);
	free(before);
	plan_free(p);
}

static void test_verify_names_missing_objects(void **state)
{
	struct fixture *f = *state;
	struct diag d = DIAG_INIT;
	char *text;

	assert_int_equal(apply_verify(f->k, f->spec, NULL, clock_now_ns() + 5 * NSEC_PER_MSEC, &d),
			 -ETIMEDOUT);
	text = diag_format(&d);
	assert_non_null(strstr(text, "missing step: add 10.10.1.10/16 to leg-a (veth0)"));
	free(text);
	diag_done(&d);
}

static void test_journal_cannot_be_written(void **state)
{
	struct fixture *f = *state;
	struct plan *p = plan_now(f);
	struct apply_outcome o;
	struct apply *a = NULL;

	assert_int_equal(apply_run(f->k, p, "/nonexistent/journal", &a, &o), -ENOENT);
	assert_int_equal(f->k->n_writes, 0);
	assert_non_null(strstr(o.why.text, "/nonexistent/journal"));
	plan_free(p);
}

#define APPLY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		APPLY_TEST(test_a_second_apply_writes_nothing),
		APPLY_TEST(test_failure_at_every_step_is_rolled_back),
		APPLY_TEST(test_stuck_rollback_is_finished_later),
		APPLY_TEST(test_an_object_made_meanwhile_is_kept),
		APPLY_TEST(test_a_rollback_keeps_foreign_objects),
		APPLY_TEST(test_an_absent_object_counts_as_removed),
		APPLY_TEST(test_kill_at_every_step_is_recovered),
		APPLY_TEST(test_foreign_journals_are_refused),
		APPLY_TEST(test_journal_with_a_verb_of_another_kind),
		APPLY_TEST(test_journal_on_a_full_disk),
		APPLY_TEST(test_verify_names_missing_objects),
		APPLY_TEST(test_journal_cannot_be_written),
	};

	return cmocka_run_group_tests_name("apply", tests, NULL, NULL);
}
