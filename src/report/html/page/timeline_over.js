/* timeline_over.js - over a frame of the timeline: what is selected or pointed at, and which call asked for what. */

var FLOWS_MOST = 260;

function drawOutline(v, context, hit, wide) {
	var xa = Math.max(labelWidth(v), timeToX(v, hit.row.start[hit.i]));
	var xb = Math.min(v.port.clientWidth, timeToX(v, hit.row.end[hit.i]));
	context.strokeStyle = colour("ink");
	context.lineWidth = wide ? 2 : 1;
	context.strokeRect(xa - 0.5, hit.band.y - v.m.scroll - 0.5, Math.max(2, xb - xa), hit.band.h + 1);
}

function drawSpan(v, context) {
	var span = draggedSpan(v.m), a = timeToX(v, span.t0), b = timeToX(v, span.t1);
	context.fillStyle = colour("accent");
	context.globalAlpha = 0.16;
	context.fillRect(a, 0, b - a, v.over.height);
	context.globalAlpha = 1;
	context.fillRect(a, 0, 1, v.over.height);
	context.fillRect(b, 0, 1, v.over.height);
}

/* What is selected or under the pointer, and flows: over the rest, so that a move costs little. */
function drawOverlay(v) {
	var context = v.over.getContext("2d"), ratio = pixelRatio();
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, v.port.clientWidth, v.over.height / ratio);
	context.save();
	context.beginPath();
	context.rect(labelWidth(v), 0, v.port.clientWidth, v.over.height);
	context.clip();
	drawFlows(v, context);
	if (v.m.hover)
		drawOutline(v, context, v.m.hover, false);
	if (v.m.selected)
		drawOutline(v, context, v.m.selected, true);
	if (v.m.span)
		drawSpan(v, context);
	context.restore();
}

/* From the call that asked for a piece of work to the work. */
function drawFlow(v, context, hit, strong) {
	var row = hit.row, i = hit.i, band = hit.band;
	var from = row.launch && row.launch[i] >= 0
		? launchBand(v.m, v.m.o.lanes[row.launchLane[i]], row.launch[i]) : null;
	if (!from)
		return;
	var xa = timeToX(v, row.launch[i]), xb = timeToX(v, row.start[i]), below = from.y > band.y;
	var ya = from.y + (below ? 0 : from.h) - v.m.scroll, yb = band.y + (below ? band.h : 0) - v.m.scroll;
	var middle = (ya + yb) / 2;
	context.strokeStyle = colour(strong ? "ink" : "muted");
	context.globalAlpha = strong ? 1 : 0.45;
	context.lineWidth = strong ? 1.6 : 1;
	context.beginPath();
	context.moveTo(xa, ya);
	context.bezierCurveTo(xa, middle, xb, middle, xb, yb);
	context.stroke();
	context.globalAlpha = 1;
}

/* The work that begins in view, by bands; more than can be told apart is no picture. */
function workInView(m) {
	return m.shape.bands.filter(function (band) { return band.rows[0].kind === "work"; }).map(function (band) {
		var row = band.rows[0], from = firstAfter(row, m.t0);
		return { band: band, from: from, to: startsFrom(row, Math.min(from, Math.max(0, row.n - 1)), m.t1) };
	});
}

function drawFlows(v, context) {
	var m = v.m, ranges = workInView(m);
	var total = ranges.reduce(function (sum, r) { return sum + Math.max(0, r.to - r.from); }, 0);
	if (m.flows && total <= FLOWS_MOST)
		ranges.forEach(function (r) {
			for (var i = r.from; i < r.to; i++)
				drawFlow(v, context, hitOf(r.band, r.band.rows[0], i), false);
		});
	[m.hover, m.selected].forEach(function (hit) {
		if (hit && hit.row.kind === "work")
			drawFlow(v, context, hit, true);
	});
}
