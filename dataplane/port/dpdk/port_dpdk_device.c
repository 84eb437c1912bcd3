/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles link changes, resets and wake-ups of a running DPDK device. Nothing here runs per packet.
 * DPDK calls the callbacks in its own interrupt thread.
 */
#include "dataplane/port/dpdk/port_dpdk_device.h"
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* DPDK has device events since 18.05, but still marks them as experimental. */
#define ALLOW_EXPERIMENTAL_API
#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

/* A device is restarted if its recovered link receives nothing for this long. */
#define SUSPECT_NS NSEC_PER_SEC
#define SUSPECT_MAX_NS (64 * NSEC_PER_SEC)

/* ------------------------------------------------------------------ link and reset */

/* Called in DPDK's interrupt thread. */
static int on_reset(uint16_t id, enum rte_eth_event_type type, void *user, void *ret)
{
	struct port_dpdk_state *s = user;

	(void)id;
	(void)type;
	(void)ret;
	/* The worker's thread reads this flag in port_dpdk_state_needs_restart(). */
	__atomic_store_n(&s->reset, 1, __ATOMIC_RELEASE);
	return 0;
}

static void on_settled(void *user)
{
	struct port_dpdk_state *s = user;

	/* The worker's thread reads this flag in port_dpdk_state_wanted_back(). */
	__atomic_store_n(&s->wanted_back, 1, __ATOMIC_RELEASE);
}

/*
 * Handles the kernel's request to give back a device, which vfio repeats every ten seconds until
 * the device is closed. DPDK's bus driver calls this function while it handles such a request, and
 * finishes the request only after the call. So this function only sets an alarm, by which the same
 * thread later reports the request to the port.
 */
static void on_device(const char *name, enum rte_dev_event_type type, void *user)
{
	(void)name;
	if (type == RTE_DEV_EVENT_REMOVE && rte_eal_alarm_set(1, on_settled, user) < 0)
		on_settled(user);
}

void port_dpdk_state_begin(struct port_dpdk_state *s, uint16_t id, const char *name, bool on_pci)
{
	*s = (struct port_dpdk_state){
		.id = id, .watched = on_pci, .up = true, .check_ns = UINT64_MAX};
	snprintf(s->name, sizeof(s->name), "%s", name);
	if (!on_pci)
		return;
	(void)rte_eth_dev_callback_register(id, RTE_ETH_EVENT_INTR_RESET, on_reset, s);
	(void)rte_dev_event_callback_register(s->name, on_device, s);
}

void port_dpdk_state_end(struct port_dpdk_state *s)
{
	/* Unregistering fails while a callback runs, so try again. */
	while (s->watched && rte_eth_dev_callback_unregister(s->id, RTE_ETH_EVENT_INTR_RESET,
							     on_reset, s) == -EAGAIN)
		rte_pause();
	while (s->watched && rte_dev_event_callback_unregister(s->name, on_device, s) == -EAGAIN)
		rte_pause();
	if (s->watched)
		(void)rte_eal_alarm_cancel(on_settled, s);
	s->watched = false;
}

bool port_dpdk_state_wanted_back(const struct port_dpdk_state *s)
{
	/* DPDK's interrupt thread sets this flag in on_settled(). */
	return __atomic_load_n(&s->wanted_back, __ATOMIC_ACQUIRE);
}

void port_dpdk_state_poll(struct port_dpdk_state *s, uint64_t frames, uint64_t now_ns)
{
	bool was_up = s->up;
	struct rte_eth_link link;

	if (!s->watched || rte_eth_link_get_nowait(s->id, &link) < 0)
		return;
	s->has_reported |= link.link_status == RTE_ETH_LINK_UP;
	s->up = !s->has_reported || link.link_status == RTE_ETH_LINK_UP;
	if (s->up && !was_up) {
		s->frames = frames;
		s->wait_ns = SUSPECT_NS;
		s->check_ns = now_ns + SUSPECT_NS;
	} else if (!s->up || frames != s->frames) {
		s->check_ns = UINT64_MAX;
	}
}

bool port_dpdk_state_needs_restart(struct port_dpdk_state *s, uint64_t now_ns)
{
	if (!s->up)
		return false;
	/* DPDK's interrupt thread sets this flag in on_reset(). */
	if (__atomic_load_n(&s->reset, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&s->reset, 0, __ATOMIC_ACQUIRE))
		return true;
	if (now_ns < s->check_ns)
		return false;
	s->wait_ns = MIN_OF(2 * s->wait_ns, SUSPECT_MAX_NS);
	s->check_ns = now_ns + s->wait_ns;
	return true;
}

/* ------------------------------------------------------------------ waking up */

static bool is_packet_socket(int fd)
{
	socklen_t len = sizeof(int);
	int domain;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       (domain == AF_PACKET || domain == AF_XDP);
}

