/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport: auto through the walk: that only an apply which somebody asks for takes a worker to
 * VFs, and that what was agreed to is on disk when that is kept, and not before, whatever dies.
 */
#include "tests/lib/walk_host.h"

#include <sys/wait.h>

#define PF_A "0000:3b:00.0"
#define PF_B "0000:3c:00.0"

#define AUTO_YAML                                               \
	"host: host-a\n"                                        \
	"management: {interface: eth0}\n"                       \
	"networks:\n"                                           \
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n" \
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16}\n" \
	"net:\n"                                                \
	"  - {name: leg-a, device: veth0, network: data-a}\n"   \
	"  - {name: leg-b, device: veth1, network: data-b}\n"   \
	"ha: {mode: dual-leg}\n"                                \
	"workers:\n"                                            \
	"  - {role: compute, cores: [1], exports: [{name: x, path: /srv}]}\n"

static void add_pf(struct inventory *inv, uint32_t ifindex, const char *pci)
{
	struct inv_function *pf = inv_function_add(inv);

	inv_text_set(pf->pci, sizeof(pf->pci), pci);
	inv_text_set(pf->driver, sizeof(pf->driver), "ixgbe");
	pf->max_vfs = 7;
	pf->iommu_group = (int)ifindex;
	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *l = &inv->links[i];

		if (l->ifindex != ifindex)
			continue;
		l->max_vfs = 7;
		l->up = l->carrier = true;
		l->kind = INV_LINK_PHYSICAL;
		inv_text_set(l->pci, sizeof(l->pci), pci);
		inv_text_set(l->driver, sizeof(l->driver), "ixgbe");
	}
}

static int setup_pfs(void **state)
{
	struct inventory *inv = host_new();
	struct fixture *f;

	if (setup(state) < 0)
		return -1;
	f = *state;
	add_pf(inv, HOST_VETH0, PF_A);
	add_pf(inv, HOST_VETH1, PF_B);
	inv->cores[1].isolated = true;
	assert_int_equal(kernel_fake_replace(f->a.kernel, inv), 0);
	inv_free(inv);
	write_file(f, AUTO_YAML);
	assert_int_equal(walk(f, WALK_START), 0);
	return 0;
}

/* Other PFs, and another core for the worker. */
static void set_host(struct fixture *f, const char *driver, bool isolated)
{
	struct inventory *inv = NULL;

	host_load(f);
	assert_int_equal(inv_copy(kernel_fake_inventory(f->a.kernel), &inv), 0);
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].max_vfs)
			inv_text_set(inv->links[i].driver, sizeof(inv->links[i].driver), driver);
	inv->cores[1].isolated = isolated;
	assert_int_equal(kernel_fake_replace(f->a.kernel, inv), 0);
	inv_free(inv);
}

static enum spec_transport transport_of(const struct fixture *f)
{
	return f->a.now.plan->workers[0].effective;
}

static bool agreed(const struct fixture *f)
{
	autofree char *text = read_text(f->a.walk.agreed_path);

	return text && strstr(text, "core 1 transport dpdk\n");
}

/* As many as the PF has now. */
static uint32_t vfs_of(struct fixture *f, const char *pci)
{
	const struct inventory *inv;

	host_load(f);
	inv = kernel_fake_inventory(f->a.kernel);
	return inv_function_find(inv, pci)->n_vfs;
}

static void check_sockets(struct fixture *f)
{
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_UDP);
	assert_int_equal(vfs_of(f, PF_A), 0);
	assert_int_equal(vfs_of(f, PF_B), 0);
	assert_false(agreed(f));
}

static void check_on_vfs(const struct fixture *f)
{
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_DPDK);
	assert_string_equal(f->a.now.plan->workers[0].ports[1].vf, PF_B "/vf0");
}

/* As seen when the applier has ended, which has the host in memory until then. */
static void check_vfs(struct fixture *f)
{
	check_on_vfs(f);
	assert_int_equal(vfs_of(f, PF_A), 1);
	assert_int_equal(vfs_of(f, PF_B), 1);
}

static int apply(struct fixture *f, unsigned confirm_s)
{
	const struct walk_client client = {.by = "uid 0, pid 7", .confirm_s = confirm_s};

	walk_ask_client(&f->a, &client);
	if (confirm_s)
		turn_until_it_waits(f);
	else
		wait_for_walk(f);
	return f->a.walk.error;
}

static void decide(struct fixture *f, bool keep)
{
	assert_int_equal(walk_pending_decide(&f->a, keep, 0, "uid 0, pid 9"), 0);
	turn_until_it_ends(f);
}

static void test_only_who_asks_moves_it(void **state)
{
	static const enum walk_trigger others[] = {WALK_KERNEL, WALK_FALLBACK, WALK_RELOAD,
						   WALK_START};
	struct fixture *f = *state;

	check_sockets(f);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(walk(f, others[i]), 0);
		check_sockets(f);
		assert_string_equal(f->a.now.plan->workers[0].reason.code, "vf-unused");
	}
	assert_int_equal(apply(f, 0), 0);
	check_vfs(f);
	assert_true(agreed(f));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(walk(f, others[i]), 0);
		check_vfs(f);
	}
}

