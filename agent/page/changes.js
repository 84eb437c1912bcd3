/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page's section of changes: shows the plan of an apply and the lines of the configuration that it
 * changes, applies it with a confirmation, and keeps or rolls back the apply that waits. The agent decides
 * what a client may do; the page shows only the buttons of the client's role. plenum.js calls
 * changesBegin() once, changesTake() with each status, and changesLost() when no status arrives.
 */
"use strict";

const CONFIRM_S = 60;
const DECIDE_LIMIT_MS = 60000; // a confirmation asks the peers first, a rollback restarts workers
const DIFF_CONTEXT = 3; // common lines that are shown before and after a change
const DIFF_CELLS = 4000000; // bounds the memory of a comparison

let role = null; // null: the agent has to be asked
let plan = null; // the plan that is shown
let planOf = null; // of which state of the agent it is; null: ask for it
let planAsked = false;
let applying = false;
let deciding = false;
let pending = null; // the apply that waits: number, by, and the end of its time
let decided = null; // number of the apply that this page kept or rolled back

const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

// ---- requests ----

async function problemOf(answer) {
	const nothing = { code: "", detail: `the agent answered ${answer.status} ${answer.statusText}`, details: [] };
	return { status: answer.status, ...nothing, ...(await answer.json().catch(() => ({}))) };
}

function post(path, body, options) {
	return request(path, { method: "POST", ...options, headers: { "Content-Type": "application/json", ...options.headers }, body: JSON.stringify(body) });
}

async function takeRole() {
	role ??= (await ask("/v1")).role;
}

const mayApply = () => role === "admin";
const mayDecide = () => role === "admin" || role === "operate";

// ---- the outcome: screen readers speak what is written here ----

function say(text, kind, details) {
	byId("outcome").replaceChildren(make("p", { class: kind }, text), ...(details?.length ? [make("ul", {}, ...details.map((d) => make("li", {}, d)))] : []));
}

function sayProblem(what, p) {
	if (p.status === 403) role = null; // the rights of the client have changed
	const known = {
		changed: "the configuration has changed since this plan was made. Look at the new plan, then apply again",
		waiting: `another apply waits for its confirmation: ${p.detail}`,
	}[p.code];
	say(`${what}: ${sentence(known ?? p.detail)}`, "bad", p.details);
}

// Reads the outcome of an apply from the history, and waits for it if necessary. Without a number: of the latest apply.
async function sayRecorded(number) {
	for (let left = 120; left > 0; left--) {
		if (number && (applying || pending)) return; // the texts of a later apply are shown
		const { history } = await ask("/v1/history").catch(() => ({ history: [] }));
		const e = number ? history.find((one) => one.number === number) : history[0];
		const why = e?.text ? `: ${sentence(e.text)}` : ".";
		if (e?.outcome === "applied") return say(`Apply ${e.number} is kept.`, "good");
		if (e?.outcome === "rolled back") return say(`Apply ${e.number} was rolled back${why} The host is as before.`, "warn");
		if (e?.outcome === "failed") return say(`Apply ${e.number} failed${why}`, "bad");
		if (e?.outcome === "unknown") return say(`The outcome of apply ${e.number} is unknown${why}`, "bad");
		if (e?.outcome === "waits" && !number) return; // its own text is shown
		await sleep(PERIOD_MS);
	}
	say("The page has not learned the outcome; the events below, or 'plenum history' on the host, show it.", "warn");
}

// ---- lines that differ ----

