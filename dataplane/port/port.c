/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the back end for a transport. DPDK is in a module that only DPDK workers load, because
 * otherwise every UDP worker would need DPDK's memory.
 */
#include "dataplane/port/port.h"
#include "netcfg/base/log.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

/* Loads a module. It is never unloaded, because DPDK's threads and exit handlers use its code. */
static int port_module_load(const char *name, const struct port_ops **ret, struct reason *why)
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
		reason_set_text(why, "the path of the module folder is too long");
		return -ENAMETOOLONG;
	}
	if (access(path, R_OK) != 0) {
		reason_set_text(why, "%s: no such module; is the module installed?", path);
		return -ENOENT;
	}
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!module) {
		log_debug("port: %s", dlerror());
		reason_set_text(why, "%s cannot be loaded; is DPDK installed?", path);
		return -ELIBACC;
	}
	ops = dlsym(module, PORT_MODULE_SYMBOL);
	if (!ops) {
		dlclose(module);
		reason_set_text(why, "%s is not a port module", path);
		return -ELIBBAD;
	}
	if (ops->layout != PORT_LAYOUT) {
		reason_set_text(
			why, "%s and plenum-worker have different versions; restart plenumd", path);
		return -ELIBBAD;
	}
	*ret = ops;
	return 0;
}

static const struct {
	const char *name;
	const struct port_ops *ops; /* the back end; NULL: it is in a module */
	const char *module;
} transports[LAUNCH_TRANSPORT_MAX] = {
#define BUILT_IN(member, name, ops) [LAUNCH_##member] = {name, &ops, NULL},
#define MODULE(member, name, file) [LAUNCH_##member] = {name, NULL, file},
	PORT_TRANSPORTS(BUILT_IN, MODULE)
#undef BUILT_IN
#undef MODULE
};

const char *port_transport_name(enum launch_transport t)
{
	return transports[t].name;
}

int port_ops_get(enum launch_transport t, const struct port_ops **ret, struct reason *why)
{
	reason_clear(why);
	if ((unsigned)t >= LAUNCH_TRANSPORT_MAX) {
		reason_set_text(why, "unknown transport %u", (unsigned)t);
		return -EINVAL;
	}
	if (transports[t].module)
		return port_module_load(transports[t].module, ret, why);
	*ret = transports[t].ops;
	return 0;
}
