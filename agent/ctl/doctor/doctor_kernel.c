/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the kernel: version, build options, and the modules and devices that workers use. */
#include "agent/ctl/doctor/doctor.h"

#include <string.h>

static void run_version(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	if (doctor_kernel_is(p, 5, 12)) {
		doctor_report(r, DOCTOR_PASS, "Linux %s", p->inv->kernel_release);
		return;
	}
	doctor_report(r, DOCTOR_FAIL,
		      "Linux %s is too old: server workers need Linux 5.12 or later",
		      p->inv->kernel_release);
	doctor_advise(r, "boot Linux 5.12 or later");
}

static void run_fuse(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (doctor_exists(p, "/dev/fuse")) {
		doctor_report(r, DOCTOR_PASS, "/dev/fuse exists");
	} else if (!doctor_has_role(p, SPEC_ROLE_FRONTEND)) {
		doctor_report(r, DOCTOR_PASS,
			      "/dev/fuse does not exist; no frontend is configured");
	} else {
		doctor_report(r, DOCTOR_FAIL, "/dev/fuse does not exist, but frontends need it");
		doctor_advise(r, "modprobe fuse");
	}
}

static void run_resend(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	if (!doctor_has_role(p, SPEC_ROLE_FRONTEND)) {
		doctor_report(r, DOCTOR_PASS, "no frontend is configured");
	} else if (doctor_kernel_is(p, 6, 9)) {
		doctor_report(r, DOCTOR_PASS,
			      "Linux %s resends unanswered requests after a frontend restart",
			      p->inv->kernel_release);
	} else {
		doctor_report(
			r, DOCTOR_NOTE,
			"Linux %s does not resend unanswered requests: programs see EIO when a "
			"frontend dies with requests in flight; Linux 6.9 and later resend them",
			p->inv->kernel_release);
	}
}

static void run_io_uring(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	static const char file[] = "/proc/sys/kernel/io_uring_disabled";
	int64_t disabled;

	if (!doctor_has_role(p, SPEC_ROLE_COMPUTE)) {
		doctor_report(r, DOCTOR_PASS, "no export is configured");
	} else if (doctor_read_number(p, &disabled, "%s", file) < 0) {
		if (doctor_kernel_is(p, 5, 10)) {
			doctor_report(r, DOCTOR_PASS,
				      "Linux %s has io_uring and no switch to turn io_uring off",
				      p->inv->kernel_release);
			return;
		}
		doctor_report(r, DOCTOR_WARN, "Linux %s has no io_uring that can be restricted",
			      p->inv->kernel_release);
		doctor_advise(r, "boot Linux 5.10 or later");
	} else if (disabled == 0) {
		doctor_report(r, DOCTOR_PASS, "%s is 0", file);
	} else {
		doctor_report(
			r, DOCTOR_WARN,
			"%s is %lld: servers read exports with plain system calls, which is slower",
			file, (long long)disabled);
		doctor_advise(r, "sysctl -w kernel.io_uring_disabled=0");
	}
}

/* Reports an offload of UDP. Segmentation by the kernel saves most of the CPU time of a worker with
 * kernel sockets. */
static void report_udp(struct doctor_result *r, const char *option, int error)
{
	if (error == 0) {
		doctor_report(r, DOCTOR_PASS, "sockets support %s", option);
		return;
	}
	doctor_report(r, DOCTOR_WARN, "sockets do not support %s: %s", option, strerror(-error));
	doctor_advise(r, "boot Linux 5.0 or later");
}

static void run_gso(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	report_udp(r, "UDP_SEGMENT", p->udp_gso);
}

static void run_gro(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	report_udp(r, "UDP_GRO", p->udp_gro);
}

static void run_seccomp(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	static const char file[] = "/proc/sys/kernel/seccomp/actions_avail";
	char actions[256];
	int e = doctor_read(p, actions, sizeof(actions), "%s", file);

	if (e >= 0 && strstr(actions, "kill_process") && strstr(actions, "errno")) {
		doctor_report(r, DOCTOR_PASS, "%s: %s", file, actions);
		return;
	}
	doctor_report(r, DOCTOR_FAIL, "%s %s%s: workers do not start without seccomp filters", file,
		      e < 0 ? "cannot be read: " : "has only ", e < 0 ? strerror(-e) : actions);
	doctor_advise(r, "boot a kernel with CONFIG_SECCOMP_FILTER");
}

static void run_namespaces(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	static const char file[] = "/proc/sys/user/max_mnt_namespaces";
	int64_t n;
	int e = doctor_read_number(p, &n, "%s", file);

	if (e < 0) {
		doctor_report(r, DOCTOR_UNKNOWN, "%s cannot be read: %s", file, strerror(-e));
	} else if (n > 0) {
		doctor_report(r, DOCTOR_PASS, "%s is %lld", file, (long long)n);
	} else {
		doctor_report(r, DOCTOR_FAIL,
			      "%s is 0: server workers cannot create a mount namespace", file);
		doctor_advise(r, "sysctl -w user.max_mnt_namespaces=65536");
	}
}

/* Returns why a module is needed, or NULL if it is not needed. */
static const char *why_module(const struct doctor_host *p, const char *name)
{
	if (strcmp(name, "bonding") == 0)
		return spec_has_bond(p->spec) ? "the legs make a bond" : NULL;
	if (strcmp(name, "8021q") == 0) {
		for (size_t i = 0; i < p->spec->n_networks; i++)
			if (p->spec->networks[i].vlan)
				return "a network has a VLAN tag";
		return NULL;
	}
	for (size_t i = 0; i < p->plan->n_workers; i++)
		for (size_t j = 0; j < p->plan->workers[i].n_ports; j++)
			if (p->plan->workers[i].ports[j].vf[0])
				return "workers have VFs";
	return NULL;
}

