/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page's plots: the last hour in steps of five seconds. A step has the largest value that this page
 * has seen in it, or else the agent's sample of that time; the agent keeps one each 30 seconds since
 * its start. plenum.js calls recall() with the samples, remember() with each value, and plot() to draw.
 */
"use strict";

const STEP_MS = 5000;
const STEPS = 720; // one hour
const SERIES_MAX = 1000; // 3 MB; the series that was not written for the longest time makes room
const PLOT = { width: 120, height: 24, columns: 120 };
const series = new Map(); // name of a value -> its values as a ring, NaN: not known
let plotsSince = Date.now(); // the time of the oldest value

const stepOf = (ms) => Math.floor(ms / STEP_MS);

// Moves the ring to the present. A clock that was set back continues in the newest step.
function advance(s, now) {
	for (let step = Math.max(s.step + 1, now - STEPS + 1); step <= now; step++) s.values[step % STEPS] = NaN;
	s.step = Math.max(s.step, now);
}

function newSeries(now) {
	if (series.size >= SERIES_MAX) series.delete(series.keys().next().value);
	return { step: now, values: new Float32Array(STEPS).fill(NaN), last: null };
}

function remember(name, value) {
	const now = stepOf(Date.now());
	const s = series.get(name) ?? newSeries(now);
	series.delete(name); // the map's order is that of the last write
	series.set(name, s);
	advance(s, now);
	s.last = value;
	const at = s.step % STEPS;
	if (value !== null) s.values[at] = Number.isNaN(s.values[at]) ? value : Math.max(s.values[at], value);
}

// Takes the agent's samples into the steps for which this page has no value. end: the time of the last sample.
function recall(name, values, stepMs, end) {
	const now = stepOf(Date.now());
	const s = series.get(name) ?? newSeries(now);
	series.set(name, s);
	advance(s, now);
	values.forEach((value, i) => {
		const until = end - (values.length - 1 - i) * stepMs;
		for (let step = stepOf(until - stepMs) + 1; value !== null && step <= Math.min(stepOf(until), s.step); step++)
			if (step > s.step - STEPS && Number.isNaN(s.values[step % STEPS])) s.values[step % STEPS] = value;
	});
	plotsSince = Math.min(plotsSince, end - values.length * stepMs);
}

// The last value, or null if it is not known.
const lastOf = (name) => series.get(name)?.last ?? null;

const clockTime = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const plotsBegin = () => Math.max(plotsSince, Date.now() - STEPS * STEP_MS);

// The largest known value of each column of the plot, from the oldest; NaN: not known.
function columnsOf(s) {
	const first = Math.max(stepOf(plotsBegin()), s.step - STEPS + 1);
	const n = Math.max(s.step - first + 1, 1);
	const columns = new Float32Array(Math.min(n, PLOT.columns)).fill(NaN);
	for (let i = 0; i < n; i++) {
		const v = s.values[(first + i) % STEPS];
		const at = Math.floor((i * columns.length) / n);
		if (!Number.isNaN(v)) columns[at] = Number.isNaN(columns[at]) ? v : Math.max(columns[at], v);
	}
	return columns;
}

// Lines between known neighbours; a gap ends a line.
function linesOf(columns, most) {
	const lines = [[]];
	columns.forEach((v, i) => {
		if (Number.isNaN(v)) return lines.at(-1).length && lines.push([]);
		const x = (i * (PLOT.width - 1)) / Math.max(columns.length - 1, 1);
		const y = PLOT.height - 1 - (v / most) * (PLOT.height - 2);
		lines.at(-1).push(`${x.toFixed(1)},${y.toFixed(1)}`);
	});
	return lines.filter((line) => line.length).map((line) => (line.length > 1 ? line : [line[0], line[0]]).join(" "));
}

function plot(name, describe) {
	const s = series.get(name);
	const columns = s ? columnsOf(s) : [];
	const known = Array.from(columns).filter((v) => !Number.isNaN(v));
	if (known.length < 2) return document.createTextNode("");
	const most = Math.max(...known);
	const text = `since ${clockTime(plotsBegin())}: at most ${describe(most)}, now ${s.last === null ? "unknown" : describe(s.last)}`;
	return make("svg:svg", { class: "plot", width: PLOT.width, height: PLOT.height, viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img", "aria-label": text },
		make("svg:title", {}, text), ...linesOf(columns, most || 1).map((points) => make("svg:polyline", { points })));
}

function showPlotsSince() {
	const hour = Date.now() - plotsSince >= STEPS * STEP_MS;
	byId("plots-since").textContent = `The plots show the values ${hour ? "of the last hour" : `since ${clockTime(plotsSince)}`}. The agent keeps an hour, and begins again when it restarts; Prometheus, which 'plenum metrics' feeds, keeps more.`;
}
