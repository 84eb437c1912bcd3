# SPDX-License-Identifier: BSD-3-Clause
"""Random requests to each operation of the API: api_random.py OPENAPI SOCKET REQUESTS SEED. See the script api_random."""
import json
import os
import random
import socket
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import answers_fit

description = json.load(open(sys.argv[1]))
socket_path, n_requests, seed = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = random.Random(seed)
# It would end the agent; api_discovery and agent_run have its answers.
NOT_ASKED = {("post", "/v1/stop")}
# Each request starts a process that looks at the whole host, so these get three fifths of the requests.
SELDOM_ASKED = {("post", "/v1/doctor")}
PROBLEM = {"content": {"application/problem+json": {"schema": description["components"]["schemas"]["Problem"]}}}
WORDS = ["leg-a", "data-a", "eth1", "scratch", "1", "0", "-1", "all", "", "*", "x" * 70, "x" * 5000, "ä", "\u202e", "\0", "a b", "%", "..",
         "../../etc/passwd", "{}", "null", "true", "18446744073709551616", "1e9", "'", '"', "\n"]
TYPES = ["application/json", "application/yaml", "text/plain", "text/html", "*/*", "application/*;q=0.1", "application/problem+json", "x", ""]


def anything(depth=0):
    kind = rng.randrange(6 if depth < 3 else 4)
    if kind == 0:
        return rng.choice(WORDS)
    if kind == 1:
        return rng.choice([0, 1, -1, 2**31, 2**63, 2**64, 0.5, 1e300, rng.randrange(100000)])
    if kind == 2:
        return rng.choice([True, False, None])
    if kind == 3:
        return rng.choice([[], {}])
    if kind == 4:
        return [anything(depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(WORDS): anything(depth + 1) for _ in range(rng.randrange(4))}


def valid(schema):
    """A value that the schema allows, or nearly."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        properties = schema.get("properties", {})
        return {k: valid(s) for k, s in properties.items() if k in schema.get("required", []) or rng.random() < 0.4}
    if kind == "array":
        return [valid(schema.get("items", {})) for _ in range(rng.randrange(4))]
    if kind == "integer":
        return rng.choice([schema.get("minimum", 0), schema.get("maximum", 1000), rng.randrange(1, 64)])
    if kind == "boolean":
        return rng.random() < 0.5
    return None if kind == "null" else rng.choice(WORDS[:4])


def escape(text):
    return "".join(chr(b) if chr(b).isalnum() or b in b"-._~" else "%%%02X" % b for b in text.encode("utf-8", "surrogatepass"))


def target(path, parameters):
    for p in parameters:
        if p["in"] == "path":
            value = rng.choice(["leg-a", "1", "2"]) if rng.random() < 0.7 else rng.choice(WORDS)
            path = path.replace("{%s}" % p["name"], escape(value))
    query = []
    for p in parameters:
        if p["in"] == "query" and rng.random() < 0.3:
            # A wait for events would only take time.
            value = "0" if p["name"] == "wait" else valid(p["schema"]) if rng.random() < 0.6 else rng.choice(WORDS)
            query.append("%s=%s" % (p["name"], escape(str(value))))
    if rng.random() < 0.05:
        query.append("%s=%s" % (escape(rng.choice(WORDS)), escape(rng.choice(WORDS))))
    return path + ("?" + "&".join(query) if query else "")


def body_of(operation):
    content = operation.get("requestBody", {}).get("content", {})
    if not content or rng.random() < 0.05:
        return (rng.choice(TYPES), json.dumps(anything()).encode()) if rng.random() < 0.1 else (None, b"")
    kind = rng.choice(sorted(content))
    if rng.random() < 0.1:
        return rng.choice(TYPES), rng.randbytes(rng.randrange(200))
    value = valid(content[kind].get("schema", {})) if rng.random() < 0.7 else anything()
    if isinstance(value, dict) and value and rng.random() < 0.3:
        value[rng.choice(list(value))] = anything()
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.05:
        text = text[:rng.randrange(len(text) + 1)]
    return kind, text.encode("utf-8", "surrogatepass")


def request(method, path, operation):
    kind, body = body_of(operation)
    lines = ["%s %s HTTP/1.1" % (method.upper(), target(path, operation["parameters"])), "Host: plenum"]
    if rng.random() < 0.1:
        lines.append("Connection: close")
    if kind is not None or body:
        lines += ["Content-Type: %s" % (kind or "application/json"), "Content-Length: %d" % len(body)]
    elif method != "get":
        lines.append("Content-Length: 0")
    if rng.random() < 0.5:
        lines.append("Accept: " + ("application/json" if rng.random() < 0.7 else rng.choice(TYPES)))
    if rng.random() < 0.6:
        lines.append("If-Match: " + rng.choice(["*", "*", "*", '"0"', "x", 'W/"1"', ""]))
    if rng.random() < 0.1:
        lines.append("If-None-Match: " + rng.choice(["*", '"0"', "x"]))
    if rng.random() < 0.2:
        lines.append("Prefer: respond-async")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Client:
    """Sends requests on one connection until the agent says that it closes the connection."""

    def __init__(self):
        self.socket = None

    def close(self):
        self.socket = self.socket.close()

    def answer(self, question):
        """Status, content type and body. A stream is left after its head."""
        if not self.socket:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(60)
            self.socket.connect(socket_path)
        try:
            self.socket.sendall(question)
            return self.receive()
        except (OSError, ValueError):
            self.close()
            raise

    def receive(self):
        head, _, body = self.more(b"", lambda got: b"\r\n\r\n" in got).partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:] if ": " in line)}
        status, length = int(lines[0].split()[1]), int(headers.get("content-length", 0))
        body = self.more(body, lambda got: len(got) >= length)
        if headers.get("connection") == "close":
            self.close()
        elif len(body) > length:
            raise ValueError("the answer is longer than it says: %r" % body[length:][:100])
        return status, headers.get("content-type", ""), body

    def more(self, got, is_enough):
        while not is_enough(got):
            received = self.socket.recv(65536)
            if not received:
                raise ConnectionError("closed without a whole answer: %r" % got[:300])
            got += received
        return got


validators = {}


def complaint(operation, status, kind, body):
    """Describes the error in an answer; None: the answer is right."""
    if status >= 500:
        return "%d: %s" % (status, body[:300])
    described = operation["responses"].get(str(status))
    if not described and status >= 400:
        described = PROBLEM
    if not described:
        return "status %d is not described: %s" % (status, body[:300])
    content = described.get("content", {})
    if not body:
        return None
    if kind not in content:
        return "content type %r of status %d is not described" % (kind, status)
    if not kind.endswith("json"):
        return None
    schema = content[kind]["schema"]
    if id(schema) not in validators:
        validators[id(schema)] = answers_fit.validator(schema)
    for e in validators[id(schema)].iter_errors(json.loads(body)):
        return "status %d, %s: %s" % (status, e.json_path, e.message)
    return None


def main():
    print("# seed %d" % seed)
    operations = [(m, p, o) for p, item in description["paths"].items() for m, o in item.items() if (m, p) not in NOT_ASKED]
    turns = [o for o in operations for _ in range(n_requests * 3 // 5 if o[:2] in SELDOM_ASKED else n_requests)]
    rng.shuffle(turns)
    wrong, seen, client = {}, {}, Client()
    for method, path, operation in turns:
        question = request(method, path, operation)
        try:
            status, kind, body = client.answer(question)
            why = complaint(operation, status, kind, body)
        except (OSError, ValueError) as e:
            status, why = 0, repr(e)
        seen.setdefault((method, path), set()).add(status)
        if why:
            wrong.setdefault((method, path, why[:60]), (why, question))
    for (method, path, _), (why, question) in wrong.items():
        print("# %s %s: %s\n#   %r" % (method.upper(), path, why, question[:300]))
    for (method, path), statuses in sorted(seen.items()):
        print("# %s %s: %s" % (method.upper(), path, " ".join(str(s) for s in sorted(statuses))))
    print("# %d requests, %d kinds of wrong answers" % (len(turns), len(wrong)))
    # A test of refusals alone would prove little. Not possible here: the host is in no cluster, has no RDMA, and no worker
    # that mounts.
    never = ("/v1/cluster", "/v1/rdma-pings")
    possible = [
        statuses for (method, path), statuses in seen.items()
        if not path.startswith(never) and (path != "/v1/mounts" or method == "get")
    ]
    done = sum(1 for statuses in possible if any(200 <= s < 300 for s in statuses))
    if done < len(possible) * 2 // 3:
        print("# only %d of %d operations succeeded once" % (done, len(possible)))
        return 1
    return 1 if wrong else 0


sys.exit(main())
