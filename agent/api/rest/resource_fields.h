/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of request bodies. Only the table of operations, resource.c, includes this file: it
 * needs the sizes of the lists. */
#ifndef PLENUM_API_RESOURCE_FIELDS_H
#define PLENUM_API_RESOURCE_FIELDS_H

#include "agent/api/rest/resource.h"

#include <stddef.h>

#define MEMBER(member)                                  \
	.offset = offsetof(struct privsep_msg, member), \
	.size = sizeof(((struct privsep_msg *)NULL)->member)
#define TEXT(name_, member)                                          \
	{                                                            \
		.name = name_, .type = RESOURCE_TEXT, MEMBER(member) \
	}
#define NUMBER(name_, member, min_, max_, ...)                                                    \
	{                                                                                         \
		.name = name_, .type = RESOURCE_NUMBER, MEMBER(member), .min = min_, .max = max_, \
		__VA_ARGS__                                                                       \
	}
#define BOOLEAN(name_, member)                                          \
	{                                                               \
		.name = name_, .type = RESOURCE_BOOLEAN, MEMBER(member) \
	}
#define CHOICE(name_, member, choices_, preset_)                                             \
	{                                                                                    \
		.name = name_, .type = RESOURCE_CHOICE, MEMBER(member), .choices = choices_, \
		.preset = preset_                                                            \
	}
#define FORCE(...)                                                                        \
	{                                                                                 \
		.name = "force", .type = RESOURCE_LIST, MEMBER(apply.forces), __VA_ARGS__ \
	}

/* In the order of enum launch_fault_way with its combination, and of enum launch_ping_what. */
static const char *const fault_ways[] = {"in", "out", "both", NULL};
static const char *const ping_ways[] = {"in", "out", NULL};
/* In the order of enum log_level. */
static const char *const log_levels[] = {"error", "warning", "notice", "info", "debug", NULL};

static const struct resource_field apply_fields[] = {
	NUMBER("confirm", apply.confirm_s, 1, PRIVSEP_CONFIRM_S_MAX),
	FORCE(.only = NULL),
	BOOLEAN("dry-run", apply.dry_run),
};

static const struct resource_field confirm_fields[] = {
	NUMBER("number", apply.back_to, 1, INT64_MAX),
	FORCE(.only = "files"),
};

static const struct resource_field rollback_fields[] = {
	NUMBER("confirm", apply.confirm_s, 1, PRIVSEP_CONFIRM_S_MAX),
	FORCE(.only = NULL),
	NUMBER("to", apply.back_to, 1, INT64_MAX),
	BOOLEAN("dry-run", apply.dry_run),
};

static const struct resource_field restart_fields[] = {
	NUMBER("worker", restart.worker, 1, UINT32_MAX, .one_of = true),
	{.name = "outdated", .type = RESOURCE_BOOLEAN, MEMBER(restart.outdated), .one_of = true},
};

static const struct resource_field worker_fields[] = {
	NUMBER("worker", restart.worker, 1, UINT32_MAX, .required = ""),
};

static const struct resource_field move_fields[] = {
	NUMBER("core", move.core, 0, PRIVSEP_CORES_MAX - 1, .preset = PRIVSEP_CORE_NONE,
	       .required = ""),
};

static const struct resource_field log_level_fields[] = {
	NUMBER("worker", log_level.worker, 1, UINT32_MAX, .one_of = true),
	{.name = "agent", .type = RESOURCE_BOOLEAN, MEMBER(log_level.agent), .one_of = true},
	{.name = "level",
	 .type = RESOURCE_CHOICE,
	 MEMBER(log_level.level),
	 .choices = log_levels,
	 .required = ""},
};

static const struct resource_field fault_fields[] = {
	TEXT("leg", fault.leg),
	TEXT("peer", fault.peer),
	CHOICE("direction", fault.ways, fault_ways, LAUNCH_FAULT_IN | LAUNCH_FAULT_OUT),
	NUMBER("drop_ppm", fault.drop_ppm, 1, LAUNCH_FAULT_PPM, .one_of = true),
	NUMBER("duplicate_ppm", fault.duplicate_ppm, 1, LAUNCH_FAULT_PPM, .one_of = true),
	NUMBER("reorder_ppm", fault.reorder_ppm, 1, LAUNCH_FAULT_PPM, .one_of = true),
	NUMBER("delay_us", fault.delay_us, 1, LAUNCH_FAULT_DELAY_US_MAX, .one_of = true),
	NUMBER("ttl_s", fault.ttl_s, 1, LAUNCH_FAULT_S_MAX, .required = ": every fault has an end"),
};

