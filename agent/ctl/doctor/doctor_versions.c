/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares drivers and firmware with tables of versions that are known to be too old. Each row has
 * its source. A driver without a row is not compared.
 */
#include "agent/ctl/doctor/doctor.h"

#include "netcfg/base/version.h"
#include <string.h>

/* ---- firmware ---- */

struct firmware_row {
	const char *driver;
	unsigned long device; /* first number of the firmware's version; 0: any */
	const char *name;
	const char *min;  /* an older version fails; NULL: no version fails */
	const char *good; /* an older version gets a warning; NULL: no version gets one */
	const char *how;  /* how to update the firmware */
};

#define MLX "mlxfwmanager -u"

/*
 * Sources. mlx5, `min`: "The minimal supported versions" in doc/guides/platform/mlx5.rst of DPDK
 * 22.11. mlx5, `good`: the firmware of MLNX_OFED 4.6-1.0.1.1, the oldest version that meets the
 * requirements of this file system. ice: the first version in the list of matching versions in
 * doc/guides/nics/ice.rst of DPDK, which is for DPDK 20.11; the driver writes 2.3 as 2.30. i40e:
 * the oldest version in the lists of doc/guides/nics/i40e.rst of DPDK, which is for DPDK 19.11 on
 * X722. The list for other NICs begins with 6.01, but a firmware version does not show whether the
 * NIC is an X722.
 */
static const struct firmware_row firmware_rows[] = {
	{"mlx5_core", 12, "ConnectX-4", "12.21.1000", "12.25.1020", MLX},
	{"mlx5_core", 14, "ConnectX-4 Lx", "14.21.1000", "14.25.1020", MLX},
	{"mlx5_core", 16, "ConnectX-5", "16.21.1000", "16.25.1020", MLX},
	{"mlx5_core", 18, "BlueField", "18.25.1010", NULL, MLX},
	{"mlx5_core", 20, "ConnectX-6", "20.27.0090", NULL, MLX},
	{"mlx5_core", 22, "ConnectX-6 Dx", "22.27.0090", NULL, MLX},
	{"mlx5_core", 24, "BlueField-2", "24.28.1002", NULL, MLX},
	{"mlx5_core", 26, "ConnectX-6 Lx", "26.27.0090", NULL, MLX},
	{"mlx5_core", 28, "ConnectX-7", "28.33.2028", NULL, MLX},
	{"ice", 0, "Intel E800", NULL, "2.30", "nvmupdate64e -u"},
	{"i40e", 0, "Intel 700", NULL, "4.10", "nvmupdate64e -u"},
};

/* Returns whether the table has rows for the driver. *ret is the row for that firmware, or NULL if
 * the table has no such row. */
static bool find_firmware(const char *driver, const char *firmware, const struct firmware_row **ret)
{
	const unsigned long device = strtoul(firmware, NULL, 10);
	bool known = false;

	*ret = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(firmware_rows); i++) {
		const struct firmware_row *row = &firmware_rows[i];

		if (strcmp(row->driver, driver) != 0)
			continue;
		known = true;
		if (!row->device || row->device == device)
			*ret = row;
	}
	return known;
}

static void judge_firmware(struct doctor_result *r, const struct inv_link *l)
{
	const char *text = l->firmware;
	const struct firmware_row *row;
	const bool known = find_firmware(l->driver, text, &row);
	const bool bad = row && row->min && version_is_older(text, row->min);

	if (!known)
		return;
	if (text[0] < '0' || text[0] > '9') {
		doctor_report(r, DOCTOR_UNKNOWN, "%s (%s) does not report its firmware version",
			      l->name, l->driver);
		doctor_advise(r, "ethtool -i %s", l->name);
		return;
	}
	if (!bad && !(row && row->good && version_is_older(text, row->good)))
		return;
	doctor_report(r, bad ? DOCTOR_FAIL : DOCTOR_WARN,
		      bad ? "%s (%s) has firmware %s, which is too old: %s or later is needed"
			  : "%s (%s) has firmware %s; versions from %s on are known to work",
		      l->name, row->name, text, bad ? row->min : row->good);
	doctor_advise(r, "update the firmware of %s (%s)", l->name, row->how);
}

