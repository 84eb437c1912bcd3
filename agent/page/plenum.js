/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of one host: it asks for the status and the processes once a second while it is visible,
 * and receives events as a stream. Plots are in plots.js, changes in changes.js, the doctor in
 * doctor.js, the lists of all hosts in cluster.js. Every text of the agent becomes a text node, never markup.
 */
"use strict";

const PERIOD_MS = 1000;
const READ_LIMIT_MS = 10000;
const STREAM_LIMIT_MS = 40000; // an idle stream has a comment every 15 s
const SAMPLES_MS = 60000; // after this time without an answer, the samples of the agent fill the gap
const EVENTS_KEPT = 500;
const SEVERITIES = ["error", "warning", "notice", "info"];
const events = [];
let last = null; // the last status, with the time of its arrival

const byId = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
	const e = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
	for (const [name, value] of Object.entries(attributes ?? {}))
		if (value !== undefined && value !== null) e.setAttribute(name, value);
	e.append(...children.filter((c) => c !== null && c !== undefined));
	return e;
}

function rate(bytes) {
	const units = ["B/s", "kB/s", "MB/s", "GB/s"];
	let n = bytes;
	let u = 0;
	while (n >= 1000 && u < units.length - 1) {
		n /= 1000;
		u++;
	}
	return `${n >= 100 || u === 0 ? Math.round(n) : n.toFixed(1)} ${units[u]}`;
}

function time(seconds) {
	const s = Math.round(seconds);
	if (s < 120) return `${s} s`;
	if (s < 7200) return `${Math.floor(s / 60)} min`;
	return s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
}

// ---- tables ----

