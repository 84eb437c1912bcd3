/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes what is wrong with the connection to the cluster's store, and what to do about it. */
#include "agent/cluster/cluster.h"

void cluster_reason(const struct cluster_report *r, const struct spec_cluster *s, const char *host,
		    struct reason *why)
{
	static const char untouched[] = "mounts and exports are not affected";

	switch ((enum cluster_trouble)r->trouble) {
	case CLUSTER_UNREACHABLE:
		reason_set(why, "etcd-unreachable",
			   "no endpoint of cluster.etcd answers (%s); %s; check etcd and the "
			   "management network, the agent tries again at least every 36 s",
			   r->text, untouched);
		return;
	case CLUSTER_CERTIFICATE:
		reason_set(why, "etcd-certificate",
			   "the certificate of etcd is not valid (%s); check cluster.etcd-ca, and "
			   "that the certificate has the address of the endpoint",
			   r->text);
		return;
	case CLUSTER_REFUSED:
		reason_set(why, "etcd-refused",
			   "etcd refuses this host (%s); check cluster.etcd-user, "
			   "cluster.etcd-password-file and the user's role, which needs the keys "
			   "below /plenum/%s/",
			   r->text, s->name);
		return;
	case CLUSTER_FULL:
		reason_set(
			why, "etcd-full",
			"etcd has no room (%s); %s; compact and defragment it, then 'etcdctl alarm "
			"disarm'",
			r->text, untouched);
		return;
	case CLUSTER_WRONG:
		reason_set(why, "etcd-wrong",
			   "no endpoint of cluster.etcd answers as etcd 3.4 or later (%s); "
			   "check the URLs",
			   r->text);
		return;
	case CLUSTER_NAME_TAKEN:
		reason_set(
			why, "name-taken",
			"the name '%s' is registered in the cluster for another host: %s; give one "
			"of them another 'host', or, if the other one is gone for good, 'etcdctl "
			"del /plenum/%s/v1/owner/%s'",
			host, r->text, s->name, host);
		return;
	case CLUSTER_FILES:
		reason_set(why, "etcd-files", "%s; correct it, then 'systemctl reload plenumd'",
			   r->text);
		return;
	case CLUSTER_CONFLICT:
		reason_set(why, CLUSTER_CODE_CONFLICT, "%s", r->text);
		return;
	case CLUSTER_NOT_FOUND:
		reason_set(why, "not-found", "%s", r->text);
		return;
	case CLUSTER_FINE:
	case CLUSTER_TROUBLE_MAX:
		break;
	}
	reason_clear(why);
}