/* Returns whether a link exists that only this module can create, which proves that it works. */
static bool is_in_use(const struct doctor_host *p, const char *name)
{
	const enum inv_link_kind kind = strcmp(name, "8021q") == 0 ? INV_LINK_VLAN : INV_LINK_BOND;

	for (size_t i = 0; strcmp(name, "vfio_pci") != 0 && i < p->inv->n_links; i++)
		if (p->inv->links[i].kind == kind)
			return true;
	return false;
}

/* Reports why a module cannot be loaded even though it may be installed. */
static void check_loadable(const struct doctor_host *p, const char *name, const char *why,
			   struct doctor_result *r)
{
	int64_t disabled;

	if (doctor_read_number(p, &disabled, "/proc/sys/kernel/modules_disabled") == 0 &&
	    disabled) {
		doctor_report(r, DOCTOR_FAIL,
			      "module %s is not loaded and the kernel loads no more modules "
			      "(kernel.modules_disabled is 1), but %s",
			      name, why);
		doctor_advise(r,
			      "load %s at boot, before kernel.modules_disabled is set: "
			      "/etc/modules-load.d; then reboot",
			      name);
		return;
	}
	doctor_report(r, DOCTOR_UNKNOWN,
		      "module %s is installed but not loaded: whether it loads is known when an "
		      "apply needs it",
		      name);
}

static void run_module(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	const char *why = why_module(p, c->about);

	if (!why) {
		doctor_report(r, DOCTOR_PASS, "module %s is not needed", c->about);
	} else if (doctor_exists(p, "/sys/module/%s", c->about) ||
		   doctor_has_builtin(p, c->about)) {
		doctor_report(r, DOCTOR_PASS, "module %s is loaded or built in", c->about);
	} else if (doctor_has_module(p, c->about) && is_in_use(p, c->about)) {
		doctor_report(r, DOCTOR_PASS, "module %s works", c->about);
	} else if (doctor_has_module(p, c->about)) {
		check_loadable(p, c->about, why, r);
	} else {
		doctor_report(r, DOCTOR_FAIL, "module %s is not available for Linux %s, but %s",
			      c->about, p->inv->kernel_release, why);
		doctor_advise(r, "install the modules of this kernel (Debian: linux-image-%s)",
			      p->inv->kernel_release);
	}
}

static void run_vfio(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!why_module(p, "vfio_pci")) {
		doctor_report(r, DOCTOR_PASS, "no worker has a VF");
	} else if (doctor_exists(p, "/dev/vfio/vfio")) {
		doctor_report(r, DOCTOR_PASS, "/dev/vfio/vfio exists");
	} else {
		doctor_report(r, DOCTOR_FAIL,
			      "/dev/vfio/vfio does not exist, but workers have VFs");
		doctor_advise(r, "modprobe vfio-pci");
	}
}

static void run_unsafe(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	static const char file[] =
		"/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts";
	char value[8];

	if (doctor_read(p, value, sizeof(value), "%s", file) < 0 || value[0] != 'Y') {
		doctor_report(r, DOCTOR_PASS, "interrupt remapping is on");
		return;
	}
	doctor_report(r, DOCTOR_WARN,
		      "%s is Y: the owner of a VF can raise any interrupt of this machine", file);
	doctor_advise(r, "turn on interrupt remapping in the firmware, then echo N >%s", file);
}

static const struct doctor_check checks[] = {
	{"kernel-version", "The kernel is Linux 5.12 or later", DOCTOR_NEEDS_INVENTORY, run_version,
	 NULL},
	{"kernel-fuse", "/dev/fuse exists for frontends", DOCTOR_NEEDS_PLAN, run_fuse, NULL},
	{"kernel-fuse-resend", "Programs do not notice a frontend's restart", DOCTOR_NEEDS_PLAN,
	 run_resend, NULL},
	{"kernel-io-uring", "Servers read exports with io_uring", DOCTOR_NEEDS_PLAN, run_io_uring,
	 NULL},
	{"kernel-udp-gso", "The kernel segments what UDP workers send (GSO)", 0, run_gso, NULL},
	{"kernel-udp-gro", "The kernel coalesces what UDP workers receive (GRO)", 0, run_gro, NULL},
	{"kernel-seccomp", "The kernel supports seccomp filters", 0, run_seccomp, NULL},
	{"kernel-namespaces", "Server workers can create a mount namespace", 0, run_namespaces,
	 NULL},
	{"kernel-bonding", "The kernel supports bonds where they are needed", DOCTOR_NEEDS_PLAN,
	 run_module, "bonding"},
	{"kernel-vlan", "The kernel supports VLANs where they are needed", DOCTOR_NEEDS_PLAN,
	 run_module, "8021q"},
	{"kernel-vfio-pci", "The kernel has the vfio-pci driver where workers have VFs",
	 DOCTOR_NEEDS_PLAN, run_module, "vfio_pci"},
	{"kernel-vfio", "VFs can be used from user space", DOCTOR_NEEDS_PLAN, run_vfio, NULL},
	{"kernel-unsafe-interrupts", "No device can raise the interrupts of others", 0, run_unsafe,
	 NULL},
};

const struct doctor_subject doctor_kernel = DOCTOR_SUBJECT("kernel", checks);