// columns: [title, row => text or node, class of the cell]
function table(id, columns, rows, none) {
	const place = byId(id);
	if (!rows.length) return place.replaceChildren(make("p", { class: "empty" }, none));
	const head = make("tr", {}, ...columns.map(([title]) => make("th", { scope: "col" }, title)));
	const body = rows.map((row) => make("tr", {}, ...columns.map(([, value, kind]) => make("td", { class: kind }, value(row) ?? ""))));
	place.replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

const word = (text, kind) => make("span", { class: kind }, text);

function pathKind(p) {
	if (!p.up) return p.state === "joining" ? "unknown" : "bad";
	return p.standby ? "spare" : "good";
}

function pathWord(p) {
	const kind = pathKind(p);
	return word(kind === "spare" ? "standby" : kind === "good" ? "in use" : p.state || kind, kind);
}

const legKind = (leg) => ({ usable: "good", degraded: "warn", disabled: "unknown" })[leg.state] ?? "bad";

function processKind(p) {
	return { UP: "good", STARTING: "unknown", DEGRADED: "warn" }[p.status] ?? "bad";
}

function loss(p) {
	const both = [p.loss_to_percent, p.loss_from_percent];
	return both.every((v) => v === null) ? "unknown" : both.map((v) => (v === null ? "?" : `${v.toFixed(v < 10 ? 1 : 0)} %`)).join(" / ");
}

const roundTrip = (p) => (p.rtt_age_s === null || p.rtt_age_s > 10 ? "" : `${Math.round(p.srtt_us)} us`);

const microseconds = (us) => `${Math.round(us)} us`;
const milliseconds = (ms) => `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;
const percent = (share) => `${share.toFixed(1)} %`;
const peerName = (p) => p.peer || p.remote;

// Median and 99th percentile in ms of the last seconds; "-": no such requests.
function latency(object, name) {
	const l = object.latency.find((one) => one.class === name);
	const ms = (us) => (us / 1000).toFixed(us < 100 ? 3 : us < 10000 ? 2 : us < 100000 ? 1 : 0);
	return l ? `${ms(l.median_us)} / ${ms(l.p99_us)}` : "-";
}

const latencyColumns = [
	["Read ms, median / p99", (o) => latency(o, "read"), "number"],
	["Write ms", (o) => latency(o, "write"), "number"],
	["Sync ms", (o) => latency(o, "sync"), "number"],
	["Metadata ms", (o) => latency(o, "metadata"), "number"],
];

function showTables(status, processes) {
	table("legs", [
		["Leg", (l) => l.name],
		["Interface", (l) => l.ifname || l.device],
		["Label", (l) => l.label],
		["Switch", (l) => [l.switch, l.switch_port].filter(Boolean).join(" ")],
		["State", (l) => word(l.state, legKind(l))],
		["Addresses", (l) => l.ips.join(", ")],
		["MTU", (l) => String(l.mtu), "number"],
		["Sent and received", (l) => plot(`traffic of leg ${l.name}`, rate)],
		["Round trip", (l) => plot(`rtt of leg ${l.name}`, microseconds)],
		["Loss", (l) => plot(`loss of leg ${l.name}`, percent)],
		["Reason", (l) => l.reason, "text"],
	], status.legs, "The configuration has no legs.");
	table("workers", [
		["ID", (p) => p.id],
		["Role", (p) => p.role],
		["Status", (p) => word(p.status, processKind(p))],
		["Transport", (p) => p.network],
		["Core", (p) => (p.core === null ? "" : String(p.core)), "number"],
		["Addresses", (p) => p.ips.join(", ")],
		["Memory", (p) => `${Math.round(p.memory_bytes / 1e6)} MB`, "number"],
		["Up for", (p) => time(p.uptime_s), "number"],
		["Restarts", (p) => String(p.restarts), "number"],
		["File data", (p) => plot(`data ${p.id}`, rate)],
		["Reason", (p) => p.reason || (p.note && `(${p.note})`), "text"],
	], processes, "No worker is configured.");
	table("mounts", [
		["Mount point", (m) => m.path],
		["Server", (m) => m.peer],
		["Export", (m) => m.export],
		["State", (m) => word(m.served ? "served" : "not served", m.served ? "good" : "bad")],
		["Served by", (m) => m.by],
		["Worker", (m) => [m.worker, ...m.lanes].join(", "), "number"],
		...latencyColumns,
		["Sent and received", (m) => plot(`traffic of mount ${m.path}`, rate)],
		["Slowest 1 % of requests", (m) => plot(`p99 of mount ${m.path}`, milliseconds)],
		["Loss", (m) => plot(`loss of mount ${m.path}`, percent)],
	], status.mounts, "This host mounts nothing.");
	table("exports", [
		["Export", (e) => e.name],
		["Folder", (e) => e.path],
		["Worker", (e) => e.workers.join(", "), "number"],
		...latencyColumns,
		["Sent and received", (e) => plot(`traffic of export ${e.name}`, rate)],
		["Slowest 1 % of requests", (e) => plot(`p99 of export ${e.name}`, milliseconds)],
	], status.exports, "This host exports nothing.");
	table("peers", [
		["Peer", ([peer]) => peer],
		["Paths", ([, paths]) => word(`${paths.filter((p) => p.up).length} of ${paths.length} up`, best(paths.map(pathKind)))],
		["Legs", ([, paths]) => [...new Set(paths.map((p) => p.leg))].join(", ")],
		["Sent and received", ([peer]) => plot(`traffic of peer ${peer}`, rate)],
		["Round trip", ([peer]) => plot(`rtt of peer ${peer}`, microseconds)],
		["Loss", ([peer]) => plot(`loss of peer ${peer}`, percent)],
	], [...grouped(status.paths, peerName)], "No worker has a path to a peer yet.");
	table("paths", [
		["Peer", (p) => p.peer],
		["Leg", (p) => p.leg],
		["Worker", (p) => String(p.worker), "number"],
		["From", (p) => p.local],
		["To", (p) => p.remote],
		["State", pathWord],
		["Round trip", roundTrip, "number"],
		["Loss to / from", loss, "number"],
		["Sent and received", (p) => plot(`path ${pathName(p)}`, rate)],
		["Reason", (p) => p.reason, "text"],
	], status.paths, "No worker has a path to a peer yet.");
}

// ---- health ----

function showHealth(status) {
	const items = [];
	for (const reason of status.reasons) items.push(make("li", { class: "bad" }, make("span", {}, reason)));
	for (const need of status.needs)
		items.push(make("li", { class: "warn" }, make("span", {}, `${need.why} `), ...need.commands.map((c) => make("code", {}, c))));
	if (status.confirm)
		items.push(make("li", { class: "warn" }, make("span", {}, `apply ${status.confirm.number} of ${status.confirm.by} is rolled back in ${status.confirm.left_s} s unless it is confirmed: `),
			make("code", {}, "plenum confirm")));
	for (const note of status.notes) items.push(make("li", { class: "note" }, make("span", {}, note)));
	const fine = status.state === "running" && !status.reasons.length && !status.needs.length;
	byId("health").replaceChildren(fine ? make("p", { class: "good" }, "The agent reports no problem.") : "", make("ul", {}, ...items));
	byId("host").textContent = status.host;
	byId("state").textContent = status.state;
	byId("state").className = `badge ${status.state === "running" ? (status.reasons.length ? "warn" : "good") : "bad"}`;
	byId("summary").textContent = `${status.workers.up} of ${status.workers.total} workers up; version ${status.version}`;
	document.title = `${status.host}: ${status.state} - Plenum`;
}

// ---- picture ----

const BOX = { width: 170, height: 40, gap: 14 };

function column(nodes, x, height) {
	const all = nodes.length * (BOX.height + BOX.gap) - BOX.gap;
	let y = (height - all) / 2;
	return new Map(nodes.map((n) => {
		const place = { ...n, x, y };
		y += BOX.height + BOX.gap;
		return [n.key, place];
	}));
}

function box(n) {
	return make("svg:g", { class: n.kind }, make("svg:title", {}, n.title),
		make("svg:rect", { class: "box", x: n.x, y: n.y, width: BOX.width, height: BOX.height, rx: 6 }),
		make("svg:text", { x: n.x + 10, y: n.y + 17 }, n.name), make("svg:text", { class: "dim", x: n.x + 10, y: n.y + 32 }, n.detail));
}

function edge(a, b, kind) {
	const [x1, y1, x2, y2] = [a.x + BOX.width, a.y + BOX.height / 2, b.x, b.y + BOX.height / 2];
	const middle = (x1 + x2) / 2;
	return make("svg:path", { class: `edge ${kind}`, d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` });
}

