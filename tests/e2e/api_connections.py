#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients of the script api_connections: api_connections.py FUNCTION [ARGUMENT]. Each fails with an assertion."""
import os
import pwd
import select
import socket
import subprocess
import sys
import time

READ, ADMIN = "/run/plenum/plenumd.sock", "/run/plenum/plenumd-admin.sock"
STATUS = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
IDLE_S = 10


class Ended(AssertionError):
    pass


class Client:
    def __init__(self, path=READ, uid=0):
        # The kernel reports the user that connected.
        os.seteuid(uid)
        try:
            self.s = socket.socket(socket.AF_UNIX)
            self.s.settimeout(30)
            self.s.connect(path)
        finally:
            os.seteuid(0)
        self.rest = b""

    def send(self, data):
        self.s.sendall(data)

    def more(self):
        try:
            data = self.s.recv(65536)
        except ConnectionResetError:
            data = b""
        self.rest += data
        return data

    def answer(self, has_body=True):
        """The status, the headers and the body of the next answer."""
        while b"\r\n\r\n" not in self.rest:
            if not self.more():
                raise Ended("ended before an answer: %r" % self.rest)
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        length = int(headers.get("content-length", 0)) if has_body else 0
        while len(self.rest) < length:
            assert self.more(), "ended within an answer"
        body, self.rest = self.rest[:length], self.rest[length:]
        return int(lines[0].split()[1]), headers, body

    def has_ended(self):
        """Waits for the end; nothing else may arrive."""
        while self.more():
            pass
        assert not self.rest, self.rest
        return True

    def is_open(self):
        return not select.select([self.s], [], [], 0)[0]

    def get(self, path="/v1/status", more=""):
        self.send(b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (path.encode(), more.encode()))
        return self.answer()


def in_turn():
    for path in (READ, ADMIN):
        c = Client(path)
        for what, code in (("/v1/status", 200), ("/v1/plan", 200), ("/v1/no-such", 404), ("/v1/events", 200), ("/openapi.json", 200),
                           ("/page/", 200), ("/v1/status", 200), ("/v1/history/7", 404), ("/v1/net", 200)):
            status, headers, body = c.get(what)
            assert status == code and body and "connection" not in headers, (what, status, headers)
        etag = c.get("/page/")[1]["etag"]
        c.send(b"GET /page/ HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: %s\r\n\r\n" % etag.encode())
        status, headers, _ = c.answer(False)
        assert status == 304 and "content-length" not in headers
        assert c.get()[0] == 200


def together():
    c = Client()
    paths = ["/v1/plan", "/v1/status", "/v1/no-such", "/openapi.json", "/v1/config/running", "/v1/events"] * 10
    c.send(b"".join(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % p.encode() for p in paths))
    for p in paths:
        status, headers, body = c.answer()
        assert status == (404 if p == "/v1/no-such" else 200), (p, status)
        kind = {"/v1/plan": b'"steps"', "/v1/status": b'"legs"', "/v1/no-such": b'"code"', "/openapi.json": b'"paths"',
                "/v1/config/running": b"networks:", "/v1/events": b'"events"'}[p]
        assert kind in body, (p, body[:200])
    c.send(b"HEAD /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\nOPTIONS /v1/net HTTP/1.1\r\nHost: localhost\r\n\r\n" + STATUS)
    status, headers, _ = c.answer(False)
    assert status == 200 and int(headers["content-length"]) > 100
    status, headers, _ = c.answer()
    assert status == 204 and headers["allow"] == "GET, HEAD, POST, OPTIONS", headers
    assert c.answer()[0] == 200


def rss():
    pid = subprocess.check_output(["pgrep", "-f", "--", r"--role api( |$)"]).split()[0].decode()
    return int(next(line for line in open("/proc/%s/status" % pid) if line.startswith("VmRSS")).split()[1])