void port_dpdk_fds_note(struct port_dpdk_fds *f)
{
	memset(f, 0, sizeof(*f));
	for (unsigned fd = 0; fd < PORT_DPDK_FDS_MAX; fd++)
		if (is_packet_socket((int)fd))
			f->bits[fd / 64] |= 1ULL << fd % 64;
}

/* Finds the sockets that the device has opened: those that are not in the list `before`. */
static void sockets_find(struct port_dpdk_wake *w, const struct port_dpdk_fds *before)
{
	for (unsigned fd = 0; fd < PORT_DPDK_FDS_MAX && w->n_sockets < PORT_DPDK_SOCKETS_MAX; fd++)
		if (!(before->bits[fd / 64] >> fd % 64 & 1) && is_packet_socket((int)fd))
			w->sockets[w->n_sockets++] = (int)fd;
}

static int watch(struct port_dpdk_wake *w, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(w->fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* A driver may have interrupt descriptors although the device has no interrupts. */
static int interrupt_fd(uint16_t id)
{
	int fd = rte_eth_dev_rx_intr_enable(id, 0) == 0 ? rte_eth_dev_rx_intr_ctl_q_get_fd(id, 0)
							: -1;

	if (fd >= 0)
		(void)rte_eth_dev_rx_intr_disable(id, 0);
	return fd;
}

int port_dpdk_wake_init(struct port_dpdk_wake *w, uint16_t id, const struct port_dpdk_fds *before)
{
	int fd = interrupt_fd(id), r = 0;

	*w = (struct port_dpdk_wake){.id = id, .by_interrupt = fd >= 0};
	/* Use one epoll descriptor as long as the port exists, because a restart of the device
	 * changes its descriptors. */
	w->fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->fd < 0)
		return -errno;
	if (w->by_interrupt) {
		r = watch(w, fd);
	} else {
		sockets_find(w, before);
		for (unsigned i = 0; r == 0 && i < w->n_sockets; i++)
			r = watch(w, w->sockets[i]);
		if (w->n_sockets == 0)
			r = -EOPNOTSUPP;
	}
	if (r < 0)
		port_dpdk_wake_done(w);
	return r;
}

int port_dpdk_wake_again(struct port_dpdk_wake *w)
{
	int fd;

	w->armed = false;
	if (w->fd < 0 || !w->by_interrupt)
		return 0;
	fd = interrupt_fd(w->id); /* the epoll descriptor no longer contains the old one, because it
				     is closed */
	return fd < 0 ? -EOPNOTSUPP : watch(w, fd);
}

int port_dpdk_wake_add(struct port_dpdk_wake *w, int socket)
{
	if (w->n_sockets == PORT_DPDK_SOCKETS_MAX)
		return -ENOSPC;
	w->sockets[w->n_sockets++] = socket;
	return watch(w, socket);
}

void port_dpdk_wake_done(struct port_dpdk_wake *w)
{
	cleanup_close(&w->fd);
	w->fd = -1;
}

/* Reads the errors of the sockets. The socket of an interface that went down stays readable until
 * its error is read. */
static void errors_take(const struct port_dpdk_wake *w)
{
	for (unsigned i = 0; i < w->n_sockets; i++) {
		socklen_t len = sizeof(int);
		int error;

		(void)getsockopt(w->sockets[i], SOL_SOCKET, SO_ERROR, &error, &len);
	}
}

bool port_dpdk_wake_arm(struct port_dpdk_wake *w)
{
	if (w->fd < 0)
		return false;
	/* The worker woke up and called rx, but no packet has arrived: perhaps the error of a
	 * socket has woken it. */
	if (w->idle && w->rx_called)
		errors_take(w);
	w->idle = true;
	w->rx_called = false;
	if (!w->by_interrupt)
		return true; /* a socket is readable as long as it has a packet */
	if (rte_eth_dev_rx_intr_enable(w->id, 0) != 0)
		return false;
	w->armed = true;
	/* Packets that arrive between the last read and rte_eth_dev_rx_intr_enable() raise no
	 * interrupt. It depends on the driver which of these two calls reports them. */
	if (rte_eth_rx_queue_count(w->id, 0) <= 0 &&
	    rte_eth_rx_descriptor_status(w->id, 0, 0) != RTE_ETH_RX_DESC_DONE)
		return true;
	port_dpdk_wake_disarm(w);
	return false;
}

void port_dpdk_wake_disarm(struct port_dpdk_wake *w)
{
	int fd;
	uint64_t events;

	w->armed = false;
	(void)rte_eth_dev_rx_intr_disable(w->id, 0);
	fd = rte_eth_dev_rx_intr_ctl_q_get_fd(w->id, 0);
	if (fd >= 0)
		(void)!read(fd, &events, sizeof(events));
}
