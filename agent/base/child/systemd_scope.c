/* SPDX-License-Identifier: BSD-3-Clause */
/* The only code that uses D-Bus to talk to systemd. */
#include "agent/base/child/systemd_scope.h"
#include "netcfg/base/base.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#define CALL_LIMIT_US (3 * 1000 * 1000)
/* How long systemd waits for the process at a shutdown. It is short, because the network ends with
 * the machine anyway. */
#define STOP_LIMIT_US (5 * 1000 * 1000)

static int add_properties(sd_bus_message *m)
{
	int r = sd_bus_message_open_container(m, 'a', "(sv)");

	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)", "PIDs", "au", 1, (uint32_t)getpid());
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)", "Description", "s",
					  "Plenum: network change in progress");
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)", "TimeoutStopUSec", "t",
					  (uint64_t)STOP_LIMIT_US);
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)", "CollectMode", "s", "inactive-or-failed");
	return r < 0 ? r : sd_bus_message_close_container(m);
}

/* Opens the bus. Without a bus daemon, uses systemd's private socket, which root may use. */
static int open_bus(sd_bus **ret)
{
	sd_bus *bus = NULL;
	int r = sd_bus_open_system(ret);

	if (r >= 0)
		return r;
	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, "unix:path=/run/systemd/private");
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r < 0) {
		sd_bus_unref(bus);
		return r;
	}
	*ret = bus;
	return 0;
}

static int start_transient(sd_bus *bus, const char *name, sd_bus_error *error)
{
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(
		bus, &m, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
		"org.freedesktop.systemd1.Manager", "StartTransientUnit");

	if (r >= 0)
		r = sd_bus_message_append(m, "ss", name, "fail");
	if (r >= 0)
		r = add_properties(m);
	if (r >= 0)
		r = sd_bus_message_append(m, "a(sa(sv))", 0);
	if (r >= 0)
		r = sd_bus_call(bus, m, CALL_LIMIT_US, error, NULL);
	sd_bus_message_unref(m);
	return r;
}

void systemd_scope_enter(const char *prefix)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus *bus = NULL;
	char name[64];
	int r;

	if (sd_booted() <= 0 || !getenv("INVOCATION_ID"))
		return;
	snprintf(name, sizeof(name), "%s-%d.scope", prefix, getpid());
	r = open_bus(&bus);
	if (r >= 0)
		r = start_transient(bus, name, &error);
	if (r < 0)
		log_notice("cannot move the applier to a systemd scope: %s; the applier stays in "
			   "the agent's unit",
			   error.message ? error.message : strerror(-r));
	sd_bus_error_free(&error);
	sd_bus_flush_close_unref(bus);
}
