/* timeline_view.js - the timeline on the screen: its nodes, a frame of it, and the way to another stretch. */

var GLIDE_MS = 320, TIMELINE_HIGHEST = 620, PIXEL_RATIO_MOST = 2;

function pixelRatio() {
	return Math.min(devicePixelRatio || 1, PIXEL_RATIO_MOST);
}

function canvasNode() {
	return el("canvas", { "aria-hidden": "true" });
}

/* find(text): what "Find all" of a piece does. */
function timelineView(m) {
	var v = {
		m: m, find: null, colours: null, frame: 0, frames: 0, glide: 0, image: null, pixels: null,
		mapCache: null, said: null, saying: 0
	};
	v.section = openSection("timeline", "Timeline");
	v.heading = el("h2", { id: "timeline-title" });
	v.ruler = canvasNode();
	v.canvas = canvasNode();
	v.over = canvasNode();
	v.map = canvasNode();
	v.rulerBox = el("div", { class: "ruler" }, v.ruler);
	v.mapBox = el("div", { class: "map" }, v.map);
	v.spacer = el("div", { class: "spacer" }, el("div", { class: "stage" }, v.canvas, v.over));
	v.port = el("div", {
		class: "view scroll", tabindex: 0, role: "application", "aria-labelledby": "timeline-title",
		"aria-describedby": "timeline-how"
	}, v.spacer);
	v.details = el("div", { class: "det", "aria-live": "polite" });
	v.finerCommand = el("code");
	v.finer = el("p", { class: "cap finer", hidden: true },
		"Pieces here are put together, as each would be shorter than " + dur(m.o.grain_us) + ". All of them: ",
		v.finerCommand, " ", copyButton("Copy", function () { return v.finerCommand.textContent; }, "copy"));
	return v;
}

function labelWidth(v) {
	return v.port.clientWidth < 620 ? 0 : BAND.label;
}

function timeToX(v, t) {
	var left = labelWidth(v);
	return left + (t - v.m.t0) / (v.m.t1 - v.m.t0) * (v.port.clientWidth - left);
}

function xToTime(v, x) {
	var left = labelWidth(v);
	return v.m.t0 + (x - left) / (v.port.clientWidth - left) * (v.m.t1 - v.m.t0);
}

/* ---- a frame ---- */

function sizeCanvas(node, w, h, ratio) {
	if (node.width === Math.round(w * ratio) && node.height === Math.round(h * ratio))
		return;
	node.width = Math.round(w * ratio);
	node.height = Math.round(h * ratio);
	node.style.width = w + "px";
	node.style.height = h + "px";
}

/* What a frame is drawn from; timeline_draw.js has the rest. */
function frameOf(v, ratio) {
	var m = v.m, f = {
		o: m.o, p: v.colours, context: v.canvas.getContext("2d", { alpha: false }),
		rulerContext: v.ruler.getContext("2d"), ratio: ratio, width: v.canvas.width, height: v.canvas.height,
		left: Math.round(labelWidth(v) * ratio), t0: m.t0, t1: m.t1, scroll: m.scroll, matches: m.matches,
		texts: [], slow: slowInView(m)
	};
	f.scale = (f.width - f.left) / (m.t1 - m.t0);
	if (!v.image || v.image.width !== f.width || v.image.height !== f.height) {
		v.image = f.context.createImageData(f.width, f.height);
		v.pixels = new Uint32Array(v.image.data.buffer);
	}
	f.pixels = v.pixels;
	return f;
}

function drawBand(f, band) {
	var y = Math.round((band.y - f.scroll) * f.ratio);
	if (y > f.height || band.y + band.h < f.scroll || band.counter)
		return;
	fillPixels(f, f.left, f.width, y, Math.round(band.h * f.ratio), f.p.lane, false);
	band.rows.forEach(function (row) { drawRow(f, band, row); });
}

