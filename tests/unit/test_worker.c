/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's start and its decision to spin; the end-to-end tests cover the loop. */
#include "dataplane/worker/run/worker_run.h"
#include "netcfg/base/os/fdpass.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct launch_config good_config(void)
{
	struct launch_config cfg = {.magic = LAUNCH_MAGIC,
				    .version = LAUNCH_VERSION,
				    .size = sizeof(cfg),
				    .host = "host-a",
				    .role = LAUNCH_FRONTEND,
				    .n_ports = 1};

	return cfg;
}

static void expect_error(const struct launch_config *cfg, int error, const char *part)
{
	struct reason why = {.code = ""};

	assert_int_equal(worker_config_check(cfg, &why), error);
	if (!strstr(why.text, part))
		fail_msg("'%s' does not say '%s'", why.text, part);
}

static void expect_refused(const struct launch_config *cfg, const char *part)
{
	expect_error(cfg, -EINVAL, part);
}

static void test_an_invalid_configuration_is_refused(void **state)
{
	struct launch_config good = good_config(), c;
	struct reason why;

	assert_int_equal(worker_config_check(&good, &why), 0);
	c = good;
	c.magic = 0;
	expect_refused(&c, "not written by plenumd");
	c = good;
	c.version++;
	expect_error(&c, -EPROTO, "restart plenumd");
	c = good;
	c.size--;
	expect_error(&c, -EPROTO, "different versions");
	c = good;
	c.n_ports = 0;
	expect_refused(&c, "legs in net is 0; this worker accepts 1 to 8");
	c = good;
	c.n_ports = LAUNCH_PORTS_MAX + 1;
	expect_refused(&c, "legs in net is 9; this worker accepts 1 to 8");
	c = good;
	c.n_mounts = LAUNCH_MOUNTS_MAX + 1;
	expect_refused(&c, "workers[].mounts is 129; this worker accepts 0 to 128");
	c = good;
	c.sessions = LAUNCH_SESSIONS_MAX;
	assert_int_equal(worker_config_check(&c, &why), 0);
	c.sessions++;
	expect_refused(&c, "workers[].sessions is 10001; this worker accepts 0 to 10000");
	c = good;
	c.role = LAUNCH_ROLE_MAX;
	expect_refused(&c, "unknown role");
	c = good;
	c.role = LAUNCH_DRIVES;
	expect_refused(&c, "compute");
	c = good;
	memset(c.host, 'x', sizeof(c.host));
	expect_refused(&c, "malformed");
	c = good;
	c.n_mounts = 1;
	c.mounts[0].n_addrs = LAUNCH_PEER_ADDRS_MAX + 1;
	expect_refused(&c, "malformed");
	c = good;
	c.n_clients = 1;
	c.clients[0].first_addr = LAUNCH_CLIENT_ADDRS_MAX - 1;
	c.clients[0].n_addrs = 1;
	assert_int_equal(worker_config_check(&c, &why), 0);
	c.clients[0].n_addrs = 2;
	expect_refused(&c, "malformed");
	c = good;
	c.n_exports = 1;
	memset(c.exports[0].path, 'x', sizeof(c.exports[0].path));
	expect_refused(&c, "malformed");
}

