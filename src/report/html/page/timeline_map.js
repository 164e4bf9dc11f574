/* timeline_map.js - the whole of the trace in a strip, and which stretch of it the timeline shows. */

var MAP_LANES = 3, MAP_STEP = 2;

/* The row that says most of a lane: when it ran, else when it was in calls or worked. */
function mapRow(lane) {
	var of = function (test) { return lane.rows.filter(test)[0]; };
	return of(function (r) { return r.kind === (lane.kind === "stream" ? "work" : "run"); }) ||
		of(function (r) { return r.kind === "call" || r.kind === "work"; }) || lane.rows[0];
}

function mapLane(m, lane, w) {
	var row = mapRow(lane), list = [], span = m.whole.t1 - m.whole.t0, stream = lane.kind === "stream";
	for (var x = 0; x < w; x += MAP_STEP) {
		var a = m.whole.t0 + x / w * span, b = m.whole.t0 + (x + MAP_STEP) / w * span;
		list.push(covered(row, a, b) / (b - a));
	}
	return {
		list: list, colour: stream ? "g-gemm" : "s-native",
		words: laneTitle(lane) + (stream ? " busy" : row.kind === "run" ? " on a CPU" : " in calls")
	};
}

function mapRows(v, w) {
	var shown = v.m.o.order.filter(function (l) { return l.focus || l.kind === "stream"; }).slice(0, MAP_LANES);
	if (!v.mapCache || v.mapCache.w !== w)
		v.mapCache = { w: w, rows: shown.map(function (lane) { return mapLane(v.m, lane, w); }) };
	return v.mapCache.rows;
}

function drawMapRow(context, row, top, each) {
	context.fillStyle = colour(row.colour);
	row.list.forEach(function (share, k) {
		var h = share * (each - 3);
		context.fillRect(k * MAP_STEP, top + each - h, MAP_STEP, h);
	});
	context.fillStyle = colour("panel");
	context.globalAlpha = 0.75;
	context.fillRect(2, top, widthOf(context, row.words) + 8, 13);
	context.globalAlpha = 1;
	context.fillStyle = colour("ink");
	context.fillText(row.words, 6, top + 10);
}

function drawMap(v) {
	var m = v.m, w = v.mapBox.clientWidth, h = v.mapBox.clientHeight, ratio = pixelRatio();
	var context = v.map.getContext("2d"), rows, each;
	var xOf = function (t) { return (t - m.whole.t0) / (m.whole.t1 - m.whole.t0) * w; };
	sizeCanvas(v.map, w, h, ratio);
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, w, h);
	rows = mapRows(v, w);
	each = (h - 8) / Math.max(1, rows.length);
	useFont(context, "10.5px Inter, system-ui, sans-serif");
	rows.forEach(function (row, i) { drawMapRow(context, row, 4 + i * each, each); });
	context.fillStyle = colour("muted");
	m.slow.forEach(function (one) {
		var x = xOf(one.t0);
		context.beginPath();
		context.moveTo(x - 4, 0);
		context.lineTo(x + 4, 0);
		context.lineTo(x, 6);
		context.fill();
	});
	context.strokeStyle = colour("accent");
	context.lineWidth = 2;
	context.strokeRect(xOf(m.t0) + 1, 1, Math.max(3, xOf(m.t1) - xOf(m.t0) - 2), h - 2);
}
