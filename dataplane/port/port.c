/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the back end for a transport. DPDK is a module that only DPDK workers load: linked in, it
 * would cost every UDP worker its memory.
 */
#include "dataplane/port/port.h"
#include "netcfg/base/log.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

/* The module stays loaded: DPDK's threads and exit handlers live in it. */
static int port_module_load(const char *name, const struct port_ops **ret, char *why)
{
	const char *dir = secure_getenv("PLENUM_MODULE_DIR");
	const struct port_ops *ops;
	char path[PATH_MAX];
	void *module;
	int n;

	if (!dir || !*dir)
		dir = PLENUM_MODULEDIR;
	n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		snprintf(why, LAUNCH_REASON_MAX, "the path of the module folder is too long");
		return -ENAMETOOLONG;
	}
	if (access(path, R_OK) != 0) {
		snprintf(why, LAUNCH_REASON_MAX, "%.80s: no such module; is it installed?", path);
		return -ENOENT;
	}
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!module) {
		log_debug("port: %s", dlerror());
		snprintf(why, LAUNCH_REASON_MAX, "%.60s cannot be loaded; is DPDK installed?",
			 path);
		return -ELIBACC;
	}
	ops = dlsym(module, PORT_MODULE_SYMBOL);
	if (!ops) {
		dlclose(module);
		snprintf(why, LAUNCH_REASON_MAX, "%.80s is not a port module", path);
		return -ELIBBAD;
	}
	if (ops->layout != PORT_LAYOUT) {
		snprintf(why, LAUNCH_REASON_MAX,
			 "%.60s and plenum-worker have different versions; restart plenumd", path);
		return -ELIBBAD;
	}
	*ret = ops;
	return 0;
}

int port_ops_get(enum launch_transport t, const struct port_ops **ret, char *why)
{
	why[0] = '\0';
	switch (t) {
	case LAUNCH_UDP:
		*ret = &port_udp_ops;
		return 0;
	case LAUNCH_DPDK:
	case LAUNCH_DPDK_INTERRUPT:
		return port_module_load("port_dpdk.so", ret, why);
	case LAUNCH_TRANSPORT_MAX:
		break;
	}
	snprintf(why, LAUNCH_REASON_MAX, "unknown transport %u", (unsigned)t);
	return -EINVAL;
}