static void test_a_configuration_is_read_whole(void **state)
{
	struct launch_config good = good_config();
	int fd = memfd_create("config", MFD_CLOEXEC), pipe_fds[2];
	struct launch_config *cfg = NULL;
	struct reason why = {.code = ""};

	assert_int_equal(worker_config_read(fd, &cfg, &why), -EINVAL); /* empty */
	assert_true(strstr(why.text, "only plenumd can start") != NULL);
	assert_int_equal(write(fd, &good, sizeof(good)), sizeof(good));
	assert_int_equal(worker_config_read(fd, &cfg, &why), 0);
	assert_string_equal(cfg->host, "host-a");
	free(cfg);
	cfg = NULL;
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(worker_config_read(fd, &cfg, &why), -EINVAL); /* too long */
	close(fd);
	assert_int_equal(worker_config_read(fd, &cfg, &why), -EINVAL);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(worker_config_read(pipe_fds[0], &cfg, &why), -EINVAL);
	assert_null(cfg);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* An agent of another version writes more or less, with another version; after the head the content
 * may be anything. */
static void test_a_configuration_of_another_version_is_refused(void **state)
{
	static const off_t sizes[] = {3 * sizeof(uint32_t), 4096, sizeof(struct launch_config),
				      sizeof(struct launch_config) + 4096};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct launch_config other = good_config(), *cfg = NULL;
		int fd = memfd_create("config", MFD_CLOEXEC);
		struct reason why = {.code = ""};

		other.version = LAUNCH_VERSION - 1;
		other.size = (uint32_t)sizes[i];
		memset(other.host, 'x', sizeof(other.host));
		assert_int_equal(write(fd, &other, MIN_OF((size_t)sizes[i], sizeof(other))),
				 MIN_OF((size_t)sizes[i], sizeof(other)));
		assert_int_equal(ftruncate(fd, sizes[i]), 0);
		assert_int_equal(worker_config_read(fd, &cfg, &why), -EPROTO);
		assert_null(cfg);
		assert_non_null(strstr(why.text, "restart plenumd"));
		close(fd);
	}
}

static void test_a_short_statistics_page_is_refused(void **state)
{
	int fd = memfd_create("stats", MFD_CLOEXEC);
	struct launch_stats *st;

	assert_null(worker_stats_map(fd));
	assert_int_equal(ftruncate(fd, sizeof(*st)), 0);
	st = worker_stats_map(fd);
	assert_non_null(st);
	munmap(st, sizeof(*st));
	close(fd);
}

