#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens streams of events at the agent's socket as several users, and reads them: api_streams.py NUMBER."""
import os
import resource
import select
import socket
import sys

OF_A_USER = 200
number = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (number + 100, number + 100))
poll = select.epoll()
streams = {}
for i in range(number):
    # The kernel reports the user that connected.
    os.seteuid(0)
    os.setegid(0)
    os.seteuid(50000 + i // OF_A_USER if i >= OF_A_USER else 0)
    s = socket.socket(socket.AF_UNIX)
    s.connect("/run/plenum/plenumd-admin.sock" if len(sys.argv) > 2 else "/run/plenum/plenumd.sock")
    s.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
    head = s.recv(65536)
    if not head.startswith(b"HTTP/1.1 200 "):
        sys.exit("stream %d: %r" % (i, head[:300]))
    s.setblocking(False)
    streams[s.fileno()] = s
    poll.register(s, select.EPOLLIN)
print("open", number, flush=True)
while True:
    for fd, _ in poll.poll():
        if not streams[fd].recv(65536):
            sys.exit("a stream ended")
