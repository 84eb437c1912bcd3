/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Actions that only the operator can take: found while planning, once each, with the distribution's
 * commands; and failures that are not retried in this boot.
 */
#include "agent/apply/progress.h"
#include "agent/health/required_actions.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"
#include <sys/stat.h>

#define PF "0000:3b:00.0"

static const char yaml[] = "host: host-a\n"
			   "networks: [{name: a, range: 10.10.1.10-10.10.1.40/16}]\n"
			   "net: [{name: leg-a, device: veth0, network: a, vfs: 4}]\n"
			   "workers: [{role: compute, cores: [1, 2], transport: dpdk}]\n";

struct host {
	struct inventory *inv;
	struct inv_function *pf;
	struct plan_failures failures;
	struct spec *spec;
	struct plan *plan;
};

static int setup(void **state)
{
	struct host *h = calloc(1, sizeof(*h));

	plugins_register();
	h->inv = host_new();
	h->pf = inv_function_add(h->inv);
	inv_text_set(h->pf->pci, sizeof(h->pf->pci), PF);
	inv_text_set(h->pf->driver, sizeof(h->pf->driver), "ixgbe");
	h->pf->max_vfs = 63;
	h->pf->iommu_group = 7;
	for (size_t i = 0; i < h->inv->n_links; i++)
		if (h->inv->links[i].ifindex == HOST_VETH0) {
			inv_text_set(h->inv->links[i].pci, sizeof(h->inv->links[i].pci), PF);
			inv_text_set(h->inv->links[i].driver, sizeof(h->inv->links[i].driver),
				     h->pf->driver);
		}
	h->spec = host_spec(yaml);
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	struct host *h = *state;

	plan_free(h->plan);
	plan_failures_clear(&h->failures);
	spec_free(h->spec);
	inv_free(h->inv);
	free(h);
	return 0;
}

static void plan(struct host *h)
{
	const struct plan_context ctx = {.failures = &h->failures};
	struct diag d = DIAG_INIT;

	h->plan = plan_free(h->plan);
	if (plan_build(h->spec, h->inv, &ctx, &d, &h->plan) < 0)
		diag_print(&d, stderr);
	assert_non_null(h->plan);
	diag_done(&d);
}

static const struct plan_need *need(const struct host *h, const char *code)
{
	const struct plan_need *found = NULL;

	for (size_t i = 0; i < h->plan->n_needs; i++)
		if (strcmp(h->plan->needs[i].code, code) == 0) {
			assert_null(found); /* once */
			found = &h->plan->needs[i];
		}
	return found;
}

static bool makes_vfs(const struct host *h)
{
	for (size_t i = 0; i < h->plan->n_steps; i++)
		if (h->plan->steps[i].change.kind == KERNEL_PCI)
			return true;
	return false;
}

static void test_a_ready_host_needs_no_action(void **state)
{
	struct host *h = *state;

	plan(h);
	assert_int_equal(h->plan->n_needs, 0);
	assert_true(makes_vfs(h));
}

static void test_a_missing_iommu_needs_a_reboot(void **state)
{
	struct host *h = *state;

	h->pf->iommu_group = INV_IOMMU_NONE;
	plan(h);
	assert_non_null(need(h, "iommu"));
	assert_true(need(h, "iommu")->reboot);
	assert_false(makes_vfs(h));
}

static void test_missing_hugepages_need_a_sysctl(void **state)
{
	struct host *h = *state;

	for (size_t i = 0; i < h->inv->n_hugepages; i++)
		h->inv->hugepages[i].free = h->inv->hugepages[i].total = 5;
	plan(h);
	assert_non_null(need(h, "hugepages"));
	assert_false(need(h, "hugepages")->reboot);
	assert_non_null(strstr(need(h, "hugepages")->command, "vm.nr_hugepages=64 "));
}

