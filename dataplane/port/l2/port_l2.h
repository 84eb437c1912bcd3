/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds and strictly parses frames for ports that do not use the kernel's network stack: Ethernet,
 * ARP, IPv4, IPv6, neighbour discovery, ICMP echo and UDP. The functions only read and write byte
 * arrays: they have no state and use no clock, no socket and no DPDK function. port_dpdk, port_xdp
 * and port_neigh use them; port_udp uses only the announcement frame. RFC 768, 791, 792, 826, 4443,
 * 4861, 5227, 8200.
 */
#ifndef PLENUM_DATAPLANE_PORT_L2_H
#define PLENUM_DATAPLANE_PORT_L2_H

#include "dataplane/datagram.h"
#include "dataplane/launch.h"

/* Maximum length of the ARP and neighbour discovery frames that are built here. */
#define PORT_L2_CONTROL_MAX 96
#define PORT_L2_HEADERS_MAX 62	/* headers of Ethernet, IPv6 and UDP */
#define PORT_L2_ECHO_MAX 1514	/* maximum length of an echo request frame that is answered */
#define PORT_L2_ETHER_BYTES 14U /* number of bytes before the IP packet */

struct port_l2_local { /* the addresses of the port */
	struct mac_addr mac;
	struct ip_addr ip;
	uint16_t udp_port;
	/* If set, frames are also valid if the checksum field has only the sum of the pseudo
	 * header. A virtual device may forward such frames from another network stack of this
	 * host. */
	bool accept_partial_checksum;
};

enum port_l2_kind {
	PORT_L2_DROP,	 /* the frame must be dropped; the reason is in port_l2_frame.drop */
	PORT_L2_UDP,	 /* a datagram for the port's address and UDP port */
	PORT_L2_ARP,	 /* an ARP request or reply for any address */
	PORT_L2_SOLICIT, /* neighbour solicitation */
	PORT_L2_ADVERT,	 /* neighbour advertisement */
	PORT_L2_ECHO,	 /* an echo request to the port's address: answer it with
			    port_l2_build_echo_reply() */
};

enum port_l2_drop {
	PORT_L2_DROP_SHORT,	/* a length field exceeds the frame, or a header is incomplete */
	PORT_L2_DROP_MALFORMED, /* the version, the header length, an option or an address is
				   invalid */
	PORT_L2_DROP_FRAGMENT,
	PORT_L2_DROP_CHECKSUM,
	PORT_L2_DROP_NOT_OURS, /* the frame is for another MAC, address, port or protocol, as is
				  normal on a network */
	PORT_L2_DROP_MAX
};
const char *port_l2_drop_to_string(enum port_l2_drop d);
void port_l2_count_drop(struct launch_port_counters *c, enum port_l2_drop d);

struct port_l2_frame {
	enum port_l2_kind kind;
	enum port_l2_drop drop;
	struct mac_addr src_mac; /* source MAC of the Ethernet header */
	/* PORT_L2_UDP */
	struct datagram_addr src;
	const uint8_t *payload; /* points into the parsed frame */
	uint32_t payload_len;
	/* PORT_L2_ARP, _SOLICIT, _ADVERT */
	struct ip_addr sender;	    /* the sender's address; all zero in an ARP probe or DAD
				       solicitation */
	struct ip_addr target;	    /* the address that the frame asks for or announces */
	struct mac_addr sender_mac; /* hardware address in the packet; valid if has_mac is set */
	bool has_mac;
	bool is_reply;	   /* ARP reply, or an advertisement */
	bool is_solicited; /* advertisement that answers a solicitation */
	bool is_override;
};

#define PORT_L2_CHECKSUM_GOOD 1U /* the device has verified IP and UDP checksums */

/* Parses one frame and fills *ret completely. Never reads beyond len bytes. Returns ret->kind. */
enum port_l2_kind port_l2_parse(const struct port_l2_local *local, const uint8_t *frame, size_t len,
				unsigned flags, struct port_l2_frame *ret);
/* Fast path for the most frequent frame: a datagram for the port, in the form in which Plenum hosts
 * build it. Makes the same checks as port_l2_parse(), including checksums. Returns the payload, and
 * sets *ret_src and *ret_len. For any other frame, and for a damaged one, returns NULL; the caller
 * must then call port_l2_parse(). */
const uint8_t *port_l2_take_udp(const struct port_l2_local *local, const uint8_t *frame, size_t len,
				unsigned flags, struct datagram_addr *ret_src, uint32_t *ret_len);

/*
 * Each of the following functions writes a whole frame and returns its length, which is at most
 * PORT_L2_CONTROL_MAX bytes unless noted. The address family decides between ARP and neighbour
 * discovery.
 */

/* Builds a request for the MAC of `target`. dst_mac: NULL for broadcast or solicited-node
 * multicast, else unicast. If sender's family is 0, the frame is a probe that claims no address
 * (ARP probe of RFC 5227, DAD solicitation of RFC 4862). */
size_t port_l2_build_solicit(uint8_t *frame, const struct mac_addr *mac,
			     const struct ip_addr *sender, const struct ip_addr *target,
			     const struct mac_addr *dst_mac);
/* Builds the answer "ip is at mac" to the host `to`. If `to` is the all-zero IPv6 address, the
 * answer goes to all nodes. */
size_t port_l2_build_advert(uint8_t *frame, const struct mac_addr *mac, const struct ip_addr *ip,
			    const struct mac_addr *to_mac, const struct ip_addr *to);
/* Builds a gratuitous ARP or unsolicited neighbour advertisement to all hosts. */
size_t port_l2_build_announce(uint8_t *frame, const struct mac_addr *mac, const struct ip_addr *ip);
/* Builds the reply to a frame of kind PORT_L2_ECHO; `out` has space for PORT_L2_ECHO_MAX bytes.
 * Returns 0 if the reply would be too long. */
size_t port_l2_build_echo_reply(uint8_t *out, const struct port_l2_local *local,
				const uint8_t *frame, size_t len);

#define PORT_L2_OFFLOAD_CHECKSUM 1U /* the device completes both checksums */

/* Builds a frame with a datagram from the port's address; `frame` has space for PORT_L2_HEADERS_MAX
 * + hdr_len + payload_len bytes. dst must have the address family of local. */
size_t port_l2_build_udp(uint8_t *frame, const struct port_l2_local *local,
			 const struct mac_addr *dst_mac, const struct datagram_addr *dst,
			 const struct datagram *pkt, unsigned flags);
/* Sets the destination MAC of a frame that was built without one. */
void port_l2_set_dst(uint8_t *frame, const struct mac_addr *dst_mac);

/* Adds the ones' complement sum (RFC 1071) of the bytes to `sum`, without folding it; an odd last
 * byte counts as the high byte of a word. */
uint64_t port_l2_sum(const void *bytes, size_t len, uint64_t sum);
/* Folds the sum to 16 bits in network byte order and complements it. */
uint16_t port_l2_sum_finish(uint64_t sum);

#endif