function drawFrame(v) {
	var m = v.m, began = performance.now(), ratio = pixelRatio(), w = v.port.clientWidth;
	var h = Math.min(TIMELINE_HIGHEST, m.shape.height), f;
	v.frame = 0;
	if (w === 0)
		return;
	v.colours = v.colours || palette(m.o);
	v.spacer.style.height = m.shape.height + "px";
	v.port.style.height = h + "px";
	sizeCanvas(v.canvas, w, h, ratio);
	sizeCanvas(v.over, w, h, ratio);
	sizeCanvas(v.ruler, w, BAND.ruler, ratio);
	f = frameOf(v, ratio);
	f.pixels.fill(v.colours.panel);
	m.shape.bands.forEach(function (band) { drawBand(f, band); });
	f.context.putImageData(v.image, 0, 0);
	drawWords(v, f);
	drawOverlay(v);
	drawMap(v);
	sayStretch(v);
	performance.measure("timeline frame", { start: began });
	if (++v.frames % 500 === 0)
		performance.clearMeasures("timeline frame");
}

function redraw(v) {
	if (!v.frame)
		v.frame = requestAnimationFrame(function () { drawFrame(v); });
}

/* The ruler, names on pieces, counters and lanes. */
function drawWords(v, f) {
	var font = 11 * f.ratio + "px Inter, system-ui, sans-serif", i;
	useFont(f.context, font);
	useFont(f.rulerContext, font);
	f.rulerContext.clearRect(0, 0, v.ruler.width, v.ruler.height);
	f.rulerContext.fillStyle = colour("muted");
	drawRuler(f);
	for (i = 0; i < f.texts.length; i += 6)
		drawName(f, f.texts.slice(i, i + 6));
	v.m.shape.bands.forEach(function (band) {
		if (band.counter && band.y - f.scroll < f.height / f.ratio && band.y + band.h > f.scroll)
			drawCounter(f, band, band.rows[0]);
	});
	drawLabels(f);
}

/* As drawRow() noted it down: from and to x, y, name, colour, and how many pieces it stands for. */
function drawName(f, noted) {
	var ratio = f.ratio, c = noted[4], many = noted[5] > 1 ? "x" + count(noted[5]) + " " : "";
	f.context.fillStyle = inkOn("rgb(" + (c & 255) + "," + (c >> 8 & 255) + "," + (c >> 16 & 255) + ")");
	f.context.fillText(fit(f.context, many + f.o.labels[noted[3]], noted[1] - noted[0] - 8 * ratio),
		noted[0] + 4 * ratio, (noted[2] + 12) * ratio);
}

/* Whether calls of a thread are shown: none, the first, or all. */
function foldMark(lane) {
	if (lane.kind !== "thread" || !lane.rows.some(function (r) { return r.kind === "call"; }))
		return "";
	return lane.open > 1 || (lane.open && !lane.deep) ? "\u25be " : lane.open ? "\u25bf " : "\u25b8 ";
}

function drawLabel(f, lane) {
	var context = f.context, ratio = f.ratio, y = (lane.y - f.scroll) * ratio, room = f.left - 16 * ratio;
	useFont(context, "600 " + 12 * ratio + "px Inter, system-ui, sans-serif");
	context.fillStyle = colour("ink");
	context.fillText(fit(context, foldMark(lane) + laneTitle(lane), room), 10 * ratio, y + 12 * ratio);
	useFont(context, 11 * ratio + "px Inter, system-ui, sans-serif");
	context.fillStyle = colour("muted");
	context.fillText(fit(context, laneNote(lane), room), 10 * ratio, y + 26 * ratio);
}

/* No room beside the lanes: over the first of them. */
function drawNarrowLabel(f, lane) {
	var context = f.context, ratio = f.ratio, y = (lane.y - f.scroll) * ratio, words;
	useFont(context, 10.5 * ratio + "px Inter, system-ui, sans-serif");
	words = fit(context, laneTitle(lane), f.width / 2);
	context.fillStyle = colour("panel");
	context.fillRect(0, y, widthOf(context, words) + 8 * ratio, 13 * ratio);
	context.fillStyle = colour("ink");
	context.fillText(words, 4 * ratio, y + 10 * ratio);
}

function drawLabels(f) {
	var context = f.context, ratio = f.ratio, narrow = f.left === 0;
	if (!narrow) {
		context.fillStyle = colour("panel");
		context.fillRect(0, 0, f.left - 1, f.height);
	}
	f.o.order.forEach(function (lane) {
		var y = lane.y - f.scroll;
		if (y <= f.height / ratio && y + lane.h >= 0)
			(narrow ? drawNarrowLabel : drawLabel)(f, lane);
	});
	context.strokeStyle = colour("line");
	context.beginPath();
	f.o.order.forEach(function (lane) {
		var y = Math.round((lane.y - f.scroll - BAND.gap / 2) * ratio) + 0.5;
		context.moveTo(0, y);
		context.lineTo(f.width, y);
	});
	context.stroke();
}

