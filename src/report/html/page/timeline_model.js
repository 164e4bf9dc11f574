/* timeline_model.js - what the timeline is about: a stretch of the trace, and what is found, chosen and slow in it. */

var SPAN_LEAST_US = 0.05, FOUND_MOST = 20000, SLOW_SHOWN = 10;

function timelineModel(o) {
	var whole = { t0: o.from_us, t1: Math.max(o.to_us, o.from_us + 1) };
	return {
		o: o, whole: whole, shape: layout(o), t0: whole.t0, t1: whole.t1, scroll: 0, flows: true,
		slow: slowScopes(), slowAt: -1, matches: null, found: [], foundAt: -1,
		selected: null, hover: null, span: null
	};
}

function slowScopes() {
	var list = [], chosen = mainScope();
	report.scopes.forEach(function (scope) {
		if (chosen ? scope.name !== chosen.name : scope.count <= 1)
			return;
		slowestOf(scope).forEach(function (one) {
			var t0 = one.start_us;
			list.push({ t0: t0, t1: t0 + one.dur_us, name: scope.name, lane: one.lane });
		});
	});
	return list.sort(function (a, b) { return (b.t1 - b.t0) - (a.t1 - a.t0); }).slice(0, SLOW_SHOWN);
}

/* As long as asked for, and moved until it lies in the whole. */
function setStretch(m, t0, t1) {
	var span = Math.max(SPAN_LEAST_US, Math.min(t1 - t0, m.whole.t1 - m.whole.t0));
	m.t0 = Math.max(m.whole.t0, Math.min(t0, m.whole.t1 - span));
	m.t1 = m.t0 + span;
}

/* The stretch that was dragged over, from its earlier end. */
function draggedSpan(m) {
	return { t0: Math.min(m.span.t0, m.span.t1), t1: Math.max(m.span.t0, m.span.t1) };
}

/* ---- pieces ---- */

function hitOf(band, row, i) {
	return { band: band, row: row, i: i, lane: band.lane };
}

/* What lies at a height, as near to a time as that; the last row that has something. */
function pieceAt(m, y, t, near) {
	var hit = null;
	m.shape.bands.forEach(function (band) {
		if (y < band.y || y > band.y + band.h || band.counter)
			return;
		band.rows.forEach(function (row) {
			var i = firstAfter(row, t - near);
			if (i < row.n && row.start[i] <= t + near)
				hit = hitOf(band, row, i);
		});
	});
	return hit;
}

/* Where a call was made: the deepest that was open then. */
function launchBand(m, lane, t) {
	var best = null;
	m.shape.bands.forEach(function (band) {
		if (band.lane !== lane || band.rows[0].kind !== "call")
			return;
		var row = band.rows[0], i = firstAfter(row, t);
		if (i < row.n && row.start[i] <= t)
			best = band;
	});
	return best || m.shape.bands.filter(function (band) { return band.lane === lane; })[0];
}

/* A slow scope as a piece: where it is among all lanes can be seen. */
function slowHit(m, one) {
	var hit = null, middle = (one.t0 + one.t1) / 2;
	m.shape.bands.forEach(function (band) {
		var row = band.rows[0];
		if (hit || row.kind !== "scope" || band.lane !== one.lane)
			return;
		var i = firstAfter(row, middle);
		if (i < row.n && m.o.names[row.name[i]] === one.name && Math.abs(row.start[i] - one.t0) < 1 &&
			Math.abs(row.end[i] - one.t1) < 1)
			hit = hitOf(band, row, i);
	});
	return hit;
}

function openLane(m, y) {
	m.o.order.forEach(function (lane) {
		if (lane.kind !== "thread" || y < lane.y || y >= lane.y + lane.h)
			return;
		lane.open = lane.open === 0 ? 1 : lane.open === 1 && lane.deep ? 2 : 0;
		m.shape = layout(m.o);
		m.hover = m.selected = null;
	});
}

/* ---- search ---- */

function matchNames(m, text) {
	var has = function (words) { return words.toLowerCase().indexOf(text) >= 0; };
	m.matches = text ? new Uint8Array(m.o.names.length) : null;
	if (text)
		m.o.names.forEach(function (name, i) { m.matches[i] = has(name) || has(m.o.files[i] || "") ? 1 : 0; });
}

/* How many pieces there are; as many as can be walked through are kept, by time. */
function findPieces(m, text) {
	var n = 0;
	matchNames(m, text.toLowerCase());
	m.found = [];
	m.foundAt = -1;
	m.shape.bands.forEach(function (band) {
		band.rows.forEach(function (row) {
			if (!m.matches || row.kind === "run" || row.kind === "wait" || row.kind === "counter")
				return;
			for (var i = 0; i < row.n; i++) {
				if (!m.matches[row.name[i]])
					continue;
				n += row.count[i];
				if (m.found.length < FOUND_MOST)
					m.found.push(hitOf(band, row, i));
			}
		});
	});
	m.found.sort(function (a, b) { return a.row.start[a.i] - b.row.start[b.i]; });
	return n;
}

/* ---- in words ---- */

function slowInView(m) {
	return m.slow.filter(function (one) {
		return one.t0 >= m.t0 && one.t1 <= m.t1 && (one.t1 - one.t0) > (m.t1 - m.t0) * 0.5;
	})[0] || null;
}

function stretchWords(m) {
	var span = m.t1 - m.t0, threads = m.o.order.filter(function (l) { return l.kind === "thread"; }).length;
	if (span >= (m.whole.t1 - m.whole.t0) * 0.999)
		return "All of it: " + dur(span) + " of " + plural(threads, "thread");
	return dur(span) + " from " + dur(m.t0) + " on";
}

/* What is to be seen: what stopped the thread, and how busy GPUs were. */
function findings(m, at) {
	var o = m.o, lane = (at && at.lane) || o.order.filter(function (l) { return l.focus; })[0];
	var t0 = at ? at.t0 : m.t0, t1 = at ? at.t1 : m.t1, words = lane ? waitWords(o, lane, t0, t1) : "";
	var gpus = o.order.filter(function (l) { return l.kind === "stream"; });
	var gpu = gpus.filter(function (l) { return l.device === report.verdict.device_id; })[0] || gpus[0];
	var work = gpu ? workIn(o, gpu.device, t0, t1) : -1;
	return (words ? "; " + words : "") +
		(work >= 0 ? "; " + laneTitle(gpu) + " works " + pct(work / (t1 - t0) * 100) + " of it" : "");
}

/* Are pieces put together here that this width has room for? */
function isCoarse(m, width) {
	var inside = m.o.kept.some(function (k) { return k[0] <= m.t0 && k[1] >= m.t1; });
	return m.o.grain_us > 0 && !inside && (m.t1 - m.t0) / Math.max(1, width) < m.o.grain_us / 4;
}
