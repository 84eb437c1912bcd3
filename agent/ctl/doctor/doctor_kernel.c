/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the kernel: its version, what it was built with, and the modules and devices by which
 * workers reach it. */
#include "agent/ctl/doctor/doctor.h"

#include <string.h>

static void run_version(const struct doctor_picture *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	if (doctor_kernel_is(p, 5, 12)) {
		doctor_say(r, DOCTOR_PASS, "Linux %s", p->inv->kernel_release);
		return;
	}
	doctor_say(r, DOCTOR_FAIL, "Linux %s; workers serve exports from Linux 5.12 on",
		   p->inv->kernel_release);
	doctor_advise(r, "boot Linux 5.12 or later");
}

static void run_fuse(const struct doctor_picture *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (doctor_exists(p, "/dev/fuse")) {
		doctor_say(r, DOCTOR_PASS, "/dev/fuse is there");
	} else if (!doctor_has_role(p, SPEC_ROLE_FRONTEND)) {
		doctor_say(r, DOCTOR_PASS, "/dev/fuse is not there, and no frontend is configured");
	} else {
		doctor_say(r, DOCTOR_FAIL, "/dev/fuse is not there, and frontends want it");
		doctor_advise(r, "modprobe fuse");
	}
}

static void run_resend(const struct doctor_picture *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	if (!doctor_has_role(p, SPEC_ROLE_FRONTEND)) {
		doctor_say(r, DOCTOR_PASS, "no frontend is configured");
	} else if (doctor_kernel_is(p, 6, 9)) {
		doctor_say(r, DOCTOR_PASS, "Linux %s sends what was not answered again",
			   p->inv->kernel_release);
	} else {
		doctor_say(r, DOCTOR_WARN,
			   "Linux %s does not: programs see EIO when a frontend dies with "
			   "requests under way",
			   p->inv->kernel_release);
		doctor_advise(r, "boot Linux 6.9 or later");
	}
}

static void run_io_uring(const struct doctor_picture *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	static const char file[] = "/proc/sys/kernel/io_uring_disabled";
	int64_t disabled;

	if (!doctor_has_role(p, SPEC_ROLE_COMPUTE)) {
		doctor_say(r, DOCTOR_PASS, "no export is configured");
	} else if (doctor_read_number(p, &disabled, "%s", file) < 0) {
		if (doctor_kernel_is(p, 5, 10)) {
			doctor_say(r, DOCTOR_PASS, "Linux %s has it and no switch for it",
				   p->inv->kernel_release);
			return;
		}
		doctor_say(r, DOCTOR_WARN, "Linux %s has none that can be restricted",
			   p->inv->kernel_release);
		doctor_advise(r, "boot Linux 5.10 or later");
	} else if (disabled == 0) {
		doctor_say(r, DOCTOR_PASS, "%s is 0", file);
	} else {
		doctor_say(r, DOCTOR_WARN,
			   "%s is %lld: exports are read by plain system calls, which is slower",
			   file, (long long)disabled);
		doctor_advise(r, "sysctl -w kernel.io_uring_disabled=0");
	}
}

/* What segmentation by the kernel saves a UDP worker is most of its time. */
static void say_udp(struct doctor_result *r, const char *option, int error)
{
	if (error == 0) {
		doctor_say(r, DOCTOR_PASS, "a socket takes %s", option);
		return;
	}
	doctor_say(r, DOCTOR_WARN, "a socket refuses %s: %s", option, strerror(-error));
	doctor_advise(r, "boot Linux 5.0 or later");
}

static void run_gso(const struct doctor_picture *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	say_udp(r, "UDP_SEGMENT", p->udp_gso);
}

static void run_gro(const struct doctor_picture *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	say_udp(r, "UDP_GRO", p->udp_gro);
}

static void run_seccomp(const struct doctor_picture *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	static const char file[] = "/proc/sys/kernel/seccomp/actions_avail";
	char actions[256];
	int e = doctor_read(p, actions, sizeof(actions), "%s", file);

	if (e >= 0 && strstr(actions, "kill_process") && strstr(actions, "errno")) {
		doctor_say(r, DOCTOR_PASS, "%s: %s", file, actions);
		return;
	}
	doctor_say(r, DOCTOR_FAIL, "%s %s%s: workers do not start without their filters", file,
		   e < 0 ? "cannot be read: " : "has only ", e < 0 ? strerror(-e) : actions);
	doctor_advise(r, "boot a kernel with CONFIG_SECCOMP_FILTER");
}

