/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page's section of the cluster: this host's membership, and the hosts, processes, legs and
 * exports of all hosts, from the summaries in etcd. Hidden on a host without a cluster. While etcd
 * does not answer, the last rows stay, and no row says that anything works. plenum.js calls
 * clusterTake() with each status.
 */
"use strict";

const CLUSTER_PERIOD_MS = 15000; // a host writes its summary once a minute, at most every 10 s
const CLUSTER_READ = 1000; // rows of a list that the page asks for
const CLUSTER_SHOWN = 200; // rows of a list that the page shows, the worst first
const CLUSTER_LISTS = ["hosts", "processes", "net", "exports"];
const CLUSTER_GOOD = ["running", "UP", "usable", "served"];
const CLUSTER_BAD = ["down", "disabled", "DOWN", "FAILED"];

let clusterAsked = -CLUSTER_PERIOD_MS;
let clusterAsks = false;
let clusterLists = {}; // the last rows of each list, with `more`: not all were read
let clusterRead = null; // when these were read; null: not yet
let clusterHosts = new Map(); // name of a host -> its row

function clusterKind(state) {
	if (CLUSTER_GOOD.includes(state)) return "good";
	if (state.toLowerCase() === "unknown") return "unknown";
	return CLUSTER_BAD.includes(state) ? "bad" : "warn";
}

// A state is known only while etcd answers.
function clusterState(state, away) {
	return away ? word(`unknown (was ${state})`, "unknown") : word(state, clusterKind(state));
}

// The age of a host's summary now. The agent's clock and the page's may differ, so the page adds only a duration.
function clusterAge(host) {
	const age = clusterHosts.get(host)?.age_s ?? null;
	return age === null ? "unknown" : time(age + (performance.now() - clusterRead) / 1000);
}

function clusterTable(name, away, state, columns, none) {
	const list = clusterLists[name] ?? { rows: [], more: false };
	const rank = { bad: 0, warn: 1, unknown: 2, good: 3 };
	const rows = [...list.rows].sort((a, b) => rank[clusterKind(state(a))] - rank[clusterKind(state(b))]);
	table(`cluster-${name}`, columns, rows.slice(0, CLUSTER_SHOWN), away && clusterRead === null ? "The list is not known." : none);
	const left = rows.length - CLUSTER_SHOWN;
	if (left > 0 || list.more)
		byId(`cluster-${name}`).append(make("p", { class: "empty" }, `${left > 0 ? `${left} further rows are not shown; those that are not well come first. ` : ""}${list.more ? `The cluster has more than ${CLUSTER_READ} rows. ` : ""}'plenum cluster ${name}' lists all.`));
}

function showClusterLists(away) {
	const aged = [["Host", (r) => r.host], ["Age", (r) => clusterAge(r.host), "number"]];
	clusterTable("hosts", away, (h) => h.state, [
		["Host", (h) => h.host],
		["State", (h) => clusterState(h.state, away)],
		["Age", (h) => clusterAge(h.host), "number"],
		["Workers", (h) => `${h.workers_up} of ${h.workers_total} up`],
		["Exports", (h) => String(h.exports), "number"],
		["Version", (h) => h.version],
		["Reasons", (h) => h.reasons.join(", "), "text"],
	], "No host has registered.");
	clusterTable("processes", away, (p) => p.status, [
		["ID", (p) => p.id],
		...aged,
		["Role", (p) => p.role],
		["Status", (p) => clusterState(p.status, away)],
		["Transport", (p) => p.network],
		["Addresses", (p) => p.ips.join(", ")],
		["Reason", (p) => p.reason || p.note, "text"],
	], "No host has written its processes.");
	clusterTable("net", away, (l) => l.state, [
		["Leg", (l) => l.name],
		...aged,
		["State", (l) => clusterState(l.state, away)],
		["Label", (l) => l.label],
		["Addresses", (l) => l.ips.join(", ")],
		["Reason", (l) => l.reason, "text"],
	], "No host has written its legs.");
	clusterTable("exports", away, (e) => e.state, [
		["Export", (e) => e.id],
		...aged,
		["State", (e) => clusterState(e.state, away)],
		["Folder", (e) => e.path],
		["Clients", (e) => (e.clients === null ? "unknown" : String(e.clients)), "number"],
		["Reason", (e) => e.reason, "text"],
	], "No host exports anything.");
}

// problem: why the lists cannot be read; null: they were read
function showCluster(membership, problem) {
	const { cluster, host, state, reason } = membership;
	byId("cluster").hidden = false;
	byId("cluster-member").replaceChildren(`Cluster ${cluster}: this host, ${host}, is `,
		word({ registered: "registered", connecting: "connecting to etcd", failing: "not connected" }[state] ?? state, state === "failing" ? "bad" : state === "registered" && !problem ? "good" : "warn"), reason ? `: ${sentence(reason)}` : ".");
	byId("cluster-away").hidden = !problem;
	byId("cluster-away").textContent = problem ? `The lists of all hosts cannot be read: ${sentence(problem)} ${clusterRead === null ? "" : `The rows below are ${time((performance.now() - clusterRead) / 1000)} old; later changes are not known.`}` : "";
	showClusterLists(Boolean(problem));
}

async function clusterList(name) {
	const answer = await request(`/v1/cluster/${name}?limit=${CLUSTER_READ}`, {});
	if (!answer.ok) throw await problemOf(answer);
	return { rows: (await answer.json())[name], more: answer.headers.has("Link") };
}

async function askCluster() {
	const answer = await request("/v1/cluster", {});
	if (answer.status === 404) {
		clusterLists = {};
		clusterRead = null;
		byId("cluster").hidden = true;
		return;
	}
	if (!answer.ok) throw await problemOf(answer);
	const membership = await answer.json();
	let problem = null;
	try {
		const lists = await Promise.all(CLUSTER_LISTS.map(clusterList));
		clusterLists = Object.fromEntries(CLUSTER_LISTS.map((name, i) => [name, lists[i]]));
		clusterHosts = new Map(clusterLists.hosts.rows.map((h) => [h.host, h]));
		clusterRead = performance.now();
	} catch (e) {
		problem = e.detail ?? "the agent has not answered in time";
	}
	showCluster(membership, problem);
}

// ---- called by plenum.js ----

function clusterTake() {
	if (clusterAsks || performance.now() - clusterAsked < CLUSTER_PERIOD_MS) return;
	clusterAsks = true;
	clusterAsked = performance.now();
	askCluster().catch(() => {}).finally(() => { // the page says itself that the agent does not answer
		clusterAsks = false;
	});
}
