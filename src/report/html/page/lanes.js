/* lanes.js - the pieces of the timeline, as numbers that are fast to look through.
 *
 * Of each row: start and end of its pieces in microseconds, their names, how many each stands for, and
 * the sum of covered time before each, so that the coverage of any stretch is one subtraction. */

var STREAMS_FIRST = 4;

function numbersOf(bytes) {
	var at = 0;
	return function () {
		var n = 0, factor = 1, b;
		do {
			b = bytes[at++];
			n += (b & 127) * factor;
			factor *= 128;
		} while (b > 127);
		return n;
	};
}

function readRow(next, n, kind, from, unit) {
	var row = {
		kind: kind,
		n: n,
		start: new Float64Array(n),
		end: new Float64Array(n),
		name: new Uint32Array(n),
		count: new Uint32Array(n),
		sum: new Float64Array(n + 1),
		launch: null,
		launchLane: null
	};
	var i, at = Math.floor(from / unit);
	var gaps = new Float64Array(n);
	for (i = 0; i < n; i++)
		gaps[i] = next();
	for (i = 0; i < n; i++) {
		at += gaps[i];
		row.start[i] = at * unit;
		at += next();
		row.end[i] = at * unit;
	}
	for (i = 0; i < n; i++)
		row.name[i] = next();
	for (i = 0; i < n; i++)
		row.count[i] = next() + 1;
	for (i = 0; i < n; i++)
		row.sum[i + 1] = row.sum[i] + (row.count[i] > 1 ? next() * unit : row.end[i] - row.start[i]);
	if (kind !== "work")
		return row;
	row.launch = new Float64Array(n);
	row.launchLane = new Uint32Array(n);
	for (i = 0; i < n; i++)
		row.launch[i] = next() - 1;
	for (i = 0; i < n; i++) {
		if (row.launch[i] >= 0)
			row.launchLane[i] = next();
		row.launch[i] = row.launch[i] >= 0 ? row.start[i] - row.launch[i] * unit : -1;
	}
	return row;
}

function laneTitle(lane) {
	if (lane.kind === "thread")
		return lane.name || "thread " + lane.number;
	return lane.kind === "stream" ? "GPU " + lane.device : lane.name || "counter";
}

function laneNote(lane) {
	return lane.kind === "thread"	 ? "thread " + lane.number + (lane.focus ? ", focus" : "")
		: lane.kind === "stream" ? "stream " + lane.number
					 : "";
}

/* The busiest streams of GPUs, which are thin, then the threads that matter, then all else; counters last. */
function laneOrder(a, b) {
	return a.rank - b.rank || b.weight - a.weight || a.index - b.index;
}

/* Once for all that draw from them; null: there are none. */
function readLanes() {
	var o = detail.lanes, bytes = detail.pieces;
	if (!o || !bytes)
		return null;
	if (o.order)
		return o;
	var next = numbersOf(bytes), unit = o.unit_ns / 1e3,
	    focus = report.breakdown ? report.breakdown.thread_id : null;
	o.lanes.forEach(function (lane, index) {
		lane.index = index;
		lane.weight = 0;
		lane.rows = lane.rows.map(function (r) {
			var row = readRow(next, r[2], r[0], o.from_us, unit);
			row.depth = r[1];
			lane.weight += row.sum[row.n] * (r[0] === "wait" || r[0] === "counter" ? 0 : 1);
			return row;
		});
		lane.focus = lane.kind === "thread" && lane.number === focus;
	});
	if (!o.lanes.some(function (l) { return l.focus; }))
		o.lanes.filter(function (l) { return l.kind === "thread"; })
			.sort(function (a, b) { return b.weight - a.weight; })
			.slice(0, 1)
			.forEach(function (l) { l.focus = true; });
	o.lanes.filter(function (l) { return l.kind === "stream"; })
		.sort(function (a, b) { return b.weight - a.weight; })
		.forEach(function (l, i) { l.rank = i < STREAMS_FIRST ? 0 : 3; });
	o.lanes.forEach(function (l) {
		l.rank = l.kind === "stream" ? l.rank : l.focus ? 1 : l.kind === "thread" ? 2 : 4;
	});
	o.order = o.lanes.slice().sort(laneOrder);
	o.labels = [];
	return o;
}

/* The first piece that ends behind t. */
function firstAfter(row, t) {
	var low = 0, high = row.n;
	while (low < high) {
		var middle = (low + high) >> 1;
		if (row.end[middle] > t)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first piece from i on that starts at t or later; near ones are found fast. */
function startsFrom(row, i, t) {
	var step = 1, low = i, high;
	while (low + step < row.n && row.start[low + step] < t) {
		low += step;
		step *= 2;
	}
	high = Math.min(row.n, low + step);
	while (low < high) {
		var middle = (low + high) >> 1;
		if (row.start[middle] < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Time covered in [a, b]; pieces at its edges count in part. */
function covered(row, a, b) {
	var i = firstAfter(row, a), j = startsFrom(row, Math.min(i, Math.max(0, row.n - 1)), b), us = 0;
	if (i >= row.n || row.start[i] >= b)
		return 0;
	us = row.sum[j] - row.sum[i];
	[i, j - 1].forEach(function (k, edge) {
		if (edge === 1 && k === i)
			return;
		var outside = Math.max(0, a - row.start[k]) + Math.max(0, row.end[k] - b),
		    length = row.end[k] - row.start[k];
		if (outside > 0 && length > 0)
			us -= (row.sum[k + 1] - row.sum[k]) * outside / length;
	});
	return Math.max(0, us);
}