// The best of several paths is what traffic can use.
function best(kinds) {
	return ["good", "spare", "unknown", "bad"].find((k) => kinds.includes(k)) ?? "unknown";
}

function grouped(list, key) {
	const groups = new Map();
	for (const x of list) groups.set(key(x), [...(groups.get(key(x)) ?? []), x]);
	return groups;
}

function showPicture(status, processes) {
	const peers = [...grouped(status.paths, peerName)];
	const workers = processes.filter((p) => p.role !== "MANAGEMENT");
	const most = Math.max(workers.length, status.legs.length, peers.length, 1);
	const [width, height] = [760, most * (BOX.height + BOX.gap) + 10];
	const left = column(workers.map((p) => ({ key: Number(p.id.split("/").pop()), name: p.id, detail: `${p.role} ${p.network}`, kind: processKind(p), title: `${p.id}: ${p.status} ${p.reason}` })), 5, height);
	const middle = column(status.legs.map((l) => ({ key: l.name, name: l.name, detail: [l.ifname || l.device, l.switch || l.label].filter(Boolean).join(", "), kind: legKind(l), title: `${l.name}: ${l.state} ${l.reason}` })), 295, height);
	const right = column(peers.map(([name, paths]) => ({ key: name, name, detail: `${paths.filter((p) => p.up).length} of ${paths.length} paths up`, kind: best(paths.map(pathKind)), title: name })), 585, height);
	const edges = [];
	for (const [key, paths] of grouped(status.paths, (p) => `${p.worker} ${p.leg}`)) {
		const [worker, leg] = [left.get(Number(key.split(" ")[0])), middle.get(paths[0].leg)];
		if (worker && leg) edges.push(edge(worker, leg, best(paths.map(pathKind))));
	}
	for (const [, paths] of grouped(status.paths, (p) => `${p.leg} ${peerName(p)}`)) {
		const [leg, peer] = [middle.get(paths[0].leg), right.get(peerName(paths[0]))];
		if (leg && peer) edges.push(edge(leg, peer, best(paths.map(pathKind))));
	}
	const text = `${workers.length} workers, ${status.legs.length} legs, ${peers.length} peers; the tables below have the details`;
	byId("picture").replaceChildren(make("svg:svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": text },
		...edges, ...[...left.values(), ...middle.values(), ...right.values()].map(box)));
}

// ---- rates ----

const pathName = (p) => `${p.worker} ${p.leg} ${p.local} ${p.remote}`;