/* ---- where it looks ---- */

function lookAt(v, t0, t1) {
	setStretch(v.m, t0, t1);
	redraw(v);
}

/* Evenly in factors: a zoom of a thousand does not rush at its end. */
function glideTo(v, t0, t1) {
	var from = { t0: v.m.t0, t1: v.m.t1 }, began = performance.now(), mine = ++v.glide;
	if (still())
		return lookAt(v, t0, t1);
	(function step() {
		if (mine !== v.glide)
			return;
		var p = Math.min(1, (performance.now() - began) / GLIDE_MS), e = 1 - Math.pow(1 - p, 3);
		var a = from.t1 - from.t0, b = t1 - t0, span = a * Math.pow(b / a, e);
		var share = Math.abs(b - a) < 1e-9 ? e : (span - a) / (b - a), left = from.t0 + (t0 - from.t0) * share;
		lookAt(v, left, left + span);
		if (p < 1)
			requestAnimationFrame(step);
	})();
}

function zoomTo(v, hit) {
	var t0 = hit.row.start[hit.i], t1 = hit.row.end[hit.i], room = Math.max(0.2, t1 - t0) * 0.1;
	glideTo(v, t0 - room, t1 + room);
}

/* Scrolled to, unless it is in view: so far below the top. */
function scrollToPiece(v, hit, top) {
	if (hit.band.y < v.m.scroll || hit.band.y > v.m.scroll + v.port.clientHeight - 20)
		v.port.scrollTop = top;
}

/* ---- in words ---- */

function detailsOf(v, hit) {
	var o = v.m.o, row = hit.row, i = hit.i, launched = row.launch && row.launch[i] >= 0;
	return [
		el("h4", null, nameOf(o, hit), button("Zoom to it", { class: "ib" }, function () { zoomTo(v, hit); }),
			button("Find all", { class: "ib" }, function () { v.find(nameOf(o, hit)); })),
		factList([
			["duration", dur(row.end[i] - row.start[i])], ["start", dur(row.start[i])],
			["where", placeOf(o, hit) || "not known"],
			["lane", laneTitle(hit.lane) + " " + laneNote(hit.lane)],
			row.count[i] > 1 ? ["stands for", plural(row.count[i], "piece")] : null,
			launched ? ["launch to start", dur(row.start[i] - row.launch[i])] : null
		])
	];
}

/* NULL: nothing. */
function selectPiece(v, hit) {
	v.m.selected = hit;
	v.m.span = null;
	v.details.replaceChildren.apply(v.details, hit ? detailsOf(v, hit) : [
		el("p", null, "Nothing is selected. Click a piece for its figures, " +
			"or drag over a stretch to sum it up.")
	]);
	drawOverlay(v);
}

function showSums(v, t0, t1, more) {
	var title = dur(t1 - t0) + " from " + dur(t0) + ": what took the time" + more;
	v.details.replaceChildren.apply(v.details, sumTable(v.m.o, t0, t1, title));
}

/* Where pieces are put together, a finer report of the stretch is one command away. */
function sayStretch(v) {
	var m = v.m, words = stretchWords(m), at = slowInView(m), coarse = isCoarse(m, v.port.clientWidth);
	if (words !== v.said) {
		clearTimeout(v.saying);
		v.said = words;
		v.heading.textContent = shown(at ? "A slow " + at.name + ": " + dur(at.t1 - at.t0) : words);
		/* Sums cost more than a frame has: they are told when it stands still. */
		v.saying = setTimeout(function () {
			v.heading.textContent = shown(v.heading.textContent.split("; ")[0] + findings(m, at));
		}, 90);
	}
	v.finer.hidden = !coarse;
	if (coarse)
		v.finerCommand.textContent = "inferscope analyze TRACE --from " + (m.t0 / 1e3).toFixed(3) + "ms --to " +
			(m.t1 / 1e3).toFixed(3) + "ms --output part.html";
}