function commonLengths(a, b) {
	const width = b.length + 1;
	const lengths = new Uint32Array((a.length + 1) * width);
	for (let i = a.length - 1; i >= 0; i--)
		for (let j = b.length - 1; j >= 0; j--)
			lengths[i * width + j] = a[i] === b[j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
	return (i, j) => lengths[i * width + j];
}

// The lines of both texts as [sign, line]; null: the texts are too long.
function compareLines(a, b) {
	if ((a.length + 1) * (b.length + 1) > DIFF_CELLS) return null;
	const length = commonLengths(a, b);
	const lines = [];
	for (let i = 0, j = 0; i < a.length || j < b.length;) {
		if (i < a.length && j < b.length && a[i] === b[j]) {
			lines.push([" ", a[i++]]);
			j++;
		} else if (j === b.length || (i < a.length && length(i + 1, j) >= length(i, j + 1))) {
			lines.push(["-", a[i++]]);
		} else {
			lines.push(["+", b[j++]]);
		}
	}
	return lines;
}

function showDifference(running, staged) {
	const lines = compareLines(running.split("\n"), staged.split("\n"));
	const place = byId("difference");
	byId("difference-part").hidden = running === staged;
	if (!lines) return place.replaceChildren("The configurations are too long for a comparison; 'plenum diff' compares them.");
	const near = (at) => lines.slice(Math.max(0, at - DIFF_CONTEXT), at + DIFF_CONTEXT + 1).some(([sign]) => sign !== " ");
	const shown = [];
	let gap = false;
	lines.forEach(([sign, text], at) => {
		if (near(at)) shown.push(make("span", { class: { "+": "good", "-": "bad" }[sign] }, `${gap ? "...\n" : ""}${sign} ${text}\n`));
		gap = !near(at);
	});
	place.replaceChildren(...shown);
}

// ---- the plan ----

function showSummary(status, differs) {
	const all = [...plan.steps, ...plan.actions];
	const disruptive = all.filter((s) => s.disruptive).length;
	const where = status.staged ? "Changes are staged." : differs ? "The configuration files differ from the running configuration." : "";
	const what = all.length ? `An apply makes ${plural(plan.steps.length, "step")} on the network and ${plural(plan.actions.length, "action")} on workers, mounts and exports; ${disruptive} may interrupt traffic.`
		: differs || status.staged ? "An apply changes nothing on the host." : "Nothing to apply: the host matches its configuration.";
	byId("plan-summary").textContent = `${where} ${what}`.trim();
	byId("plan-authors").replaceChildren(...status.staged_by.map((a) => make("li", {}, `${plural(a.changes, "change")} staged by ${a.by}, ${a.time}`)));
	byId("plan-warnings").replaceChildren(...plan.warnings.map((w) => make("li", { class: "warn" }, w)));
}

function showOperations() {
	const rows = [...plan.steps, ...plan.actions];
	byId("plan").hidden = !rows.length;
	table("plan", [
		["Leg", (s) => s.leg],
		["Operation", (s) => s.step ?? s.action, "text"],
		["Effect", (s) => (s.disruptive ? word("may interrupt traffic", "warn") : "")],
		["Reason", (s) => s.reason, "text"],
	], rows, "");
}

async function askPlan(status) {
	const answers = await Promise.all(["/v1/plan", "/v1/config/running", "/v1/config/staged"].map((path) => request(path, {})));
	if (!answers[0].ok) throw await problemOf(answers[0]);
	const [running, staged] = await Promise.all(answers.slice(1).map((a) => (a.ok ? a.text() : "")));
	plan = await answers[0].json();
	plan.empty = !plan.steps.length && !plan.actions.length && running === staged && !status.staged;
	showSummary(status, running !== staged);
	showDifference(running, staged);
	showOperations();
}

async function takePlan(status) {
	const of = JSON.stringify([status.staged, status.staged_by, status.applied.number, status.notes]);
	if (of === planOf || planAsked || applying || pending) return;
	planAsked = true;
	try {
		await askPlan(status);
		planOf = of;
	} catch (e) {
		plan = null;
		byId("plan-summary").textContent = `There is no plan: ${sentence(e.detail ?? e.message)}`;
		byId("plan-warnings").replaceChildren(...(e.details ?? []).map((d) => make("li", { class: "bad" }, d)));
		byId("plan-authors").replaceChildren();
		byId("plan").hidden = byId("difference-part").hidden = true;
		planOf = e.code ? of : null; // without an answer of the agent, ask again
	}
	planAsked = false;
	showChanges();
}

// ---- what is shown ----

function showRights() {
	const texts = {
		admin: "",
		operate: "With the role operate this page keeps or rolls back an apply that waits. To apply, use a token with the role admin.",
	};
	byId("rights").textContent = role === null ? "" : texts[role] ?? "This connection only reads. To apply here, forward plenumd-admin.sock by ssh, or use a token with the role admin.";
	byId("rights").hidden = !byId("rights").textContent;
}

function showCountdown() {
	if (!pending) return;
	const left = Math.max(0, Math.ceil((pending.until - performance.now()) / 1000));
	byId("left").textContent = left ? `The agent rolls the apply back in ${left} s unless you keep it.` : "The time is over: the agent rolls the apply back.";
	for (const id of ["keep", "roll-back"]) byId(id).disabled = deciding || !left || pending.lost;
	if (!left && !pending.over) say(`The time of apply ${pending.number} is over: the agent rolls the apply back.`, "warn");
	pending.over ||= !left;
}

function showChanges() {
	showRights();
	byId("pending").hidden = !pending;
	byId("plan-part").hidden = Boolean(pending);
	byId("apply").hidden = !mayApply() || !plan || plan.empty;
	byId("apply").disabled = applying;
	byId("decide").hidden = !mayDecide();
	if (pending) byId("pending-text").textContent = `Apply ${pending.number} of ${pending.by} waits for its confirmation.`;
	showCountdown();
}

// ---- apply ----

// Asks whether to apply, in a dialog of the page. False: the user has cancelled.
function askSure(title, lines) {
	const dialog = byId("sure");
	byId("sure-title").textContent = title;
	byId("sure-lines").replaceChildren(...lines.map((line) => make("li", {}, line)));
	dialog.returnValue = "";
	dialog.showModal();
	return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}

function sayLostApply() {
	say(`The page has lost the host during the apply, and connects again. If the change has cut this connection, the agent rolls back by itself, at the latest when the ${CONFIRM_S} s for the confirmation are over.`, "bad");
}

function sayApplied(o) {
	if (o.status !== 200) return sayProblem("The change was not applied", { details: [], ...o.answer, status: o.status });
	if (o.answer.confirm_s > 0) return; // the text of the apply that waits is shown
	say(`Applied: ${plural(o.answer.applied.steps, "step")}. Nothing has to be confirmed.`, "good", o.answer.warnings);
}

// Follows the apply until it ends or waits for its confirmation. A restart of the agent discards the operation.
async function follow(path) {
	for (let lost = false; ; await sleep(PERIOD_MS)) {
		const answer = await request(path, {}).catch(() => null);
		if (!answer && !lost) sayLostApply();
		lost ||= !answer;
		if (!answer) continue;
		if (answer.status === 404) return sayRecorded(null);
		if (!answer.ok) return sayProblem("The outcome of the apply is unknown", await problemOf(answer));
		const o = await answer.json();
		if (o.state === "ended") return sayApplied(o);
	}
}

// After a lost request: finds out in the history whether the agent has begun an apply since number `newest`.
async function sayAfterLoss(newest) {
	for (;;) {
		await sleep(PERIOD_MS);
		const list = await ask("/v1/history").catch(() => null);
		if (!list) continue;
		if ((list.history[0]?.number ?? 0) > newest) return sayRecorded(null);
		return say("The page has found the host again. The agent has not begun an apply.", "warn");
	}
}

async function apply(force) {
	let newest = null;
	applying = true;
	say("The agent applies the change.", "");
	showChanges();
	try {
		newest = (await ask("/v1/history")).history[0]?.number ?? 0;
		const answer = await post("/v1/apply", { confirm: CONFIRM_S, ...(force.length && { force }) }, { headers: { "If-Match": `"${plan.version}"`, Prefer: "respond-async" } });
		const p = answer.ok ? null : await problemOf(answer);
		if (!p) await follow(answer.headers.get("Location"));
		else if (p.code !== "staged-by-others") sayProblem("The change was not applied", p);
		else if (await askSure("Other users have staged changes, which this apply includes. Apply them too?", p.details)) return await apply(["others"]);
		else say("Nothing was applied: other users have staged changes.", "warn");
	} catch {
		if (newest === null) {
			say("The agent does not answer. Nothing was applied.", "bad");
		} else {
			sayLostApply();
			await sayAfterLoss(newest);
		}
	}
	applying = false;
	planOf = null;
	showChanges();
}

async function clickApply() {
	const all = [...plan.steps, ...plan.actions];
	const disruptive = all.filter((s) => s.disruptive).map((s) => `${s.step ?? s.action}: may interrupt traffic`);
	const lines = [`${plural(all.length, "operation")} in all.`, ...disruptive, `Without your confirmation the agent rolls the change back after ${CONFIRM_S} s.`];
	if (await askSure("Apply this plan to the host?", lines)) await apply([]);
}

// ---- keep or roll back ----

async function decide(keep) {
	const number = pending.number;
	deciding = true;
	say(keep ? "The agent checks the peers and keeps the apply." : "The agent rolls the apply back.", "");
	showChanges();
	try {
		const answer = keep ? await post("/v1/confirm", { number }, { limit: DECIDE_LIMIT_MS }) : await post("/v1/rollback", { to: number }, { limit: DECIDE_LIMIT_MS });
		if (!answer.ok) {
			sayProblem(keep ? `Apply ${number} is not kept` : `Apply ${number} is not rolled back`, await problemOf(answer));
		} else {
			const { notes } = await answer.json();
			decided = number;
			pending = null;
			if (keep) say(`Apply ${number} is kept.`, "good", notes);
			else await sayRecorded(number); // another user may have kept it just before
		}
	} catch {
		say(`The agent did not answer. It rolls apply ${number} back by itself when the time is over${keep ? ", unless your confirmation has arrived" : ""}.`, "bad");
	}
	deciding = false;
	planOf = null;
	showChanges();
}

// ---- called by plenum.js ----

function changesTake(status) {
	const c = status.confirm?.number === decided ? null : status.confirm;
	const before = pending;
	if (c) {
		if (before?.number !== c.number) {
			say(`Apply ${c.number} waits for its confirmation: without a confirmation, the agent rolls the apply back in ${c.left_s} s.`, "warn");
			planOf = null;
		} else if (before.lost) {
			say(`The page has found the host again. Apply ${c.number} still waits for its confirmation.`, "warn");
		}
		pending = { number: c.number, by: c.by, until: performance.now() + c.left_s * 1000, over: c.left_s === 0 };
	} else if (before && !deciding) {
		pending = null;
		planOf = null;
		if (before.number !== decided) sayRecorded(before.number);
	}
	showChanges();
	takePlan(status);
	takeRole().then(showChanges, () => {});
}

function changesLost() {
	if (!pending || pending.lost) return;
	pending.lost = true;
	say(`The page has lost the host, and connects again. The agent rolls apply ${pending.number} back by itself when the time is over, unless it is kept.`, "bad");
	showCountdown();
}

function changesBegin() {
	const dialog = byId("sure");
	byId("sure-yes").addEventListener("click", () => dialog.close("yes"));
	byId("sure-no").addEventListener("click", () => dialog.close(""));
	byId("apply").addEventListener("click", clickApply);
	byId("keep").addEventListener("click", () => decide(true));
	byId("roll-back").addEventListener("click", () => decide(false));
	byId("again").addEventListener("click", () => {
		planOf = null;
		byId("plan-summary").textContent = "The agent makes the plan.";
	});
	setInterval(showCountdown, 500);
}