function difference(now, before, names, seconds) {
	if (!before) return null;
	const sum = names.reduce((n, name) => n + now[name] - before[name], 0);
	return sum < 0 ? null : sum / seconds; // counters begin again with a new worker
}

// Traffic, shortest round trip and largest loss of some paths.
function measurePaths(name, paths) {
	const known = paths.map((p) => lastOf(`path ${pathName(p)}`)).filter((v) => v !== null);
	const trips = paths.filter((p) => p.up && p.rtt_age_s !== null && p.rtt_age_s <= 10).map((p) => p.srtt_us);
	const losses = paths.flatMap((p) => [p.loss_to_percent, p.loss_from_percent]).filter((v) => v !== null);
	remember(`traffic of ${name}`, known.length ? known.reduce((a, b) => a + b, 0) : null);
	remember(`rtt of ${name}`, trips.length ? Math.min(...trips) : null);
	remember(`loss of ${name}`, losses.length ? Math.max(...losses) : null);
}

// The 99th percentile of the slowest class of requests.
function measureLatency(name, object) {
	remember(`p99 of ${name}`, object.latency.length ? Math.max(...object.latency.map((l) => l.p99_us)) / 1000 : null);
}

function measureRates(status, processes, seconds) {
	const before = new Map(last.status.paths.map((p) => [pathName(p), p]));
	const dataBefore = new Map(last.status.traffic.map((t) => [t.worker, t]));
	for (const p of status.paths)
		remember(`path ${pathName(p)}`, difference(p, before.get(pathName(p)), ["tx_bytes", "rx_bytes", "rdma_read_bytes", "rdma_write_bytes"], seconds));
	for (const t of status.traffic) {
		const id = processes.find((p) => Number(p.id.split("/").pop()) === t.worker)?.id;
		if (id) remember(`data ${id}`, difference(t, dataBefore.get(t.worker), ["read_bytes", "write_bytes"], seconds));
	}
}

function measure(status, processes, at) {
	if (last) measureRates(status, processes, (at - last.at) / 1000);
	for (const leg of status.legs) measurePaths(`leg ${leg.name}`, status.paths.filter((p) => p.leg === leg.name));
	for (const [peer, paths] of grouped(status.paths, peerName)) measurePaths(`peer ${peer}`, paths);
	for (const m of status.mounts) {
		measurePaths(`mount ${m.path}`, status.paths.filter((p) => p.mount === m.path));
		measureLatency(`mount ${m.path}`, m);
	}
	for (const e of status.exports) {
		measurePaths(`export ${e.name}`, status.paths.filter((p) => p.export === e.name));
		measureLatency(`export ${e.name}`, e);
	}
	last = { status, at };
}

// ---- events ----

function showEvents() {
	const worst = Number(byId("severity").value);
	const text = byId("filter").value.toLowerCase();
	const rows = events.filter((e) => SEVERITIES.indexOf(e.severity) <= worst && `${e.source} ${e.text}`.toLowerCase().includes(text));
	table("events", [
		["Time", (e) => e.time],
		["Severity", (e) => word(e.severity, { error: "bad", warning: "warn" }[e.severity] ?? "")],
		["Source", (e) => e.source],
		["Event", (e) => e.text, "text"],
	], rows.slice(-200).reverse(), "No event matches.");
}

function takeEvent(message) {
	const e = JSON.parse(message.data);
	if (events.some((other) => other.seq === e.seq && other.time === e.time)) return;
	events.push(e);
	if (events.length > EVENTS_KEPT) events.shift();
	doctorEvent(e);
	showEvents();
}

function takeGap(message) {
	const gap = JSON.parse(message.data);
	events.push({ seq: gap.from, time: "", severity: "notice", source: "page", text: `events ${gap.from} to ${gap.next - 1} were missed` });
	showEvents();
}

// Reads a stream of server-sent events until it ends. EventSource cannot send a token.
async function readStream(path, headers, take) {
	const silent = new AbortController();
	let timer = setTimeout(() => silent.abort(), STREAM_LIMIT_MS);
	const answer = await request(path, { headers: { Accept: "text/event-stream", ...headers }, signal: silent.signal });
	if (!answer.ok) throw new Error(`${path}: ${answer.status} ${answer.statusText}`);
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	let text = "";
	for (;;) {
		const { value, done } = await reader.read();
		clearTimeout(timer);
		if (done) return;
		timer = setTimeout(() => silent.abort(), STREAM_LIMIT_MS);
		const messages = (text + value).split("\n\n");
		text = messages.pop();
		for (const message of messages)
			take(Object.fromEntries(message.split("\n").map((line) => [line.split(":", 1)[0], line.slice(line.indexOf(":") + 1).trim()])));
	}
}