static void test_sriov_off_in_firmware_needs_mstconfig(void **state)
{
	struct host *h = *state;

	for (size_t i = 0; i < h->inv->n_links; i++)
		if (h->inv->links[i].ifindex == HOST_VETH0)
			strcpy(h->inv->links[i].driver, "mlx5_core");
	h->pf->max_vfs = 0;
	plan(h);
	assert_non_null(need(h, "sriov-firmware"));
	assert_string_equal(need(h, "sriov-firmware")->command,
			    "mstconfig -y -d " PF " set SRIOV_EN=1 NUM_OF_VFS=4");
}

/* The kernel refused four VFs. */
static void test_refused_vfs_need_an_action(void **state)
{
	struct host *h = *state;

	assert_int_equal(plan_failures_add_vfs(&h->failures, PF, 4, "Cannot allocate memory"), 0);
	plan(h);
	assert_false(makes_vfs(h));
	assert_string_equal(h->plan->legs[0].reason.code, "vfs-refused");
	assert_string_equal(need(h, "vf-resources")->kernel_args, "pci=realloc");
	h->pf->n_vfs = 4; /* the operator has made them all the same */
	plan(h);
	assert_null(need(h, "vf-resources"));
	h->pf->n_vfs = 0;
	plan_failures_clear(&h->failures);
	assert_int_equal(plan_failures_add_vfs(&h->failures, PF, 5, "no"), 0);
	plan(h);
	assert_true(makes_vfs(h)); /* that was another number */
}

