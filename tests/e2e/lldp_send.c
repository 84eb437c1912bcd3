/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Imitates the LLDP of a switch: sends one frame from an interface.
 *
 *	lldp_send IFNAME CHASSIS-MAC PORT NAME [TTL-SECONDS]
 *
 * NAME "-": no system name. Written from the standard, independent of the agent's parser.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct frame {
	uint8_t bytes[1514];
	size_t len;
};

static void add(struct frame *f, const void *bytes, size_t len)
{
	if (f->len + len > sizeof(f->bytes))
		exit(2);
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

/* subtype < 0: without a subtype */
static void add_tlv(struct frame *f, unsigned type, int subtype, const void *bytes, size_t len)
{
	const uint8_t byte = (uint8_t)subtype;
	uint16_t head = htons((uint16_t)(type << 9 | (len + (subtype >= 0))));

	add(f, &head, sizeof(head));
	if (subtype >= 0)
		add(f, &byte, 1);
	add(f, bytes, len);
}

static int read_mac(const char *text, uint8_t mac[6])
{
	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6;
}

static int send_frame(const char *ifname, const struct frame *f)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(0x88cc),
				 .sll_ifindex = (int)if_nametoindex(ifname),
				 .sll_halen = 6};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	ssize_t n;

	memcpy(to.sll_addr, f->bytes, 6);
	n = fd < 0 ? -1 : sendto(fd, f->bytes, f->len, 0, (struct sockaddr *)&to, sizeof(to));
	if (n < 0)
		perror(ifname);
	if (fd >= 0)
		close(fd);
	return n < 0;
}

int main(int argc, char **argv)
{
	struct frame f = {.len = 0};
	uint8_t mac[6];
	uint16_t ttl;

	if (argc < 5 || !read_mac(argv[2], mac)) {
		fputs("usage: lldp_send IFNAME CHASSIS-MAC PORT NAME [TTL-SECONDS]\n", stderr);
		return 2;
	}
	ttl = htons((uint16_t)(argc > 5 ? atoi(argv[5]) : 120));
	add(&f, "\x01\x80\xc2\x00\x00\x0e", 6);
	add(&f, mac, 6);
	add(&f, "\x88\xcc", 2);
	add_tlv(&f, 1, 4, mac, sizeof(mac));
	add_tlv(&f, 2, 5, argv[3], strlen(argv[3]));
	add_tlv(&f, 3, -1, &ttl, sizeof(ttl));
	if (strcmp(argv[4], "-") != 0)
		add_tlv(&f, 5, -1, argv[4], strlen(argv[4]));
	add_tlv(&f, 0, -1, "", 0);
	return send_frame(argv[1], &f);
}