async function openEvents() {
	const first = await ask("/v1/events?limit=200");
	events.push(...first.events);
	showEvents();
	const headers = {};
	const take = (message) => {
		if (message.id) headers["Last-Event-ID"] = message.id;
		if (message.data) (message.event === "gap" ? takeGap : takeEvent)(message);
	};
	for (;;) {
		await readStream(`/v1/events?since=${first.next}&instance=${first.instance}`, headers, take).catch(() => {});
		await sleep(PERIOD_MS);
	}
}

// ---- access: over the network the agent wants a token with each request ----

let token = sessionStorage.getItem("token"); // of this tab alone
let asking = null; // until the user has entered one

function askToken(why) {
	asking ??= new Promise((done) => {
		const form = byId("login");
		byId("login-why").textContent = why;
		form.hidden = false;
		form.onsubmit = (submission) => {
			submission.preventDefault();
			token = byId("token").value.replace(/[^!-~]/g, ""); // what a header can have
			sessionStorage.setItem("token", token);
			byId("token").value = "";
			form.hidden = true;
			asking = null;
			role = null; // that of the new token
			done();
		};
		byId("token").focus();
	});
	return asking;
}

async function request(path, options) {
	for (;;) {
		const shown = token;
		const headers = { ...options.headers, ...(shown && { Authorization: `Bearer ${shown}` }) };
		const signal = options.signal ?? AbortSignal.timeout(options.limit ?? READ_LIMIT_MS); // a lost connection stays silent
		const answer = await fetch(path, { cache: "no-store", method: options.method, body: options.body, headers, signal });
		if (answer.status !== 401) return answer;
		if (shown === token) await askToken(shown ? "The agent does not accept this token." : "The agent wants a token: 'plenum token add' on the host makes one.");
	}
}

// ---- the loop ----

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function ask(path) {
	const answer = await request(path, {});
	if (!answer.ok) throw new Error(`${path}: ${answer.status} ${answer.statusText}`);
	return answer.json();
}

// The agent's values of the last hour, after the page was opened or hidden.
async function takeSamples() {
	const { step_s: step, age_s: age, samples } = await ask("/v1/samples");
	if (age === null) return;
	const end = Date.now() - age * 1000;
	for (const o of samples) {
		recall(`traffic of ${o.kind} ${o.name}`, o.bytes_per_s, step * 1000, end);
		recall(`rtt of ${o.kind} ${o.name}`, o.rtt_us, step * 1000, end);
		recall(`loss of ${o.kind} ${o.name}`, o.loss_percent, step * 1000, end);
		recall(`p99 of ${o.kind} ${o.name}`, o.p99_us.map((v) => (v === null ? null : v / 1000)), step * 1000, end);
	}
}

async function update() {
	try {
		if (!last || performance.now() - last.at > SAMPLES_MS) await takeSamples();
		const [status, processes] = await Promise.all([ask("/v1/status"), ask("/v1/processes")]);
		measure(status, processes.processes, performance.now());
		showHealth(status);
		showPicture(status, processes.processes);
		showTables(status, processes.processes);
		showPlotsSince();
		byId("stale").hidden = true;
		changesTake(status);
		doctorTake();
		clusterTake();
	} catch (e) {
		byId("stale").textContent = `The agent does not answer (${e.message}). What you see is from ${last ? time((performance.now() - last.at) / 1000) + " ago" : "before"}.`;
		byId("stale").hidden = false;
		byId("state").className = "badge unknown";
		changesLost();
	}
}

async function run() {
	byId("severity").addEventListener("change", showEvents);
	byId("filter").addEventListener("input", showEvents);
	changesBegin();
	doctorBegin();
	await takeRole().catch(() => {}); // one request alone finds out whether a token is needed
	openEvents().catch(() => showEvents());
	for (;;) {
		if (!document.hidden) await update();
		await sleep(PERIOD_MS);
	}
}

run();
