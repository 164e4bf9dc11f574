/* strips.js - what a thread did over a stretch of time: in parts that can be seen, and in words. */

var WORK_MOST = 20000;

/* What the scheduler did with it, and over that what it waited for. */
function stateRows(lane) {
	return lane.rows.filter(function (r) { return r.kind === "run"; })
		.concat(lane.rows.filter(function (r) { return r.kind === "wait"; }));
}

function threadLane(o, tid) {
	return o.lanes.filter(function (l) { return l.kind === "thread" && l.number === tid; })[0] || null;
}

/* All of a scope that pieces hold one by one, the slowest first: [{start_us, dur_us, lane}]. */
function recordedOnes(o, name) {
	var found = [];
	o.lanes.forEach(function (lane) {
		lane.rows.forEach(function (row) {
			for (var i = 0; row.kind === "scope" && i < row.n; i++)
				if (row.count[i] === 1 && o.names[row.name[i]] === name)
					found.push({
						start_us: row.start[i],
						dur_us: row.end[i] - row.start[i],
						lane: lane
					});
		});
	});
	return found.sort(function (a, b) { return b.dur_us - a.dur_us; });
}

/* The ten slowest of a scope; traces of other tools have them in their pieces alone. */
function slowestOf(s) {
	var o = readLanes();
	if (s.slowest && s.slowest.length > 0)
		return s.slowest.map(function (one) {
			return {
				start_us: one.start_us,
				dur_us: one.dur_us,
				lane: o ? threadLane(o, one.thread_id) : null
			};
		});
	return o && s.count > 1 ? recordedOnes(o, s.name).slice(0, 10) : [];
}

/* Parts that are a column wide at least, neighbours of one kind as one: [{a, b, fill, words, kind}]; kind is what the
 * colour stands for. */
function stripParts(rows, t0, t1, columns, fillOf, wordsOf, kindOf) {
	var parts = [], step = (t1 - t0) / columns;
	rows.forEach(function (row) {
		for (var i = firstAfter(row, t0), last = null; i < row.n && row.start[i] < t1; i++) {
			var a = Math.max(t0, row.start[i]), b = Math.min(t1, row.end[i]), fill = fillOf(row, i);
			if (last && last.fill === fill && a - last.b < step * 1.5)
				last.b = b;
			else if (fill && (b - a >= step * 0.8 || !last || a - last.b > 0))
				parts.push((last = {
					a: a,
					b: Math.min(t1, Math.max(b, a + step * 0.8)),
					fill: fill,
					words: wordsOf(row, i),
					kind: (kindOf || wordsOf)(row, i)
				}));
			if (parts.length > 3000)
				return;
		}
	});
	return parts;
}

/* A thread's states; where a trace does not know them, what it called. */
function threadParts(o, lane, t0, t1, columns) {
	var rows = stateRows(lane);
	if (rows.length > 0)
		return stripParts(rows, t0, t1, columns, function (row, i) {
			var key = o.states[row.name[i]];
			return stateFill(key);
		}, function (row, i) {
			var key = o.states[row.name[i]];
			return stateWords(key);
		});
	var calls = lane.rows.filter(function (r) { return r.kind === "call"; })
			    .sort(function (a, b) { return a.depth - b.depth; })[0];
	return calls
		? stripParts([calls], t0, t1, columns, function () { return "var(--s-python)"; },
			  function (row, i) { return pieceLabel(o, row.name[i]); }, function () { return "in calls"; })
		: [];
}

function workParts(o, lane, t0, t1, columns) {
	return stripParts(lane.rows, t0, t1, columns,
		function (row, i) { return "var(--" + classColour(o.classes[row.name[i]]) + ")"; },
		function (row, i) { return pieceLabel(o, row.name[i]); },
		function (row, i) { return o.classes[row.name[i]] || "other"; });
}

/* What the colours of parts stand for; at most so many. */
function partsLegend(parts, most) {
	var seen = new Map();
	parts.forEach(function (p) {
		seen.set(p.kind, { fill: p.fill, us: ((seen.get(p.kind) || {}).us || 0) + p.b - p.a });
	});
	return el("ul", { class: "legend" },
		Array.from(seen.keys())
			.sort(function (a, b) { return seen.get(b).us - seen.get(a).us; })
			.slice(0, most)
			.map(function (kind) {
				return el("li", null, el("span", { class: "key" }, swatch(seen.get(kind).fill), kind));
			}));
}

/* How long a GPU worked, whichever of its streams did; -1: too many pieces to say so at once. */
function workIn(o, device, t0, t1) {
	var pieces = [], us = 0, end = t0;
	o.lanes.forEach(function (lane) {
		lane.rows.forEach(function (row) {
			for (var i = lane.kind === "stream" && lane.device === device ? firstAfter(row, t0) : row.n;
				i < row.n && row.start[i] < t1 && pieces.length <= WORK_MOST; i++)
				pieces.push([
					Math.max(t0, row.start[i]), Math.min(t1, row.end[i]),
					Math.min(1,
						(row.sum[i + 1] - row.sum[i]) /
							Math.max(1e-9, row.end[i] - row.start[i]))
				]);
		});
	});
	if (pieces.length > WORK_MOST)
		return -1;
	pieces.sort(function (a, b) { return a[0] - b[0]; }).forEach(function (p) {
		us += Math.max(0, p[1] - Math.max(p[0], end)) * p[2];
		end = Math.max(end, p[1]);
	});
	return us;
}

/* What it waited for and was stopped by, longest first: [{key, us, n}].  Waits lie over what the scheduler tells. */
function waitsIn(o, lane, t0, t1) {
	var all = {}, rows = stateRows(lane), over = rows.filter(function (r) { return r.kind === "wait"; });
	rows.forEach(function (row) {
		for (var i = firstAfter(row, t0); i < row.n && row.start[i] < t1; i++) {
			var key = o.states[row.name[i]], a = Math.max(t0, row.start[i]), b = Math.min(t1, row.end[i]);
			if (!STATES[key] || !STATES[key][2])
				continue;
			all[key] = all[key] || { key: key, us: 0, n: 0 };
			all[key].us += (b - a) *
				Math.min(1, (row.sum[i + 1] - row.sum[i]) / Math.max(1e-9, row.end[i] - row.start[i]));
			if (row.kind === "run")
				over.forEach(function (w) { all[key].us -= covered(w, a, b); });
			all[key].n += row.count[i];
		}
	});
	return Object.keys(all)
		.map(function (k) { return all[k]; })
		.filter(function (w) { return w.us > 0; })
		.sort(function (a, b) { return b.us - a.us; });
}

/* "23 waits for the GIL take 102 ms, one garbage collection 43.3 ms": those that matter; "" where none does. */
function waitWords(o, lane, t0, t1) {
	var list = waitsIn(o, lane, t0, t1).filter(function (w) { return w.us > (t1 - t0) * 0.03; }).slice(0, 2);
	return list
		.map(function (w, i) {
			return (w.n === 1 ? "one " + STATES[w.key][2] : count(w.n) + " " + STATES[w.key][3]) +
				(i === 0 ? (w.n === 1 ? " takes " : " take ") : " ") + dur(w.us);
		})
		.join(", ");
}