def unread():
    c, n = Client(), 900
    before = rss()
    c.s.setblocking(False)
    data, sent = STATUS * n, 0
    while sent < len(data) and select.select([], [c.s], [], 2)[1]:
        sent += c.s.send(data[sent:])
    assert rss() - before < 1024, (before, rss())
    c.s.settimeout(30)
    got = 0
    while got < n:
        assert c.answer()[0] == 200
        got += 1
        if sent < len(data):
            sent += c.s.send(data[sent:sent + len(STATUS)])


def last():
    c = Client()
    assert c.get(more="Connection: x, Close\r\n")[1]["connection"] == "close" and c.has_ended()
    c = Client()
    c.send(STATUS.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + STATUS)
    assert c.answer()[1]["connection"] == "close" and c.has_ended()
    c = Client()
    c.send(b"GET /v1/status HTTP/1.0\r\n\r\n")
    assert c.answer()[1]["connection"] == "close" and c.has_ended()
    c = Client()
    for _ in range(2):
        c.send(b"GET /v1/status HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert c.answer()[1]["connection"] == "keep-alive"
    c.s.shutdown(socket.SHUT_WR)
    assert c.has_ended()
    c = Client()  # the client has sent all that it will
    c.send(STATUS + STATUS)
    c.s.shutdown(socket.SHUT_WR)
    assert c.answer()[0] == 200 and c.answer()[0] == 200 and c.has_ended()


def body():
    c = Client(ADMIN)
    inner = STATUS + STATUS
    c.send(b"POST /v1/no-such HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner + STATUS)
    assert c.answer()[0] == 404
    assert c.answer()[0] == 200
    c.send(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner + STATUS)
    first = c.answer()[0]
    assert first in (200, 400, 413, 415), first
    assert c.answer()[0] == 200
    assert c.get("/v1/no-such")[0] == 404


def waits_for_100():
    c = Client(ADMIN)
    c.send(b"PUT /v1/config/staged HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yaml\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
    assert c.answer(False)[0] == 100
    c.send(b"nonet")
    assert c.answer()[0] == 422


def two_ways():
    for lines in (b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: 5\r\nContent-Length: 5", b"Content-Length: 5, 5",
                  b"Content-Length: +5", b"Content-Length: 0x5", b"Content-Length:", b"Transfer-Encoding: chunked",
                  b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: identity\r\nContent-Length: 5",
                  b"transfer-encoding : chunked", b"Content-Length : 5", b"X: y\r\n Content-Length: 5", b"X: y\nContent-Length: 5",
                  b"X\x00: y", b"Host: other"):
        c = Client()
        c.send(b"GET /v1/plan HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert c.answer()[0] == 200
        c.send(b"POST /v1/apply HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n\r\n0\r\n\r\n" + STATUS)
        status, headers, text = c.answer()
        assert status in (400, 501) and headers["connection"] == "close" and b'"bad-request"' in text, (lines, status)
        assert headers["content-type"] == "application/problem+json"
        c.s.shutdown(socket.SHUT_WR)
        assert c.has_ended(), lines


def change():
    c = Client(ADMIN)
    assert c.get()[0] == 200 and c.get("/v1/plan")[0] == 200
    before = c.get("/v1/net")[1]["etag"]
    c.send(b"DELETE /v1/config/staged HTTP/1.1\r\nHost: localhost\r\n\r\n"
           b"POST /v1/net HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 49\r\n\r\n"
           b'{"name":"leg-b","device":"eth2","network":"d-a"}\n')
    status, headers, _ = c.answer(False)
    assert status in (200, 204, 404, 409) and headers["connection"] == "close", (status, headers)
    c.s.shutdown(socket.SHUT_WR)
    while c.more():
        pass
    assert b"HTTP/1.1" not in c.rest
    assert Client().get("/v1/net")[1]["etag"] == before


def thousand():
    c = Client()
    for i in range(1000):
        status, headers, _ = c.get()
        assert status == 200 and ("connection" in headers) == (i == 999), (i, headers)
    assert c.has_ended()


def stream():
    c = Client()
    c.send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n" + STATUS)
    status, headers, _ = c.answer()
    assert status == 200 and headers["connection"] == "close" and "content-length" not in headers, headers
    while b"data: " not in c.rest:
        assert c.more()
    assert Client().get()[0] == 200  # the agent has read both
    while not c.is_open():
        assert c.more()
    assert b"HTTP/1.1" not in c.rest
    c = Client()
    c.send(b"HEAD /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
    assert c.answer(False)[1]["content-type"] == "text/event-stream" and c.has_ended()


def slow():
    c, other = Client(), Client()
    assert c.get()[0] == 200
    for byte in STATUS:
        c.send(bytes([byte]))
        assert other.get()[0] == 200  # the agent has read the byte
    assert c.answer()[0] == 200


def silent():
    began = time.monotonic()
    clients = [Client(), Client(), Client(ADMIN), Client()]
    clients[0].send(STATUS[:20])
    assert clients[1].get()[0] == 200
    clients[2].send(b"PUT /v1/config/staged HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yaml\r\nContent-Length: 50\r\n\r\nhost:")
    assert clients[3].get()[0] == 200
    clients[3].send(STATUS[:20])
    for c in clients:
        assert c.has_ended()
        assert IDLE_S - 1 < time.monotonic() - began < IDLE_S + 6, time.monotonic() - began


def idlest():
    clients = [Client() for _ in range(24)]
    for c in clients:
        assert c.get()[0] == 200
    until = time.monotonic() + 1.2  # the agent learns at most once a second of answers that it did not make
    while time.monotonic() < until:
        assert clients[0].get("/v1/no-such")[0] == 404
        select.select([clients[0].s], [], [], 0.05)
    for i, c in enumerate(clients):
        if i != 5:
            assert c.get()[0] == 200
    late = Client()
    assert late.get()[0] == 200
    assert clients[5].has_ended()
    assert all(c.is_open() for i, c in enumerate(clients) if i != 5)


def slow_read():
    """A file of the inventory does not answer, so the answer to this client takes as long as the test wants."""
    pipe, setting = "/run/slow-setting", "/proc/sys/net/ipv4/conf/all/rp_filter"
    os.mkfifo(pipe)
    subprocess.check_call(["mount", "--bind", pipe, setting])
    try:
        c = Client(uid=50000)
        c.send(b"GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\n\r\n")
        writer, until = None, time.monotonic() + 30
        while writer is None:  # until the agent's helper has opened the file
            try:
                writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                assert time.monotonic() < until
                select.select([], [], [], 0.01)
    finally:
        subprocess.check_call(["umount", "-l", setting])
        os.unlink(pipe)
    others = [Client(uid=50000) for _ in range(24)]
    # One more than the limit of a user: the first that is idle makes room, not the one that waits.
    assert others[0].has_ended() and c.is_open()
    until = time.monotonic() + IDLE_S + 2
    while c.is_open() and time.monotonic() < until:
        assert Client().get()[0] == 200
        select.select([c.s], [], [], 0.5)
    assert c.is_open() and all(o.has_ended() for o in others)
    os.write(writer, b"0\n")
    os.close(writer)
    status, _, text = c.answer()
    assert status == 200 and b'"links"' in text, (status, text[:200])
    assert c.get()[0] == 200


def users():
    clients = [Client(uid=50000 + i % 3) for i in range(63)]
    for c in clients:
        assert c.get()[0] == 200
    mine = [Client(uid=60000) for _ in range(4)]
    assert all(c.get()[0] == 200 for c in mine)
    assert sum(not c.is_open() for c in clients) >= 3


def rights():
    c = Client(ADMIN, pwd.getpwnam("daemon").pw_uid)
    assert c.get()[0] == 200 and c.get("/v1/plan")[0] == 200
    print("reads", flush=True)
    try:
        while True:  # so that the connection is not idle
            assert c.get("/v1/plan")[0] == 200
            select.select([c.s], [], [], 0.3)
    except (Ended, BrokenPipeError):
        print("ended", flush=True)


globals()[sys.argv[1]]()