/* An agent that comes later, or is of a later version, finds it as it was. */
static void test_the_next_agent_finds_it_so(void **state)
{
	struct fixture *f = *state;

	die_and_come_back(f);
	assert_int_equal(walk(f, WALK_START), 0);
	check_sockets(f);
	assert_int_equal(apply(f, 0), 0);
	die_and_come_back(f);
	assert_int_equal(walk(f, WALK_START), 0);
	check_vfs(f);
	assert_int_equal(f->a.walk.n_steps, 0);
	assert_true(agreed(f));
}

static void test_on_trial(void **state)
{
	struct fixture *f = *state;

	apply(f, 600);
	check_on_vfs(f);
	assert_false(agreed(f));
	decide(f, false);
	check_sockets(f);
	/* What the files say runs: nothing is wrong with them. */
	assert_int_equal(f->a.problems.n_all, 0);
	assert_int_equal(walk(f, WALK_START), 0);
	check_sockets(f);
	apply(f, 600);
	decide(f, true);
	check_vfs(f);
	assert_true(agreed(f));
}

/* It does not start with its VF: who waits for a decision waits without a worker. */
static void test_worker_fails_on_trial(void **state)
{
	struct fixture *f = *state;

	assert_false(walk_is_on_trial(&f->a, 1));
	apply(f, 600);
	assert_true(walk_is_on_trial(&f->a, 1));
	assert_false(walk_is_on_trial(&f->a, 2));
	walk_vouch_refuse(&f->a, 1, "it does not attach");
	turn_until_it_ends(f);
	check_sockets(f);
	assert_true(event_has(&f->a, "it does not attach"));
	assert_int_equal(apply(f, 0), 0);
	assert_false(walk_is_on_trial(&f->a, 1));
}

/* The policy's time counts, whatever the drivers promise. */
static void test_policy(void **state)
{
	struct fixture *f = *state;
	const struct walk_client client = {.by = "uid 0, pid 7"};

	set_host(f, "ice", false);
	assert_int_equal(apply(f, 0), 0);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_DPDK_INTERRUPT);
	/* The same VFs, by another back end: no step of the plan disturbs anybody. */
	set_host(f, "ice", true);
	write_file(f, AUTO_YAML "policy: {confirm: 60s}\n");
	assert_int_equal(walk(f, WALK_RELOAD), 0);
	assert_null(f->a.walk.pending.applier);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_DPDK_INTERRUPT);
	walk_ask_client(&f->a, &client);
	turn_until_it_waits(f);
	check_on_vfs(f);
	decide(f, false);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_DPDK_INTERRUPT);
	assert_false(agreed(f));
}

/* The trial is the next agent's as well, down to the end. */
static void test_trial_is_inherited(void **state)
{
	struct fixture *f = *state;

	for (int keep = 0; keep < 2; keep++) {
		apply(f, 600);
		die_and_come_back(f);
		walk_start(&f->a);
		turn_until_it_waits(f);
		check_on_vfs(f);
		assert_false(agreed(f));
		decide(f, keep);
		assert_int_equal(agreed(f), keep);
		if (!keep)
			check_sockets(f);
	}
	check_vfs(f);
}

/* Killed between the word that keeps it and the record. */
static void test_kept_by_its_ticket(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	static const char old[] = "# plenum-pending 1 2 files 600 9\n# uid 0, pid 7\n" AUTO_YAML;
	autofree char *ticket = NULL;

	apply(f, 600);
	ticket = read_text(a->walk.pending_path);
	assert_non_null(ticket);
	decide(f, true);
	/* One of an agent that knew nothing of it takes nothing back. */
	assert_int_equal(file_write(a->walk.pending_path, old, strlen(old), 0600), 0);
	assert_int_equal(unlink(a->walk.outcome_path), 0);
	die_and_come_back(f);
	walk_start(a);
	wait_for_walk(f);
	assert_true(agreed(f));
	assert_int_equal(file_write(a->walk.pending_path, ticket, strlen(ticket), 0600), 0);
	assert_int_equal(unlink(a->walk.agreed_path), 0);
	die_and_come_back(f);
	walk_start(a);
	wait_for_walk(f);
	assert_true(agreed(f));
	check_vfs(f);
}

/* The machine is reset while somebody had to decide: nobody has. */
static void test_reset_on_trial(void **state)
{
	struct fixture *f = *state;
	pid_t pid;

	apply(f, 600);
	host_save(f);
	pid = applier_pid(f->a.walk.pending.applier);
	die_and_come_back(f);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	walk_start(&f->a);
	wait_for_walk(f);
	check_sockets(f);
}

/* A record that cannot be read is said, and costs nobody more than the better transport. */
static void test_record_is_spoilt(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(apply(f, 0), 0);
	assert_int_equal(file_write(f->a.walk.agreed_path, "spoilt\n", 7, 0600), 0);
	die_and_come_back(f);
	assert_int_equal(walk(f, WALK_START), 0);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_UDP);
	assert_true(problem_has(&f->a, "use the kernel's sockets until the next 'plenum apply'"));
	assert_int_equal(apply(f, 0), 0);
	check_vfs(f);
	assert_true(agreed(f));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_pfs, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_who_asks_moves_it),
		TEST(test_the_next_agent_finds_it_so),
		TEST(test_on_trial),
		TEST(test_worker_fails_on_trial),
		TEST(test_policy),
		TEST(test_trial_is_inherited),
		TEST(test_kept_by_its_ticket),
		TEST(test_reset_on_trial),
		TEST(test_record_is_spoilt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
