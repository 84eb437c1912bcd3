/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page's section of the doctor: shows the latest report that the agent keeps, of
 * any client, and runs the doctor for clients that may. The run is an operation of the agent, so it ends
 * without the page too. plenum.js calls doctorBegin() once, doctorTake() with each
 * status and doctorEvent() with each event.
 */
"use strict";

const DOCTOR_ORDER = ["fail", "warn", "unknown", "note"];
const DOCTOR_KIND = { fail: "bad", warn: "warn", unknown: "unknown", note: "note" };
const DOCTOR_WORD = { fail: "failed", warn: "warning", unknown: "not known", note: "note" };

let doctorRuns = false; // this page follows a run
let doctorLooks = true; // the page has to ask the agent for its latest run
let reportShown = null; // the operation whose report is shown

function sayDoctor(text, kind) {
	byId("doctor-outcome").replaceChildren(...(text ? [make("p", { class: kind }, text)] : []));
}

// ---- the report ----

function finding(c) {
	const lines = [make("p", {}, word(DOCTOR_WORD[c.state] ?? c.state, DOCTOR_KIND[c.state] ?? "bad"), ` ${c.id}: ${sentence(c.evidence || c.title)}`)];
	if (c.remedy) lines.push(make("p", {}, "Remedy: ", make("code", {}, c.remedy)));
	if (c.because) lines.push(make("p", { class: "dim" }, `This follows from the finding of ${c.because}.`));
	return make("li", { class: DOCTOR_KIND[c.state] ?? "bad" }, ...lines);
}

// Worse findings first, and causes before what follows from them. An unknown state comes first.
function findingsOf(report) {
	const rank = (c) => 2 * DOCTOR_ORDER.indexOf(c.state) + (c.because ? 1 : 0);
	return report.checks.filter((c) => c.state !== "pass").sort((a, b) => rank(a) - rank(b));
}

function showReport(o) {
	const findings = findingsOf(o.answer);
	const passed = o.answer.checks.filter((c) => c.state === "pass");
	const counts = DOCTOR_ORDER.map((s) => [s, findings.filter((c) => c.state === s).length]).filter(([, n]) => n).map(([s, n]) => (s === "warn" || s === "note" ? plural(n, DOCTOR_WORD[s]) : `${n} ${DOCTOR_WORD[s]}`));
	byId("doctor-about").textContent = `Report of ${o.ended}, for ${o.by}: ${[...counts, `${passed.length} passed`].join(", ")}.`;
	byId("doctor-findings").replaceChildren(...findings.map(finding));
	byId("doctor-passed").hidden = !passed.length;
	byId("doctor-count").textContent = `${plural(passed.length, "check")} passed`;
	byId("doctor-rest").replaceChildren(...passed.map((c) => make("li", {}, `${c.id}: ${sentence(c.evidence || c.title)}`)));
	reportShown = o.id;
}

function showNoReport() {
	byId("doctor-about").textContent = `The doctor checks kernel, cores, memory, legs, routes, RDMA and peers. The agent has no report of it${mayDecide() ? "." : "; 'plenum doctor' on the host makes one for you."}`;
}

// A report, or the problem that the run ended with.
function takeEnded(o) {
	if (o.status === 200 && Array.isArray(o.answer?.checks)) {
		showReport(o);
		return sayDoctor("");
	}
	sayDoctor(`The doctor has made no report: ${sentence(o.answer?.detail ?? `status ${o.status}`)} ${(o.answer?.details ?? []).join(" ")}`, "bad");
}

// ---- runs ----

// Follows a run until it ends. A restart of the agent ends it without a report.
async function followDoctor(path) {
	sayDoctor("The doctor runs. This takes seconds, or up to two minutes if peers do not answer.", "");
	for (let lost = false; ; await sleep(PERIOD_MS)) {
		const answer = await request(path, {}).catch(() => null);
		if (!answer && !lost) sayDoctor("The page has lost the host while the doctor runs, and connects again.", "bad");
		lost ||= !answer;
		if (!answer) continue;
		if (answer.status === 404) return sayDoctor("The agent has restarted and has no report of this run. Run the doctor again.", "warn");
		if (!answer.ok) return sayDoctor(`The outcome of the doctor is unknown: ${sentence((await problemOf(answer)).detail)}`, "bad");
		const o = await answer.json();
		if (o.state === "ended") return takeEnded(o);
	}
}

async function runDoctor() {
	if (doctorRuns) return;
	doctorRuns = true;
	showDoctor();
	try {
		const answer = await request("/v1/doctor", { method: "POST", headers: { Prefer: "respond-async" } });
		if (answer.ok) await followDoctor(answer.headers.get("Location"));
		else sayDoctor(`The doctor was not started: ${sentence((await problemOf(answer)).detail)}`, "bad");
	} catch {
		sayDoctor("The agent does not answer. Whether the doctor was started is not known; its report appears here when the agent has one.", "bad");
	}
	doctorRuns = false;
	showDoctor();
}

// Looks for the latest run, also of another client, and shows its report or follows it.
async function lookForReport() {
	const { operations } = await ask("/v1/operations");
	const latest = operations.find((o) => o.request === "doctor");
	if (!latest && reportShown === null) showNoReport();
	if (!latest || latest.id === reportShown || doctorRuns) return;
	if (latest.state === "ended") return takeEnded(latest);
	doctorRuns = true;
	showDoctor();
	await followDoctor(`/v1/operations/${latest.id}`).finally(() => {
		doctorRuns = false;
		showDoctor();
	});
}

function showDoctor() {
	byId("doctor-run").hidden = !mayDecide();
	byId("doctor-run").disabled = doctorRuns;
}

// ---- called by plenum.js ----

function doctorTake() {
	showDoctor();
	if (doctorRuns || !doctorLooks) return;
	doctorLooks = false;
	lookForReport().catch(() => {
		doctorLooks = true;
	});
}

// Another client may have started the doctor.
function doctorEvent(e) {
	doctorLooks ||= /\bdoctor\b/.test(e.text);
}

function doctorBegin() {
	byId("doctor-run").addEventListener("click", runDoctor);
}