static void test_a_missing_core_is_refused(void **state)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct launch_config cfg = good_config();

		cfg.core = 1023;
		if (worker_process_place(&cfg) != -EINVAL)
			_exit(1);
		cfg.core = 1U << 20;
		_exit(worker_process_place(&cfg) == -EINVAL ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_spinning_is_learned(void **state)
{
	struct worker_spin s = {.limit_ns = 50000};

	assert_false(worker_spin_wanted(&s, 10)); /* not before it has paid off */
	for (unsigned i = 0; i < 8; i++)
		worker_spin_learn(&s, 20000);
	assert_true(worker_spin_wanted(&s, 10));
	assert_false(worker_spin_wanted(&s, 50001));
	for (unsigned i = 0; i < 64; i++)
		worker_spin_learn(&s, 5000000);
	assert_false(worker_spin_wanted(&s, 10));
	/* Idle moments without pending answers teach nothing about answers. */
	for (unsigned i = 0; i < 80; i++) {
		s.awaits = i % 2;
		worker_spin_learn(&s, s.awaits ? 20000 : 120000);
	}
	s.awaits = true;
	assert_true(worker_spin_wanted(&s, 10));
	s.awaits = false;
	assert_false(worker_spin_wanted(&s, 10));
	s = (struct worker_spin){.limit_ns = 0};
	for (unsigned i = 0; i < 64; i++)
		worker_spin_learn(&s, 100);
	assert_false(worker_spin_wanted(&s, 0)); /* switched off */
}

/* Rests only if requests are so rare that no acknowledgement would wait for the next one. */
static void test_a_worker_rests_between_rare_requests(void **state)
{
	struct worker_spin s = {.limit_ns = 100000};

	assert_false(worker_spin_rests(&s));
	for (unsigned i = 0; i < 100; i++)
		worker_spin_learn(&s, i % 2 ? 25000 : 900000);
	assert_true(worker_spin_rests(&s));
	for (unsigned i = 0; i < 100; i++)
		worker_spin_learn(&s, i % 2 ? 25000 : 250000);
	assert_false(worker_spin_rests(&s)); /* they may come in time */
	s = (struct worker_spin){.limit_ns = 1000000};
	for (unsigned i = 0; i < 100; i++)
		worker_spin_learn(&s, 900000);
	assert_false(worker_spin_rests(&s)); /* it spins all the time */
	s = (struct worker_spin){.limit_ns = 0};
	for (unsigned i = 0; i < 100; i++)
		worker_spin_learn(&s, 900000);
	assert_false(worker_spin_rests(&s)); /* it never sleeps, or always does: no information */
}

/* A thousand requests a second are served by wake-ups, though each answer comes soon; many more are
 * met spinning, also when they begin after a pause. */
static void test_only_many_requests_are_met_spinning(void **state)
{
	struct worker_spin s = {.limit_ns = 100000};

	for (unsigned i = 0; i < 200; i++) {
		s.awaits = i % 2;
		worker_spin_learn(&s, s.awaits ? 40000 : 900000);
		assert_false(i > 8 && worker_spin_wanted(&s, 0));
	}
	for (unsigned i = 0; i < 200; i++) {
		s.awaits = i % 2;
		worker_spin_learn(&s, s.awaits ? 40000 : 15000);
		assert_true(i < 64 || worker_spin_wanted(&s, 0));
	}
	worker_spin_learn(&s, 3600000000000ULL);
	for (unsigned i = 0; i < 20; i++)
		worker_spin_learn(&s, 40000);
	assert_true(worker_spin_wanted(&s, 0));
	/* One request in many parts now and then does not count as many requests. */
	for (unsigned i = 0; i < 2000; i++) {
		worker_spin_learn(&s, i % 8 ? 2000 : 900000);
		assert_false(i > 200 && worker_spin_wanted(&s, 0));
	}
}

static struct launch_msg heard(int fd, enum launch_msg_type type)
{
	struct launch_msg m;
	int held = -1;

	assert_int_equal(fdpass_recv(fd, &m, sizeof(m), &held, NULL), sizeof(m));
	assert_int_equal(m.type, type);
	assert_int_equal(held >= 0, type == LAUNCH_MSG_HOLD);
	if (held >= 0)
		close(held);
	return m;
}

/* One worker releases a file that another had pinned; without an agent no file is released. */
static void test_a_pinned_file_has_one_key(void **state)
{
	static struct worker w[2];
	struct launch_config cfg[2] = {{.boot_id = 1}, {.boot_id = 2}};
	int fds[2], file = open("/", O_PATH | O_CLOEXEC);
	uint64_t key;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	for (unsigned i = 0; i < 2; i++) {
		w[i].cfg = &cfg[i];
		w[i].control_fd = fds[1];
	}
	assert_true(worker_hold(&w[0], 3, 77, file));
	key = heard(fds[0], LAUNCH_MSG_HOLD).key;
	w[1].orphan_ns = 1;
	assert_false(worker_hold(&w[1], 3, 77, -1));
	w[1].orphan_ns = 0;
	assert_true(worker_hold(&w[1], 3, 77, -1));
	assert_int_equal(heard(fds[0], LAUNCH_MSG_DROP).key, key);
	(void)heard(fds[0], LAUNCH_MSG_DROP); /* with an earlier version's key */
	assert_true(recv(fds[0], &key, sizeof(key), MSG_DONTWAIT) < 0);
	/* Sent for the export with that index. */
	assert_true(worker_hold(&w[1], 2, 78, file));
	assert_int_equal(heard(fds[0], LAUNCH_MSG_HOLD).index, 2);
	close(file);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_invalid_configuration_is_refused),
		cmocka_unit_test(test_a_configuration_is_read_whole),
		cmocka_unit_test(test_a_configuration_of_another_version_is_refused),
		cmocka_unit_test(test_a_short_statistics_page_is_refused),
		cmocka_unit_test(test_a_missing_core_is_refused),
		cmocka_unit_test(test_spinning_is_learned),
		cmocka_unit_test(test_a_worker_rests_between_rare_requests),
		cmocka_unit_test(test_only_many_requests_are_met_spinning),
		cmocka_unit_test(test_a_pinned_file_has_one_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
