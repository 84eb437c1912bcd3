/* SPDX-License-Identifier: BSD-3-Clause */
/* What the agent reports of itself: the last apply, its configuration, paths, and the switches of
 * workers. */
#include "agent/control/control_internal.h"

#include "tests/lib/agent/reconcile_host.h"

/* As another program does. */
static void remove_address(struct fixture *f)
{
	struct inv_addr gone = {.ifindex = HOST_VETH1, .ip = host_prefix("10.20.1.10/16")};

	host_load(f);
	assert_int_equal(kernel_do_addr_del(f->a.kernel, &gone, NULL), 0);
}

/* Repairs of drift are events: they have no number. */
static void test_status_has_number_and_steps_of_the_history(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	const struct plan *p;
	struct status st;
	size_t n_planned;
	json_t *o;

	assert_int_equal(status_collect(a, &st), 0);
	assert_null(st.applied);
	status_done(&st);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	p = a->running.plan;
	assert_true(p->n_actions > 0); /* the start of a worker */
	n_planned = p->n_steps + p->n_actions;
	o = history_plan_load(&a->reconcile.records.history, 1, HISTORY_APPLIED);
	assert_int_equal(json_array_size(json_object_get(o, "steps")) +
				 json_array_size(json_object_get(o, "actions")),
			 n_planned);
	json_decref(o);
	for (uint64_t n = 1; n <= 2; n++) {
		assert_int_equal(status_collect(a, &st), 0);
		assert_int_equal(st.n_applies, n);
		assert_non_null(st.applied);
		assert_ptr_equal(st.applied, history_find(&a->reconcile.records.history, 1));
		assert_int_equal(st.applied->steps, n_planned);
		status_done(&st);
		remove_address(f);
		assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	}
}

/* A text of the first object in the list. */
static const char *text_in(const json_t *list, const char *key)
{
	return json_string_value(json_object_get(json_array_get(list, 0), key));
}

static void test_a_path_in_reserve_is_standby(void **state)
{
	struct fixture *f = *state;
	struct status st;
	json_t *o;

	assert_int_equal(status_collect(&f->a, &st), 0);
	st.paths[0].s.up = st.paths[0].s.standby = 1;
	st.paths[0].s.state = LAUNCH_PATH_UP;
	st.n_paths = 1;
	o = status_to_json(&st);
	assert_string_equal(text_in(json_object_get(o, "paths"), "state"), "standby");
	json_decref(o);
	st.paths[0].s.standby = 0;
	o = status_to_json(&st);
	assert_string_equal(text_in(json_object_get(o, "paths"), "state"), "up");
	json_decref(o);
	status_done(&st);
}

static void test_workers_have_the_labels_of_their_legs(void **state)
{
	struct fixture *f = *state;
	struct status st;
	json_t *o, *process;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(status_collect(&f->a, &st), 0);
	o = status_processes_to_json(&st);
	process = json_array_get(json_object_get(o, "processes"), 1);
	assert_string_equal(text_in(json_object_get(process, "switches"), "label"), "switch-a");
	json_decref(o);
	status_done(&st);
}

static void test_the_running_configuration_is_shown_from_the_first_apply_on(void **state)
{
	const struct privsep_msg m = {.get.what = PRIVSEP_CONFIG_RUNNING};
	struct fixture *f = *state;
	struct control_reply r = {.http_status = 0};

	control_get_config(&f->a, &m, &r);
	assert_int_equal(r.http_status, 404);
	assert_non_null(strstr(control_text(&r),
			       "no configuration has been applied yet; 'plenum plan' shows the "
			       "steps of the first apply, 'plenum apply' carries them out"));
	json_decref(r.json);
	free(r.text);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	control_get_config(&f->a, &m, &r);
	assert_int_equal(r.http_status, 200);
	assert_non_null(strstr(control_text(&r), "leg-a"));
	json_decref(r.json);
	free(r.text);
}

static void set_mount(struct launch_mount *m, const char *path, const char *export)
{
	snprintf(m->path, sizeof(m->path), "%s", path);
	snprintf(m->peer, sizeof(m->peer), "host-b");
	snprintf(m->export_name, sizeof(m->export_name), "%s", export);
}

/* An apply has changed the configuration, and the process still serves the former mounts. */
static void test_a_former_mount_says_nothing_about_the_new_one(void **state)
{
	struct sup_worker *w = calloc(1, sizeof(*w));
	struct launch_config *started = calloc(1, sizeof(*started));
	struct launch_stats *page = calloc(1, sizeof(*page));

	(void)state;
	assert_true(w && started && page);
	w->started = started;
	w->config.n_mounts = started->n_mounts = 2;
	set_mount(&started->mounts[0], "/mnt/a", "one");
	set_mount(&started->mounts[1], "/mnt/b", "two");
	set_mount(&w->config.mounts[0], "/mnt/b", "two");
	set_mount(&w->config.mounts[1], "/mnt/a", "three");
	assert_null(sup_mount_stats(w, 0));
	w->stats = page;
	assert_ptr_equal(sup_mount_stats(w, 0), &page->mounts[1]);
	assert_null(sup_mount_stats(w, 1));
	w->started = NULL;
	assert_null(sup_mount_stats(w, 0));
	free(page);
	free(started);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(test_status_has_number_and_steps_of_the_history),
		RECONCILE_TEST(test_a_path_in_reserve_is_standby),
		RECONCILE_TEST(test_workers_have_the_labels_of_their_legs),
		RECONCILE_TEST(test_the_running_configuration_is_shown_from_the_first_apply_on),
		cmocka_unit_test(test_a_former_mount_says_nothing_about_the_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
