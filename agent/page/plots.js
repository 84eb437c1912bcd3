/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page's plots. The agent keeps no history, so a plot has what this page has seen: the largest
 * value of each five seconds of the last hour, with gaps where the page was hidden or had no answer.
 * plenum.js calls remember() with each value, and plot() to draw.
 */
"use strict";

const STEP_MS = 5000;
const STEPS = 720; // one hour
const SERIES_MAX = 1000; // 3 MB; the series that was not written for the longest time makes room
const PLOT = { width: 120, height: 24, columns: 120 };
const series = new Map(); // name of a value -> its values as a ring, NaN: not known
const seenSince = Date.now();

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

// The last value, or null if it is not known.
const lastOf = (name) => series.get(name)?.last ?? null;

const clockTime = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const plotsBegin = () => Math.max(seenSince, Date.now() - STEPS * STEP_MS);

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
	const hour = Date.now() - seenSince >= STEPS * STEP_MS;
	byId("plots-since").textContent = `The plots show what this page has seen ${hour ? "in the last hour" : `since ${clockTime(seenSince)}, when it was opened`}. The agent keeps no history; Prometheus does, which 'plenum metrics' feeds.`;
}