static const struct resource_field capture_fields[] = {
	TEXT("leg", capture.leg),
	NUMBER("worker", capture.worker, 0, PRIVSEP_CAPTURE_ALL - 1, .preset = PRIVSEP_CAPTURE_ALL),
	NUMBER("snap", capture.snap_bytes, PRIVSEP_CAPTURE_SNAP_MIN, PRIVSEP_CAPTURE_SNAP_MAX,
	       .preset = PRIVSEP_CAPTURE_SNAP),
	NUMBER("buffer", capture.buffer_bytes, PRIVSEP_CAPTURE_BUFFER_MIN,
	       PRIVSEP_CAPTURE_BUFFER_MAX, .preset = PRIVSEP_CAPTURE_BUFFER),
	BOOLEAN("keys", capture.keys),
};

static const struct resource_field ping_fields[] = {
	{.name = "peer", .type = RESOURCE_TEXT, MEMBER(ping.peer), .required = ""},
	{.name = "leg", .type = RESOURCE_TEXT, MEMBER(ping.leg), .required = ""},
	CHOICE("direction", ping.what, ping_ways, LAUNCH_PING_IN),
	NUMBER("bytes", ping.bytes, 1, LAUNCH_PING_BYTES_MAX, .preset = 64),
	NUMBER("count", ping.count, 1, LAUNCH_PING_COUNT_MAX, .preset = 100),
	NUMBER("depth", ping.depth, 1, LAUNCH_PING_DEPTH_MAX, .preset = 1),
};

/* In the order of enum launch_locks. */
static const char *const locks[] = {"local", "none", "cluster", NULL};

static const struct resource_field mount_fields[] = {
	{.name = "path", .type = RESOURCE_TEXT, MEMBER(mount.path), .required = ""},
	{.name = "peer", .type = RESOURCE_TEXT, MEMBER(mount.peer), .required = ""},
	{.name = "export", .type = RESOURCE_TEXT, MEMBER(mount.export_name), .required = ""},
	NUMBER("worker", mount.worker, 1, UINT32_MAX),
	BOOLEAN("read_only", mount.read_only),
	NUMBER("soft_s", mount.soft_s, 1, PRIVSEP_SOFT_S_MAX),
	BOOLEAN("remount", mount.remount),
	NUMBER("max_kbytes_per_s", mount.max_kbs, PRIVSEP_KBS_MIN, PRIVSEP_KBS_MAX),
	NUMBER("max_operations_per_s", mount.max_operations, 1, PRIVSEP_OPERATIONS_MAX),
	CHOICE("locks", mount.locks, locks, LAUNCH_LOCKS_LOCAL + 1),
	BOOLEAN("nosuid", mount.nosuid),
	BOOLEAN("nodev", mount.nodev),
	BOOLEAN("noexec", mount.noexec),
	BOOLEAN("noatime", mount.noatime),
};

static const struct resource_field unmount_fields[] = {
	{.name = "path", .type = RESOURCE_TEXT, MEMBER(mount.path), .required = ""},
	BOOLEAN("force", mount.force),
};

static const struct resource_field stop_fields[] = {
	BOOLEAN("force", stop.force),
};

static const struct resource_field pool_fields[] = {
	{.name = "name", .type = RESOURCE_TEXT, MEMBER(pool.name), .required = ""},
	{.name = "range", .type = RESOURCE_TEXT, MEMBER(pool.range), .required = ""},
	TEXT("gateway", pool.gateway),
	NUMBER("vlan", pool.vlan, 1, 4094),
	NUMBER("mtu", pool.mtu, 1, UINT16_MAX),
};

static const struct resource_field pool_set_fields[] = {
	{.name = "range", .type = RESOURCE_TEXT, MEMBER(pool.range), .one_of = true},
	{.name = "gateway", .type = RESOURCE_TEXT, MEMBER(pool.gateway), .one_of = true},
	NUMBER("vlan", pool.vlan, 1, 4094, .one_of = true),
	NUMBER("mtu", pool.mtu, 1, UINT16_MAX, .one_of = true),
};

/* Stored as 1 and 2. */
static const char *const failure_ways[] = {"stop", "rollback", NULL};

static const struct resource_field rollout_fields[] = {
	NUMBER("max-unavailable", rollout.max_unavailable, 1, PRIVSEP_ROLLOUT_HOSTS_MAX,
	       .one_of = true),
	NUMBER("percent", rollout.percent, 1, 100, .one_of = true),
	CHOICE("on-failure", rollout.rollback, failure_ways, 1),
	NUMBER("timeout", rollout.timeout_s, PRIVSEP_ROLLOUT_S_MIN, PRIVSEP_ROLLOUT_S_MAX,
	       .preset = 600),
};

static const struct resource_field forget_fields[] = {
	{.name = "host", .type = RESOURCE_TEXT, MEMBER(pool.name), .required = ""},
	BOOLEAN("force", pool.force),
};

#endif