static void run_namespaces(const struct doctor_picture *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	static const char file[] = "/proc/sys/user/max_mnt_namespaces";
	int64_t n;
	int e = doctor_read_number(p, &n, "%s", file);

	if (e < 0) {
		doctor_say(r, DOCTOR_UNKNOWN, "%s cannot be read: %s", file, strerror(-e));
	} else if (n > 0) {
		doctor_say(r, DOCTOR_PASS, "%s is %lld", file, (long long)n);
	} else {
		doctor_say(r, DOCTOR_FAIL,
			   "%s is 0: workers that serve exports cannot have an empty root", file);
		doctor_advise(r, "sysctl -w user.max_mnt_namespaces=65536");
	}
}

/* Why a module is wanted. NULL: it is not. */
static const char *why_module(const struct doctor_picture *p, const char *name)
{
	if (strcmp(name, "bonding") == 0)
		return p->spec->bond.name[0] || p->spec->ha == SPEC_HA_LACP ? "the legs make a bond"
									    : NULL;
	if (strcmp(name, "8021q") == 0) {
		for (size_t i = 0; i < p->spec->n_networks; i++)
			if (p->spec->networks[i].vlan)
				return "a network has a tag";
		return NULL;
	}
	for (size_t i = 0; i < p->plan->n_workers; i++)
		for (size_t j = 0; j < p->plan->workers[i].n_ports; j++)
			if (p->plan->workers[i].ports[j].vf[0])
				return "workers have VFs";
	return NULL;
}

static void run_module(const struct doctor_picture *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	const char *why = why_module(p, c->about);

	if (!why) {
		doctor_say(r, DOCTOR_PASS, "nothing here wants module %s", c->about);
	} else if (doctor_has_module(p, c->about)) {
		doctor_say(r, DOCTOR_PASS, "module %s is there", c->about);
	} else {
		doctor_say(r, DOCTOR_FAIL, "there is no module %s for Linux %s, and %s", c->about,
			   p->inv->kernel_release, why);
		doctor_advise(r, "install the modules of this kernel (Debian: linux-image-%s)",
			      p->inv->kernel_release);
	}
}

static void run_vfio(const struct doctor_picture *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!why_module(p, "vfio_pci")) {
		doctor_say(r, DOCTOR_PASS, "no worker has a VF");
	} else if (doctor_exists(p, "/dev/vfio/vfio")) {
		doctor_say(r, DOCTOR_PASS, "/dev/vfio/vfio is there");
	} else {
		doctor_say(r, DOCTOR_FAIL, "/dev/vfio/vfio is not there, and workers have VFs");
		doctor_advise(r, "modprobe vfio-pci");
	}
}

static void run_unsafe(const struct doctor_picture *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	static const char file[] =
		"/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts";
	char value[8];

	if (doctor_read(p, value, sizeof(value), "%s", file) < 0 || value[0] != 'Y') {
		doctor_say(r, DOCTOR_PASS, "interrupts of devices are remapped");
		return;
	}
	doctor_say(r, DOCTOR_WARN,
		   "%s is Y: whoever has a VF can raise any interrupt of this machine", file);
	doctor_advise(r, "turn interrupt remapping on in the firmware, then echo N >%s", file);
}

static const struct doctor_check checks[] = {
	{"kernel-version", "The kernel is Linux 5.12 or later", DOCTOR_WANTS_INVENTORY, run_version,
	 NULL},
	{"kernel-fuse", "Frontends have /dev/fuse", DOCTOR_WANTS_PLAN, run_fuse, NULL},
	{"kernel-fuse-resend", "A frontend's death is not seen by programs", DOCTOR_WANTS_PLAN,
	 run_resend, NULL},
	{"kernel-io-uring", "Exports are read by io_uring", DOCTOR_WANTS_PLAN, run_io_uring, NULL},
	{"kernel-udp-gso", "The kernel cuts what UDP workers send", 0, run_gso, NULL},
	{"kernel-udp-gro", "The kernel joins what UDP workers receive", 0, run_gro, NULL},
	{"kernel-seccomp", "The kernel filters the system calls of workers", 0, run_seccomp, NULL},
	{"kernel-namespaces", "Workers can have a mount namespace of their own", 0, run_namespaces,
	 NULL},
	{"kernel-bonding", "The kernel has bonds where they are wanted", DOCTOR_WANTS_PLAN,
	 run_module, "bonding"},
	{"kernel-vlan", "The kernel has VLANs where they are wanted", DOCTOR_WANTS_PLAN, run_module,
	 "8021q"},
	{"kernel-vfio-pci", "The kernel has the driver by which VFs are given to workers",
	 DOCTOR_WANTS_PLAN, run_module, "vfio_pci"},
	{"kernel-vfio", "VFs can be reached from user space", DOCTOR_WANTS_PLAN, run_vfio, NULL},
	{"kernel-unsafe-interrupts", "No device can raise the interrupts of others", 0, run_unsafe,
	 NULL},
};

const struct doctor_subject doctor_kernel = DOCTOR_SUBJECT("kernel", checks);
