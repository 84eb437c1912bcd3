/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses files of /proc/net/bonding. Their format has no version and may change, so unexpected
 * lines are ignored. */
#include "netcfg/linux/sysfs/proc_bond.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (64U << 10)
#define PORT "Slave Interface: "

static struct inv_bond_port *port_of(struct inventory *inv, const char *name, size_t len)
{
	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i];

		if (strlen(l->name) != len || memcmp(l->name, name, len) != 0)
			continue;
		for (size_t j = 0; j < inv->n_bond_ports; j++)
			if (inv->bond_ports[j].ifindex == l->ifindex)
				return &inv->bond_ports[j];
	}
	return NULL;
}

/* Returns the text after `head` in the line, or NULL if the line does not begin with it. */
static const char *after(const char *line, size_t len, const char *head)
{
	size_t n = strlen(head);

	return len >= n && memcmp(line, head, n) == 0 ? line + n : NULL;
}

static void take_line(struct inv_bond_port *p, const char *line, size_t len, bool of_partner)
{
	const char *state = after(line, len, "Actor Churn State: ");
	const char *mac = after(line, len, "    system mac address: ");
	char text[MAC_ADDR_STR_MAX];

	if (!state)
		state = after(line, len, "Partner Churn State: ");
	if (state)
		p->churned |= after(state, len - (size_t)(state - line), "churned") != NULL;
	if (!mac || !of_partner)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)(len - (size_t)(mac - line)), mac);
	(void)mac_addr_parse(text, &p->partner_mac);
}

void proc_bond_parse(const char *text, struct inventory *inv)
{
	struct inv_bond_port *p = NULL;
	bool of_partner = false;

	for (const char *line = text; *line;) {
		const size_t len = strcspn(line, "\n");
		const char *name = after(line, len, PORT);

		if (name) {
			p = port_of(inv, name, len - strlen(PORT));
			of_partner = false;
		} else if (after(line, len, "details ")) {
			of_partner = after(line, len, "details partner") != NULL;
		} else if (p) {
			take_line(p, line, len, of_partner);
		}
		line += len + (line[len] == '\n');
	}
}

void proc_bond_fill(int proc_net, struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_bonds; i++) {
		const struct inv_link *l = inv_link_by_index(inv, inv->bonds[i].ifindex);
		char path[sizeof("bonding/") + IFNAMSIZ];
		autofree char *text = calloc(1, FILE_BYTES_MAX);
		autoclose int fd = -1;
		size_t len = 0;
		ssize_t n = 1;

		if (!l || !text)
			continue;
		snprintf(path, sizeof(path), "bonding/%s", l->name);
		fd = openat(proc_net, path, O_RDONLY | O_CLOEXEC);
		while (fd >= 0 && n > 0 && len < FILE_BYTES_MAX - 1) {
			n = read(fd, text + len, FILE_BYTES_MAX - 1 - len);
			len += n > 0 ? (size_t)n : 0;
		}
		proc_bond_parse(text, inv);
	}
}
