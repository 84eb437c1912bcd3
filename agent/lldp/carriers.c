/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the links' carriers. It makes no system calls. */
#include "agent/lldp/carriers.h"
#include "netcfg/base/vec.h"
#include <string.h>

void carriers_done(struct carriers *c)
{
	free(c->links);
	*c = (struct carriers){0};
}

/* Returns the index in the table at which the link is or would be inserted. */
static size_t place(const struct carriers *c, uint32_t ifindex)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->links[middle].ifindex < ifindex)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct carrier *carriers_find(const struct carriers *c, uint32_t ifindex)
{
	size_t at = place(c, ifindex);

	return at < c->n && c->links[at].ifindex == ifindex ? &c->links[at] : NULL;
}

bool carriers_usable(const struct carriers *c, uint32_t ifindex)
{
	const struct carrier *link = carriers_find(c, ifindex);

	return !link || (link->up && link->carrier);
}

static int insert(struct carriers *c, size_t at, uint32_t ifindex)
{
	if (!vec_add(&c->links, &c->n, sizeof(*c->links)))
		return -ENOMEM;
	memmove(&c->links[at + 1], &c->links[at], (c->n - 1 - at) * sizeof(*c->links));
	c->links[at] = (struct carrier){.ifindex = ifindex};
	return 0;
}

int carriers_set(struct carriers *c, uint32_t ifindex, bool up, bool carrier)
{
	bool was = carriers_usable(c, ifindex);
	size_t at = place(c, ifindex);

	if ((at == c->n || c->links[at].ifindex != ifindex) && insert(c, at, ifindex) < 0)
		return -ENOMEM;
	c->links[at].up = up;
	c->links[at].carrier = carrier;
	return was != (up && carrier);
}

int carriers_take(struct carriers *c, const struct inventory *inv,
		  void (*cb)(void *user, const struct inv_link *link, bool usable), void *user)
{
	size_t kept = 0;

	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *link = &inv->links[i];
		int r = carriers_set(c, link->ifindex, link->up, link->carrier);

		if (r < 0)
			return r;
		if (r > 0 && cb)
			cb(user, link, link->up && link->carrier);
	}
	for (size_t i = 0; i < c->n; i++)
		if (inv_link_by_index(inv, c->links[i].ifindex))
			c->links[kept++] = c->links[i];
	c->n = kept;
	return 0;
}
