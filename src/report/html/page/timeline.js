/* timeline.js - threads, GPUs and counters on one clock: zoom, move, select, search. */

var ZOOM_STEP = 1.5, GLIDE_MS = 320, TIMELINE_HIGHEST = 620, FLOWS_MOST = 260;
var timeline = null;

function goTo(startUs, durUs) {
	if (timeline)
		timeline.show(startUs, durUs);
}

function makeTimeline() {
	var o = readLanes();
	if (!o)
		return null;
	var section = openSection("timeline", "Timeline"), heading = el("h2", { id: "timeline-title" });
	var ruler = el("canvas", { "aria-hidden": "true" }), canvas = el("canvas", { "aria-hidden": "true" }), over = el("canvas", { "aria-hidden": "true" }), map = el("canvas", { "aria-hidden": "true" });
	var stage = el("div", { class: "stage" }, canvas, over), spacer = el("div", { class: "spacer" }, stage);
	var view = el("div", { class: "view scroll", tabindex: 0, role: "application", "aria-labelledby": "timeline-title", "aria-describedby": "timeline-how" }, spacer);
	var rulerBox = el("div", { class: "ruler" }, ruler), mapBox = el("div", { class: "map" }, map);
	var details = el("div", { class: "det", "aria-live": "polite" });
	var whole = { t0: o.from_us, t1: Math.max(o.to_us, o.from_us + 1) };
	var s = { t0: whole.t0, t1: whole.t1, scroll: 0, matches: null, found: [], at: -1, selected: null, span: null, hover: null, flows: true };
	var shape = layout(o), colours = null, frame = 0, glide = 0, pointer = 0.5, frames = 0;
	var slow = slowScopes(), slowAt = -1;

	function slowScopes() {
		var list = [], chosen = mainScope();
		report.scopes.filter(function (scope) { return chosen ? scope.name === chosen.name : scope.count > 1; }).forEach(function (scope) { slowestOf(scope).forEach(function (one) { list.push({ t0: one.start_us, t1: one.start_us + one.dur_us, name: scope.name, lane: one.lane }); }); });
		return list.sort(function (a, b) { return (b.t1 - b.t0) - (a.t1 - a.t0); }).slice(0, 10);
	}
	function labelWidth() {
		return view.clientWidth < 620 ? 0 : BAND.label;
	}

	/* ---- drawing ---- */

	function size(node, w, h, ratio) {
		if (node.width !== Math.round(w * ratio) || node.height !== Math.round(h * ratio)) {
			node.width = Math.round(w * ratio);
			node.height = Math.round(h * ratio);
			node.style.width = w + "px";
			node.style.height = h + "px";
		}
	}
	function draw() {
		frame = 0;
		var began = performance.now(), ratio = Math.min(devicePixelRatio || 1, 2), w = view.clientWidth, h = Math.min(TIMELINE_HIGHEST, shape.height);
		if (w === 0)
			return;
		colours = colours || palette(o);
		spacer.style.height = shape.height + "px";
		view.style.height = h + "px";
		size(canvas, w, h, ratio);
		size(over, w, h, ratio);
		size(ruler, w, BAND.ruler, ratio);
		var f = { o: o, p: colours, context: canvas.getContext("2d", { alpha: false }), rulerContext: ruler.getContext("2d"), ratio: ratio, width: canvas.width, height: canvas.height, left: Math.round(labelWidth() * ratio),
			t0: s.t0, t1: s.t1, scroll: s.scroll, matches: s.matches, texts: [], slow: slowInView() };
		f.scale = (f.width - f.left) / (s.t1 - s.t0);
		if (!s.image || s.image.width !== f.width || s.image.height !== f.height) {
			s.image = f.context.createImageData(f.width, f.height);
			s.pixels = new Uint32Array(s.image.data.buffer);
		}
		f.pixels = s.pixels;
		f.pixels.fill(colours.panel);
		shape.bands.forEach(function (band) {
			var y = Math.round((band.y - s.scroll) * ratio);
			if (y > f.height || band.y + band.h < s.scroll)
				return;
			if (!band.counter)
				fillPixels(f, f.left, f.width, y, Math.round(band.h * ratio), colours.lane, false);
			if (!band.counter)
				band.rows.forEach(function (row) { drawRow(f, band, row); });
		});
		f.context.putImageData(s.image, 0, 0);
		drawOver(f);
		drawMap();
		say();
		performance.measure("timeline frame", { start: began });
		if (++frames % 500 === 0)
			performance.clearMeasures("timeline frame");
	}
	function drawOver(f) {
		var context = f.context, ratio = f.ratio, font = 11 * ratio + "px Inter, system-ui, sans-serif", i;
		useFont(context, font);
		useFont(f.rulerContext, font);
		f.rulerContext.clearRect(0, 0, ruler.width, ruler.height);
		f.rulerContext.fillStyle = colour("muted");
		drawRuler(f);
		for (i = 0; i < f.texts.length; i += 6) {
			var v = f.texts[i + 4], room = f.texts[i + 1] - f.texts[i] - 8 * ratio, many = f.texts[i + 5];
			context.fillStyle = inkOn("rgb(" + (v & 255) + "," + (v >> 8 & 255) + "," + (v >> 16 & 255) + ")");
			context.fillText(fit(context, (many > 1 ? "x" + count(many) + " " : "") + o.labels[f.texts[i + 3]], room), f.texts[i] + 4 * ratio, (f.texts[i + 2] + 12) * ratio);
		}
		shape.bands.forEach(function (band) {
			if (band.counter && band.y - s.scroll < f.height / ratio && band.y + band.h > s.scroll)
				drawCounter(f, band, band.rows[0]);
		});
		drawLabels(f);
		drawOverlay();
	}
	function drawLabels(f) {
		var context = f.context, ratio = f.ratio, narrow = f.left === 0;
		if (!narrow) {
			context.fillStyle = colour("panel");
			context.fillRect(0, 0, f.left - 1, f.height);
		}
		o.order.forEach(function (lane) {
			var y = lane.y - s.scroll;
			if (y > f.height / ratio || y + lane.h < 0)
				return;
			useFont(context, "600 " + 12 * ratio + "px Inter, system-ui, sans-serif");
			context.fillStyle = colour("ink");
			var fold = lane.kind === "thread" && lane.rows.some(function (r) { return r.kind === "call"; }) ? (lane.open > 1 || (lane.open && !lane.deep) ? "\u25be " : lane.open ? "\u25bf " : "\u25b8 ") : "";
			if (narrow) {
				/* No room beside the lanes: over the first of them. */
				useFont(context, 10.5 * ratio + "px Inter, system-ui, sans-serif");
				var words = fit(context, laneTitle(lane), f.width / 2), wide = widthOf(context, words) + 8 * ratio;
				context.fillStyle = colour("panel");
				context.fillRect(0, y * ratio, wide, 13 * ratio);
				context.fillStyle = colour("ink");
				context.fillText(words, 4 * ratio, (y + 10) * ratio);
				return;
			}
			context.fillText(fit(context, fold + laneTitle(lane), f.left - 16 * ratio), 10 * ratio, (y + 12) * ratio);
			useFont(context, 11 * ratio + "px Inter, system-ui, sans-serif");
			context.fillStyle = colour("muted");
			context.fillText(fit(context, laneNote(lane), f.left - 16 * ratio), 10 * ratio, (y + 26) * ratio);
		});
		context.strokeStyle = colour("line");
		context.beginPath();
		o.order.forEach(function (lane) {
			var y = Math.round((lane.y - s.scroll - BAND.gap / 2) * ratio) + 0.5;
			context.moveTo(0, y);
			context.lineTo(f.width, y);
		});
		context.stroke();
	}
	function xOf(t) {
		return labelWidth() + (t - s.t0) / (s.t1 - s.t0) * (view.clientWidth - labelWidth());
	}
	function tOf(x) {
		return s.t0 + (x - labelWidth()) / (view.clientWidth - labelWidth()) * (s.t1 - s.t0);
	}
	/* What is selected or under the pointer, and flows: over the rest, so that a move costs little. */
	function drawOverlay() {
		var context = over.getContext("2d"), ratio = Math.min(devicePixelRatio || 1, 2);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, view.clientWidth, over.height / ratio);
		context.save();
		context.beginPath();
		context.rect(labelWidth(), 0, view.clientWidth, over.height);
		context.clip();
		drawFlows(context);
		[s.hover, s.selected].forEach(function (hit, i) {
			if (!hit)
				return;
			var xa = Math.max(labelWidth(), xOf(hit.row.start[hit.i])), xb = Math.min(view.clientWidth, xOf(hit.row.end[hit.i]));
			context.strokeStyle = colour("ink");
			context.lineWidth = i ? 2 : 1;
			context.strokeRect(xa - 0.5, hit.band.y - s.scroll - 0.5, Math.max(2, xb - xa), hit.band.h + 1);
		});
		if (s.span) {
			var a = xOf(Math.min(s.span.t0, s.span.t1)), b = xOf(Math.max(s.span.t0, s.span.t1));
			context.fillStyle = colour("accent");
			context.globalAlpha = 0.16;
			context.fillRect(a, 0, b - a, over.height);
			context.globalAlpha = 1;
			context.fillRect(a, 0, 1, over.height);
			context.fillRect(b, 0, 1, over.height);
		}
		context.restore();
	}
	function launchBand(lane, t) {
		var best = null;
		shape.bands.forEach(function (band) {
			if (band.lane !== lane || band.rows[0].kind !== "call")
				return;
			var row = band.rows[0], i = firstAfter(row, t);
			if (i < row.n && row.start[i] <= t)
				best = band;
		});
		return best || shape.bands.filter(function (band) { return band.lane === lane; })[0];
	}
	function flow(context, band, row, i, strong) {
		var from = row.launch && row.launch[i] >= 0 ? launchBand(o.lanes[row.launchLane[i]], row.launch[i]) : null;
		if (!from)
			return;
		var xa = xOf(row.launch[i]), xb = xOf(row.start[i]), below = from.y > band.y, ya = from.y + (below ? 0 : from.h) - s.scroll, yb = band.y + (below ? band.h : 0) - s.scroll, middle = (ya + yb) / 2;
		context.strokeStyle = colour(strong ? "ink" : "muted");
		context.globalAlpha = strong ? 1 : 0.45;
		context.lineWidth = strong ? 1.6 : 1;
		context.beginPath();
		context.moveTo(xa, ya);
		context.bezierCurveTo(xa, middle, xb, middle, xb, yb);
		context.stroke();
		context.globalAlpha = 1;
	}
	function drawFlows(context) {
		var work = shape.bands.filter(function (band) { return band.rows[0].kind === "work"; }), total = 0;
		var ranges = work.map(function (band) {
			var row = band.rows[0], i = firstAfter(row, s.t0), j = startsFrom(row, Math.min(i, Math.max(0, row.n - 1)), s.t1);
			total += Math.max(0, j - i);
			return [band, row, i, j];
		});
		if (s.flows && total <= FLOWS_MOST)
			ranges.forEach(function (r) { for (var i = r[2]; i < r[3]; i++) flow(context, r[0], r[1], i, false); });
		[s.hover, s.selected].forEach(function (hit) { if (hit && hit.row.kind === "work") flow(context, hit.band, hit.row, hit.i, true); });
	}
	function redraw() {
		if (!frame)
			frame = requestAnimationFrame(draw);
	}

	/* ---- the map of the whole ---- */

	function drawMap() {
		var w = mapBox.clientWidth, h = mapBox.clientHeight, ratio = Math.min(devicePixelRatio || 1, 2), context = map.getContext("2d");
		size(map, w, h, ratio);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, w, h);
		var shown = o.order.filter(function (l) { return l.focus || l.kind === "stream"; }).slice(0, 3), each = (h - 8) / Math.max(1, shown.length), step = 2;
		if (!s.mapCache || s.mapCache.w !== w)
			s.mapCache = { w: w, rows: shown.map(function (lane) {
				var row = lane.rows.filter(function (r) { return r.kind === (lane.kind === "stream" ? "work" : "run"); })[0] || lane.rows.filter(function (r) { return r.kind === "call" || r.kind === "work"; })[0] || lane.rows[0];
				var list = [];
				for (var x = 0; x < w; x += step) {
					var a = whole.t0 + x / w * (whole.t1 - whole.t0), b = whole.t0 + (x + step) / w * (whole.t1 - whole.t0);
					list.push(covered(row, a, b) / (b - a));
				}
				return { list: list, colour: lane.kind === "stream" ? "g-gemm" : "s-native", words: laneTitle(lane) + (lane.kind === "stream" ? " busy" : row.kind === "run" ? " on a CPU" : " in calls") };
			}) };
		useFont(context, "10.5px Inter, system-ui, sans-serif");
		s.mapCache.rows.forEach(function (row, i) {
			context.fillStyle = colour(row.colour);
			row.list.forEach(function (share, k) { context.fillRect(k * step, 4 + (i + 1) * each - share * (each - 3), step, share * (each - 3)); });
			context.fillStyle = colour("panel");
			context.globalAlpha = 0.75;
			context.fillRect(2, 4 + i * each, widthOf(context, row.words) + 8, 13);
			context.globalAlpha = 1;
			context.fillStyle = colour("ink");
			context.fillText(row.words, 6, 14 + i * each);
		});
		context.fillStyle = colour("muted");
		slow.forEach(function (one) {
			var x = (one.t0 - whole.t0) / (whole.t1 - whole.t0) * w;
			context.beginPath();
			context.moveTo(x - 4, 0);
			context.lineTo(x + 4, 0);
			context.lineTo(x, 6);
			context.fill();
		});
		var a = (s.t0 - whole.t0) / (whole.t1 - whole.t0) * w, b = (s.t1 - whole.t0) / (whole.t1 - whole.t0) * w;
		context.strokeStyle = colour("accent");
		context.lineWidth = 2;
		context.strokeRect(a + 1, 1, Math.max(3, b - a - 2), h - 2);
	}
	mapBox.addEventListener("pointerdown", function (e) {
		mapBox.setPointerCapture(e.pointerId);
		mapMove(e);
	});
	mapBox.addEventListener("pointermove", function (e) { if (e.buttons) mapMove(e); });
	function mapMove(e) {
		var box = mapBox.getBoundingClientRect(), t = whole.t0 + (e.clientX - box.left) / box.width * (whole.t1 - whole.t0), half = (s.t1 - s.t0) / 2;
		look(t - half, t + half);
	}

	/* ---- where it looks ---- */

	function look(t0, t1) {
		var span = Math.max(0.05, Math.min(t1 - t0, whole.t1 - whole.t0));
		t0 = Math.max(whole.t0, Math.min(t0, whole.t1 - span));
		s.t0 = t0;
		s.t1 = t0 + span;
		redraw();
	}
	function glideTo(t0, t1) {
		var from = { t0: s.t0, t1: s.t1 }, began = performance.now(), mine = ++glide;
		if (still())
			return look(t0, t1);
		(function step() {
			if (mine !== glide)
				return;
			var p = Math.min(1, (performance.now() - began) / GLIDE_MS), e = 1 - Math.pow(1 - p, 3);
			/* Evenly in factors: a zoom of a thousand does not rush at its end. */
			var a = from.t1 - from.t0, b = t1 - t0, span = a * Math.pow(b / a, e), share = Math.abs(b - a) < 1e-9 ? e : (span - a) / (b - a);
			var left = from.t0 + (t0 - from.t0) * share;
			look(left, left + span);
			if (p < 1)
				requestAnimationFrame(step);
		})();
	}
	function zoom(factor, share) {
		var span = s.t1 - s.t0, t = s.t0 + span * share;
		glide++;
		look(t - span / factor * share, t + span / factor * (1 - share));
	}
	function move(share) {
		var span = s.t1 - s.t0;
		glide++;
		look(s.t0 + span * share, s.t1 + span * share);
	}
	function show(startUs, durUs) {
		byId("timeline").scrollIntoView({ block: "start", behavior: still() ? "auto" : "smooth" });
		view.focus({ preventScroll: true });
		slow.forEach(function (one, i) {
			if (one.t0 === startUs) {
				slowAt = i;
				markSlow(one);
			}
		});
		glideTo(startUs - durUs * 0.06, startUs + durUs * 1.06);
	}
	function goSlow(step) {
		if (slow.length === 0)
			return;
		slowAt = (slowAt + step + slow.length) % slow.length;
		var one = slow[slowAt], room = (one.t1 - one.t0) * 0.06;
		markSlow(one);
		glideTo(one.t0 - room, one.t1 + room);
	}
	/* The scope itself, selected: where it is among all lanes can be seen. */
	function markSlow(one) {
		var hit = null;
		shape.bands.forEach(function (band) {
			var row = band.rows[0], i = row.kind === "scope" && band.lane === one.lane ? firstAfter(row, (one.t0 + one.t1) / 2) : row.n;
			if (!hit && i < row.n && o.names[row.name[i]] === one.name && Math.abs(row.start[i] - one.t0) < 1 && Math.abs(row.end[i] - one.t1) < 1)
				hit = { band: band, row: row, i: i, lane: band.lane };
		});
		if (!hit)
			return;
		select(hit);
		if (hit.band.y < s.scroll || hit.band.y > s.scroll + view.clientHeight - 20)
			view.scrollTop = hit.lane.y - 10;
	}

	/* ---- what is there ---- */

	function find(e) {
		var box = view.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top + s.scroll, near = (s.t1 - s.t0) / Math.max(1, view.clientWidth) * 2, hit = null;
		if (x < labelWidth())
			return null;
		shape.bands.forEach(function (band) {
			if (y < band.y || y > band.y + band.h || band.counter)
				return;
			band.rows.forEach(function (row) {
				var t = tOf(x), i = firstAfter(row, t - near);
				if (i < row.n && row.start[i] <= t + near)
					hit = { band: band, row: row, i: i, lane: band.lane };
			});
		});
		return hit;
	}
	function select(hit) {
		s.selected = hit;
		s.span = null;
		if (!hit)
			details.replaceChildren(el("p", null, "Nothing is selected. Click a piece for its figures, or drag over a stretch to sum it up."));
		else
			details.replaceChildren(el("h4", null, nameOf(o, hit), button("Zoom to it", { class: "ib" }, function () { zoomTo(hit); }), button("Find all", { class: "ib" }, function () { box.input.value = nameOf(o, hit); seek(nameOf(o, hit)); })),
				factList([["duration", dur(hit.row.end[hit.i] - hit.row.start[hit.i])], ["start", dur(hit.row.start[hit.i])], ["where", placeOf(o, hit) || "not known"], ["lane", laneTitle(hit.lane) + " " + laneNote(hit.lane)],
					hit.row.count[hit.i] > 1 ? ["stands for", plural(hit.row.count[hit.i], "piece")] : null,
					hit.row.launch && hit.row.launch[hit.i] >= 0 ? ["launch to start", dur(hit.row.start[hit.i] - hit.row.launch[hit.i])] : null]));
		drawOverlay();
	}
	function zoomTo(hit) {
		var length = Math.max(0.2, hit.row.end[hit.i] - hit.row.start[hit.i]);
		glideTo(hit.row.start[hit.i] - length * 0.1, hit.row.end[hit.i] + length * 0.1);
	}
	function tableOf(t0, t1, title) {
		details.replaceChildren.apply(details, sumTable(o, t0, t1, title));
	}
	function slowInView() {
		return slow.filter(function (one) { return one.t0 >= s.t0 && one.t1 <= s.t1 && (one.t1 - one.t0) > (s.t1 - s.t0) * 0.5; })[0] || null;
	}
	/* What is to be seen: what stopped the thread, and how busy GPUs were. */
	function findings(at) {
		var lane = (at && at.lane) || o.order.filter(function (l) { return l.focus; })[0], t0 = at ? at.t0 : s.t0, t1 = at ? at.t1 : s.t1;
		var words = lane ? waitWords(o, lane, t0, t1) : "", gpus = o.order.filter(function (l) { return l.kind === "stream"; });
		var gpu = gpus.filter(function (l) { return l.device === report.verdict.device_id; })[0] || gpus[0], work = gpu ? workIn(o, gpu.device, t0, t1) : -1;
		return (words ? "; " + words : "") + (work >= 0 ? "; " + laneTitle(gpu) + " works " + pct(work / (t1 - t0) * 100) + " of it" : "");
	}
	/* Where pieces are put together, a finer report of the stretch is one command away. */
	function say() {
		var span = s.t1 - s.t0, inside = o.kept.some(function (k) { return k[0] <= s.t0 && k[1] >= s.t1; });
		var words = span >= (whole.t1 - whole.t0) * 0.999 ? "All of it: " + dur(span) + " of " + plural(o.order.filter(function (l) { return l.kind === "thread"; }).length, "thread") : dur(span) + " from " + dur(s.t0) + " on";
		var at = slowInView();
		if (words !== s.said) {
			clearTimeout(s.saying);
			s.said = words;
			heading.textContent = shown(at ? "A slow " + at.name + ": " + dur(at.t1 - at.t0) : words);
			/* Sums cost more than a frame has: they are told when it stands still. */
			s.saying = setTimeout(function () { heading.textContent = shown(heading.textContent.split("; ")[0] + findings(at)); }, 90);
		}
		var coarse = o.grain_us > 0 && !inside && span / Math.max(1, view.clientWidth) < o.grain_us / 4;
		finer.hidden = !coarse;
		if (coarse)
			finerCommand.textContent = "inferscope analyze TRACE --from " + (s.t0 / 1e3).toFixed(3) + "ms --to " + (s.t1 / 1e3).toFixed(3) + "ms --output part.html";
	}
	var finerCommand = el("code"), finer = el("p", { class: "cap finer", hidden: true }, "Pieces here are put together, as each would be shorter than " + dur(o.grain_us) + ". All of them: ", finerCommand, " ", copyButton("Copy", function () { return finerCommand.textContent; }, "copy"));

	/* ---- search ---- */

	function seek(text) {
		var q = text.toLowerCase(), n = 0;
		s.matches = q ? new Uint8Array(o.names.length) : null;
		s.found = [];
		s.at = -1;
		if (q)
			o.names.forEach(function (name, i) { s.matches[i] = name.toLowerCase().indexOf(q) >= 0 || (o.files[i] || "").toLowerCase().indexOf(q) >= 0 ? 1 : 0; });
		if (q)
			shape.bands.forEach(function (band) {
				band.rows.forEach(function (row) {
					if (row.kind === "run" || row.kind === "wait" || row.kind === "counter")
						return;
					for (var i = 0; i < row.n; i++)
						if (s.matches[row.name[i]]) {
							n += row.count[i];
							if (s.found.length < 20000)
								s.found.push({ band: band, row: row, i: i, lane: band.lane });
						}
				});
			});
		s.found.sort(function (a, b) { return a.row.start[a.i] - b.row.start[b.i]; });
		box.found.textContent = q ? plural(n, "match", "matches") : "";
		redraw();
	}
	function goFound(step) {
		if (s.found.length === 0)
			return;
		s.at = (s.at + step + s.found.length) % s.found.length;
		var hit = s.found[s.at], span = s.t1 - s.t0, t = hit.row.start[hit.i];
		if (t < s.t0 || t > s.t1)
			glideTo(t - span / 2, t + span / 2);
		if (hit.band.y < s.scroll || hit.band.y > s.scroll + view.clientHeight - 20)
			view.scrollTop = hit.band.y - 60;
		select(hit);
	}
	var box = search("Search the timeline", "function, kernel, file:line", seek);
	box.input.addEventListener("keydown", function (e) {
		if (e.key === "Enter") {
			e.preventDefault();
			goFound(e.shiftKey ? -1 : 1);
		}
	});

	/* ---- pointer ---- */

	var drag = null, fingers = new Map();
	view.addEventListener("pointerdown", function (e) {
		var r = view.getBoundingClientRect(), x = e.clientX - r.left;
		if (e.button !== 0)
			return;
		if (x < labelWidth())
			return fold(e);
		fingers.set(e.pointerId, e.clientX);
		drag = { x: x, t: tOf(x), moved: false, pan: e.pointerType === "touch" || e.altKey, t0: s.t0, t1: s.t1, apart: 0 };
		if (fingers.size === 2) {
			var both = Array.from(fingers.values());
			drag.apart = Math.abs(both[0] - both[1]);
		}
		if (e.pointerType !== "touch")
			view.setPointerCapture(e.pointerId);
	});
	view.addEventListener("pointermove", function (e) {
		var r = view.getBoundingClientRect(), x = e.clientX - r.left;
		pointer = Math.max(0, Math.min(1, (x - labelWidth()) / Math.max(1, r.width - labelWidth())));
		if (fingers.has(e.pointerId))
			fingers.set(e.pointerId, e.clientX);
		if (drag && fingers.size === 2 && drag.apart > 0) {
			var both = Array.from(fingers.values()), apart = Math.max(10, Math.abs(both[0] - both[1]));
			zoom(apart / drag.apart, ((both[0] + both[1]) / 2 - r.left - labelWidth()) / (r.width - labelWidth()));
			drag.apart = apart;
			drag.moved = true;
			return;
		}
		if (drag && Math.abs(x - drag.x) > 3)
			drag.moved = true;
		if (drag && drag.moved && drag.pan) {
			var by = (drag.x - x) / (r.width - labelWidth()) * (drag.t1 - drag.t0);
			return look(drag.t0 + by, drag.t1 + by);
		}
		if (drag && drag.moved) {
			s.span = { t0: drag.t, t1: Math.max(s.t0, Math.min(s.t1, tOf(x))) };
			tip(e, dur(Math.abs(s.span.t1 - s.span.t0)), []);
			return drawOverlay();
		}
		s.hover = find(e);
		tip(e, s.hover ? nameOf(o, s.hover) : null, s.hover ? linesOf(o, s.hover) : []);
		drawOverlay();
	});
	function letGo(e) {
		fingers.delete(e.pointerId);
		if (drag && !drag.moved)
			select(find(e));
		else if (drag && s.span && !drag.pan) {
			var a = Math.min(s.span.t0, s.span.t1), b = Math.max(s.span.t0, s.span.t1);
			tableOf(a, b, dur(b - a) + " from " + dur(a) + ": what took the time. Enter zooms to it");
		}
		drag = null;
		tip(e, null);
	}
	view.addEventListener("pointerup", letGo);
	view.addEventListener("pointercancel", function (e) { fingers.delete(e.pointerId); drag = null; });
	view.addEventListener("pointerleave", function (e) { s.hover = null; tip(e, null); drawOverlay(); });
	view.addEventListener("dblclick", function (e) { var hit = find(e); if (hit) zoomTo(hit); });
	view.addEventListener("wheel", function (e) {
		var r = view.getBoundingClientRect(), share = Math.max(0, Math.min(1, (e.clientX - r.left - labelWidth()) / (r.width - labelWidth())));
		if (e.ctrlKey || e.metaKey || (document.activeElement === view && !e.shiftKey && Math.abs(e.deltaY) > Math.abs(e.deltaX))) {
			e.preventDefault();
			zoom(Math.pow(1.0018, -e.deltaY), share);
		} else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			e.preventDefault();
			move(e.deltaX / r.width);
		}
	}, { passive: false });
	view.addEventListener("scroll", function () { s.scroll = view.scrollTop; redraw(); });
	function fold(e) {
		var y = e.clientY - view.getBoundingClientRect().top + s.scroll;
		o.order.forEach(function (lane) {
			if (lane.kind === "thread" && y >= lane.y && y < lane.y + lane.h) {
				lane.open = lane.open === 0 ? 1 : lane.open === 1 && lane.deep ? 2 : 0;
				shape = layout(o);
				s.hover = s.selected = null;
				redraw();
			}
		});
	}

	/* ---- keys: of the timeline when it has the focus, or is what is on the screen ---- */

	function key(e) {
		switch (e.key) {
		case "w": case "W": zoom(ZOOM_STEP, pointer); break;
		case "s": case "S": zoom(1 / ZOOM_STEP, pointer); break;
		case "a": case "A": case "ArrowLeft": move(-0.15); break;
		case "d": case "D": case "ArrowRight": move(0.15); break;
		case "0": glideTo(whole.t0, whole.t1); break;
		case "f": case "Enter":
			if (s.span)
				glideTo(Math.min(s.span.t0, s.span.t1), Math.max(s.span.t0, s.span.t1));
			else if (s.selected)
				zoomTo(s.selected);
			else
				return false;
			break;
		case "[": goSlow(-1); break;
		case "]": goSlow(1); break;
		case "n": goFound(1); break;
		case "p": goFound(-1); break;
		case "Escape": select(null); break;
		default: return false;
		}
		return true;
	}

	var tools = el("div", { class: "tbar" }, box.node, button("+", { class: "ib", "aria-label": "Zoom in", title: "w" }, function () { zoom(ZOOM_STEP * ZOOM_STEP, 0.5); }),
		button("\u2212", { class: "ib", "aria-label": "Zoom out", title: "s" }, function () { zoom(1 / ZOOM_STEP / ZOOM_STEP, 0.5); }), button("All", { class: "ib", title: "0" }, function () { glideTo(whole.t0, whole.t1); }),
		slow.length ? [button("\u2039", { class: "ib", "aria-label": "Slow scope before", title: "[" }, function () { goSlow(-1); }), button("Slowest", { class: "ib" }, function () { slowAt = -1; goSlow(1); }),
			button("\u203a", { class: "ib", "aria-label": "Next slow scope", title: "]" }, function () { goSlow(1); })] : null,
		o.lanes.some(function (l) { return l.kind === "stream"; }) ? button("Flows", { class: "ib", "aria-pressed": "true" }, function (e) {
			s.flows = !s.flows;
			e.currentTarget.setAttribute("aria-pressed", String(s.flows));
			drawOverlay();
		}) : null,
		button("As a table", { class: "ib" }, function () { tableOf(s.t0, s.t1, dur(s.t1 - s.t0) + " from " + dur(s.t0) + ": what took the time"); }),
		el("span", { class: "hint" }, "Drag to sum up, ", el("kbd", null, "w"), el("kbd", null, "a"), el("kbd", null, "s"), el("kbd", null, "d"), " or Ctrl and the wheel to move, ", el("kbd", null, "?"), " help"));
	section.append(el("div", { class: "lede" }, el("div", null, el("p", { class: "eyebrow" }, "Timeline"), heading)),
		el("p", { class: "vh", id: "timeline-how" }, "Keys: w and s zoom, a and d or arrows move, 0 shows all, brackets go to slow scopes, Enter zooms to what is selected. The button As a table lists what is in view."),
		el("div", { class: "tl" }, tools, mapBox, rulerBox, view, details), finer);
	select(null);
	if (slow.length > 0)
		goFirst();
	function goFirst() {
		slowAt = 0;
		look(slow[0].t0 - (slow[0].t1 - slow[0].t0) * 0.06, slow[0].t1 + (slow[0].t1 - slow[0].t0) * 0.06);
	}
	draw();
	if (slow.length > 0)
		markSlow(slow[0]);
	onRepaint(function () { colours = null; s.mapCache = null; draw(); });
	return { lanes: o, search: box.input, show: show, key: key, focused: function () { return document.activeElement === view || inView("timeline"); } };
}

function drawTimeline() {
	timeline = makeTimeline();
}