static void test_attempts_are_kept(void **state)
{
	struct host *h = *state;
	const struct plan_worker w = {.id = 3, .core = 5, .asked = SPEC_TRANSPORT_DPDK};
	const struct plan_worker other = {.id = 4, .core = 6, .asked = SPEC_TRANSPORT_DPDK};
	static const char all_legs[] = "leg-a: DPDK cannot use 0000:3b:02.0 for ens1f0: No such "
				       "device; leg-b: DPDK cannot "
				       "use 0000:3b:0a.0 for ens1f1: Cannot allocate memory";
	struct plan_failures again = {0};
	char dir[] = "/tmp/plenum-needs-XXXXXX", path[64];
	autofree char *text = NULL;
	size_t len;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/attempts", dir);
	assert_int_equal(plan_failures_load(&again, path), 0);
	assert_int_equal(again.n + again.n_refusals, 0);
	assert_int_equal(plan_failures_add(&h->failures, &w, "two\nlines of it"), 0);
	assert_int_equal(plan_failures_add(&h->failures, &other, all_legs), 0);
	assert_int_equal(plan_failures_add_vfs(&h->failures, PF, 64, "No space left"), 0);
	assert_int_equal(plan_failures_save(&h->failures, path), 0);
	assert_int_equal(plan_failures_load(&again, path), 0);
	assert_string_equal(plan_failures_find(&again, &w)->why, "two\nlines of it");
	assert_string_equal(plan_failures_find(&again, &other)->why, all_legs);
	assert_string_equal(plan_failures_find_vfs(&again, PF, 64)->why, "No space left");
	/* Of another boot, or damaged: none. */
	assert_int_equal(file_read(path, 4096, &text, &len), 0);
	*strstr(text, "boot ") = 'x';
	assert_int_equal(file_write(path, text, len, 0600), 0);
	assert_int_equal(plan_failures_load(&again, path), STATE_TORN);
	assert_int_equal(again.n + again.n_refusals, 0);
	assert_int_equal(plan_failures_save(&h->failures, path), 0);
	plan_failures_clear(&h->failures);
	assert_int_equal(plan_failures_save(&h->failures, path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- slow steps ---- */

static void test_the_progress_of_slow_steps_is_shown(void **state)
{
	struct host *h = *state;
	char dir[] = "/tmp/plenum-needs-XXXXXX", path[64], text[PROGRESS_TEXT_MAX];
	const char begun[] = "plenum-journal 2 boot x netns 1\nbegin 0 pci-set " PF " vfs =0 =4\n";
	const char part[] = "plenum-journal 2 boot x netns 1\nbegin 0 pci-set " PF " vfs =0 =4";
	const char done[] =
		"plenum-journal 2 boot x netns 1\nbegin 0 pci-set " PF " vfs =0 =4\ndone 0\n";
	const time_t now = time(NULL);

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/journal", dir);
	plan(h);
	assert_int_equal(progress_read(path, h->plan, h->inv, now, text), PROGRESS_NONE);
	assert_int_equal(file_write(path, begun, strlen(begun), 0600), 0);
	assert_int_equal(progress_read(path, h->plan, h->inv, now + 3, text), PROGRESS_STEP);
	assert_non_null(strstr(text, "set leg-a (veth0) to 4 VFs (was 0), "));
	assert_non_null(strstr(text, " s of at most 11 s"));
	assert_int_equal(progress_read(path, h->plan, h->inv, now + 30, text), PROGRESS_LATE);
	assert_non_null(strstr(text, "its driver should need at most 11 s"));
	assert_int_equal(file_write(path, part, strlen(part), 0600), 0);
	assert_int_equal(progress_read(path, h->plan, h->inv, now, text), PROGRESS_NONE);
	assert_int_equal(file_write(path, done, strlen(done), 0600), 0);
	assert_int_equal(progress_read(path, h->plan, h->inv, now, text), PROGRESS_NONE);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- commands ---- */

static void touch(const char *root, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	assert_int_equal(file_write(full, "", 0, 0600), 0);
}

static bool says(const struct host *h, const char *root, const char *text)
{
	json_t *list = required_actions_to_json(h->plan, root);
	autofree char *all = json_dumps(list, 0);
	bool has = strstr(all, text);

	if (!has)
		fprintf(stderr, "no '%s' in %s\n", text, all);
	json_decref(list);
	return has;
}

static void test_commands_fit_the_boot_loader(void **state)
{
	struct host *h = *state;
	char root[] = "/tmp/plenum-needs-XXXXXX", command[64];

	assert_non_null(mkdtemp(root));
	h->pf->iommu_group = INV_IOMMU_NONE;
	plan(h);
	assert_true(says(h, root, "# add to the kernel's command line: intel_iommu=on amd_iommu"));
	assert_true(says(h, root, "in the firmware setup"));
	touch(root, "/sys/firmware/acpi/tables/DMAR");
	touch(root, "/usr/sbin/update-grub");
	assert_true(says(h, root, "$GRUB_CMDLINE_LINUX intel_iommu=on iommu=pt"));
	assert_true(says(h, root, "\"firmware\": \"\""));
	touch(root, "/usr/sbin/grubby");
	assert_true(says(h, root, "grubby --update-kernel=ALL --args='intel_iommu=on iommu=pt'"));
	assert_true(says(h, root, "\"reboot\": true"));
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

static void test_a_missing_account_names_its_command(void **state)
{
	json_t *need = required_actions_account_to_json("plenum-worker");

	assert_string_equal(json_string_value(json_object_get(need, "code")), "no-account");
	assert_non_null(strstr(json_string_value(json_object_get(need, "why")),
			       "no user plenum-worker, so workers share the uid 65534"));
	assert_string_equal(json_string_value(json_array_get(json_object_get(need, "commands"), 0)),
			    "systemd-sysusers");
	json_decref(need);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_missing_account_names_its_command),
		cmocka_unit_test_setup_teardown(test_a_ready_host_needs_no_action, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_missing_iommu_needs_a_reboot, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_missing_hugepages_need_a_sysctl, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_sriov_off_in_firmware_needs_mstconfig, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_refused_vfs_need_an_action, setup, teardown),
		cmocka_unit_test_setup_teardown(test_attempts_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_progress_of_slow_steps_is_shown, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_commands_fit_the_boot_loader, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