static void run_firmware(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);

		if (l)
			judge_firmware(r, l);
	}
	doctor_report(r, DOCTOR_PASS, "no firmware is known to be too old");
}

/* ---- drivers ---- */

/* Only drivers from outside the kernel, and drivers of old kernels, report a version. */
static const struct driver_row {
	const char *module, *name;
	enum doctor_state worst;
	const char *min;
} driver_rows[] = {
	/* The requirements of this file system: RDMA needs OFED from 4.6-1.0.1.1 on. */
	{"mlx5_core", "MLNX_OFED", DOCTOR_FAIL, "4.6-1.0.1.1"},
	/* doc/guides/nics/ice.rst of DPDK: the list of matching versions begins with 1.3.2, for
	 * 20.11. */
	{"ice", "Intel's ice", DOCTOR_WARN, "1.3.2"},
	/* doc/guides/nics/i40e.rst of DPDK: the list of matching versions began with 2.4.6, for
	 * 18.05. */
	{"i40e", "Intel's i40e", DOCTOR_WARN, "2.4.6"},
};

/* For drivers of the kernel itself, the version of the kernel is compared. */
static const struct kernel_row {
	const char *module, *what;
	unsigned major, minor;
} kernel_rows[] = {
	/* Linux 5.12.7, commits 03344e843ab6 and abe31d25facd: "RDMA/rxe: Clear all QP fields if
	 * creation failed", "Return CQE error if invalid lkey was supplied". */
	{"rdma_rxe", "soft-RoCE uses queue pairs whose creation failed", 5, 13},
};

/* Returns whether the version has Intel's suffix for the kernel's own driver, as "0.8.2-k". */
static bool is_kernels_own(const char *version)
{
	const char *dash = strrchr(version, '-');

	return dash && strncmp(dash, "-k", 2) == 0;
}

static void run_drivers(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	char version[64];

	for (size_t i = 0; i < ARRAY_SIZE(driver_rows); i++) {
		const struct driver_row *row = &driver_rows[i];

		if (doctor_read(p, version, sizeof(version), "/sys/module/%s/version",
				row->module) < 0 ||
		    !version_is_older(version, row->min))
			continue;
		doctor_report(r, row->worst,
			      "module %s is version %s of %s; version %s or later is needed",
			      row->module, version, row->name, row->min);
		doctor_advise(r, "install %s %s or later, or %s", row->name, row->min,
			      is_kernels_own(version) ? "run a later kernel"
						      : "use the kernel's own driver");
	}
	for (size_t i = 0; p->inv && i < ARRAY_SIZE(kernel_rows); i++) {
		const struct kernel_row *row = &kernel_rows[i];

		if (!doctor_exists(p, "/sys/module/%s", row->module) ||
		    doctor_kernel_is(p, row->major, row->minor))
			continue;
		doctor_report(r, DOCTOR_WARN, "driver %s of Linux %s is too old: %s", row->module,
			      p->inv->kernel_release, row->what);
		doctor_advise(r, "run Linux %u.%u or later", row->major, row->minor);
	}
	doctor_report(r, DOCTOR_PASS, "no driver is known to be too old");
}

static const struct doctor_check checks[] = {
	{"leg-firmware", "The firmware of the NICs is not known to be too old", DOCTOR_NEEDS_PLAN,
	 run_firmware, NULL},
	{"leg-driver", "The drivers of NICs and RDMA are not known to be too old", 0, run_drivers,
	 NULL},
};

const struct doctor_subject doctor_versions = DOCTOR_SUBJECT("drivers and firmware", checks);
