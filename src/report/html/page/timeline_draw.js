/* timeline_draw.js - a frame of the timeline: it costs pixels, not events.
 *
 * Pieces go into a buffer of pixels that is put onto the canvas at once; names are written over it.  Where
 * several pieces share a pixel, it shows how much of its time they cover. */

var BAND = { state: 12, row: 17, work: 18, counter: 34, gap: 10, label: 150, ruler: 24 };
var CALLS_SHOWN = 18;
var TEXT_FROM = 30; /* pixels that a name needs */

function packed(css) {
	var c = rgb(css);
	return (255 << 24 | c[2] << 16 | c[1] << 8 | c[0]) >>> 0;
}

function mixed(a, b, share) {
	var r = (a & 255) * share + (b & 255) * (1 - share), g = (a >> 8 & 255) * share + (b >> 8 & 255) * (1 - share),
	    bl = (a >> 16 & 255) * share + (b >> 16 & 255) * (1 - share);
	return (255 << 24 | bl << 16 | g << 8 | r) >>> 0;
}

/* What colours pieces have, by theme. */
function palette(o) {
	var p = {
		panel: packed(colour("panel")),
		lane: packed(colour("lane")),
		accent: packed(colour("accent")),
		states: [],
		hatched: [],
		names: [],
		css: []
	};
	o.states.forEach(function (key, i) {
		p.states[i] = packed(colour("s-" + key));
		p.hatched[i] = STATES[key] && STATES[key][1] === WAIT;
	});
	p.python = packed(colour("s-python"));
	p.native = packed(colour("s-native"));
	p.scopes = ["scope-a", "scope-b", "scope-c", "scope-d"].map(function (c) { return packed(colour(c)); });
	o.names.forEach(function (name, i) {
		o.labels[i] = pieceLabel(o, i);
		p.names[i] = o.classes[i] ? packed(colour(classColour(o.classes[i])))
					  : mixed(p.python, p.panel, 0.72 + 0.28 * ((i * 7) % 5) / 4);
	});
	return p;
}

/* "path/file.py(12): name" of other tools is shown as its name. */
function pieceLabel(o, i) {
	var name = o.names[i], at = name.lastIndexOf("): ");
	if (o.classes[i]) /* of a kernel the name alone, without its return type, namespaces and templates */
		return name.replace(/^void /, "").replace(/[<(].*$/, "").split("::").pop() || name;
	if (!o.files[i] && at > 0 && /\(\d+$/.test(name.slice(0, at)))
		return name.slice(at + 3) === "<module>"
			? "(module " + name.slice(0, name.lastIndexOf("(", at)).split("/").pop() + ")"
			: name.slice(at + 3);
	return functionName({ name: name, file: o.files[i] });
}

function pieceColour(p, row, i) {
	if (row.kind === "run" || row.kind === "wait")
		return p.states[row.name[i]];
	return row.kind === "scope" ? p.scopes[(row.name[i] * 5 + row.depth) % 4] : p.names[row.name[i]];
}

/* Bands from top to bottom: y, height, rows that are drawn in it. */
function layout(o) {
	var bands = [], y = 4;
	o.order.forEach(function (lane, place) {
		var top = y, rows = { scope: [], call: [], work: [], counter: [] };
		lane.rows.forEach(function (r) { if (rows[r.kind]) rows[r.kind].push(r); });
		["scope", "call", "work"].forEach(function (k) {
			rows[k].sort(function (a, b) { return a.depth - b.depth; });
		});
		/* How many rows of calls are shown: none, the first, or all. */
		if (lane.open === undefined)
			lane.open = lane.kind !== "thread" || place < 6 ? 1 : 0;
		var lead = 0;
		/* Callers that only lead to one other for all the time tell least. */
		while (lead + 1 < rows.call.length && rows.call[lead].n <= 2 && rows.call[lead + 1].n <= 2)
			lead++;
		lane.deep = lead > 3 || rows.call.length > CALLS_SHOWN;
		if (lead <= 3)
			lead = 0;
		if (lane.rows.some(function (r) { return r.kind === "run" || r.kind === "wait"; })) {
			bands.push({
				lane: lane,
				y: y,
				h: BAND.state,
				rows: lane.rows.filter(function (r) { return r.kind === "run"; })
					.concat(lane.rows.filter(function (r) { return r.kind === "wait"; }))
			});
			y += BAND.state + 1;
		}
		rows.scope.forEach(function (r) {
			bands.push({ lane: lane, y: y, h: BAND.row - 1, rows: [r] });
			y += BAND.row;
		});
		if (lane.open)
			rows.call.slice(lane.open > 1 ? 0 : lead, lane.open > 1 ? Infinity : lead + CALLS_SHOWN)
				.forEach(function (r) {
					bands.push({ lane: lane, y: y, h: BAND.row - 1, rows: [r] });
					y += BAND.row;
				});
		rows.work.slice(0, lane.open ? 8 : 1).forEach(function (r) {
			bands.push({ lane: lane, y: y, h: BAND.work - 1, rows: [r] });
			y += BAND.work;
		});
		rows.counter.forEach(function (r) {
			bands.push({ lane: lane, y: y, h: BAND.counter, rows: [r], counter: true });
			y += BAND.counter + 2;
		});
		y = Math.max(y, top + 32);
		lane.y = top;
		lane.h = y - top;
		y += BAND.gap;
	});
	return { bands: bands, height: y };
}

function fillPixels(f, x0, x1, y, h, value, hatched) {
	var w = f.width, light = hatched ? mixed(f.p.panel, value, 0.5) : value, top = Math.max(0, y),
	    bottom = Math.min(f.height, y + h), dense = f.ratio > 1 ? 10 : 6;
	for (var yy = top; yy < bottom; yy++) {
		var at = yy * w;
		if (!hatched)
			f.pixels.fill(value, at + x0, at + x1);
		else
			for (var x = x0; x < x1; x++)
				f.pixels[at + x] = (x + yy) % dense < dense / 3 ? light : value;
	}
}

/* One row into the buffer; names that fit are noted down. */
function drawRow(f, band, row) {
	var scale = f.scale, left = f.left, right = f.width, t0 = f.t0, i = firstAfter(row, t0),
	    state = row.kind === "run" || row.kind === "wait";
	var y = Math.round((band.y - f.scroll) * f.ratio), h = Math.max(1, Math.round(band.h * f.ratio)),
	    dim = f.matches;
	if (y >= f.height || y + h <= 0)
		return;
	while (i < row.n) {
		var xa = left + (row.start[i] - t0) * scale, xb = left + (row.end[i] - t0) * scale;
		if (xa >= right)
			break;
		var value = pieceColour(f.p, row, i), miss = dim && !state && !dim[row.name[i]];
		if (xb - xa >= 1.6) {
			var x0 = Math.max(left, Math.round(xa)),
			    x1 = Math.min(right, Math.max(Math.round(xa) + 1, Math.round(xb) - (xb - xa > 3 ? 1 : 0)));
			var share = row.count[i] > 1
				? Math.min(1, (row.sum[i + 1] - row.sum[i]) / (row.end[i] - row.start[i]))
				: 1;
			if (share < 1)
				value = mixed(value, f.p.lane, 0.25 + 0.6 * share);
			if (miss)
				value = mixed(value, f.p.panel, 0.22);
			fillPixels(f, x0, x1, y, h, value, state && f.p.hatched[row.name[i]]);
			if (x1 - x0 > TEXT_FROM * f.ratio && !state)
				f.texts.push(x0, x1, band.y - f.scroll, row.name[i], value, row.count[i]);
			i++;
			continue;
		}
		/* Several in a pixel: up to the first that is wide enough to be seen on its own. */
		var pixel = Math.max(left, Math.floor(xa)), until = t0 + (pixel + 1 - left) / scale,
		    j = startsFrom(row, i, until), k = j;
		if (k > i + 1 && (row.end[k - 1] - row.start[k - 1]) * scale >= 1.6)
			k--;
		var cover = Math.min(1, (row.sum[k] - row.sum[i]) * scale), hit = false;
		if (dim && !state && k - i < 64)
			for (var m = i; m < k && !hit; m++)
				hit = !!dim[row.name[m]];
		value = dim && !state ? (hit ? f.p.accent : mixed(value, f.p.panel, 0.22))
				      : mixed(value, f.p.lane, 0.3 + 0.7 * cover);
		if (pixel < right)
			fillPixels(f, pixel, pixel + 1, y, h, value, false);
		i = Math.max(k, i + 1);
	}
}

function drawCounter(f, band, row) {
	var values = f.o.values, most = -Infinity, least = 0, i, context = f.context, ratio = f.ratio,
	    y = band.y - f.scroll, started = false;
	for (i = 0; i < row.n; i++) {
		most = Math.max(most, values[row.name[i]]);
		least = Math.min(least, values[row.name[i]]);
	}
	if (!(most > least))
		most = least + 1;
	context.beginPath();
	i = Math.max(0, firstAfter(row, f.t0) - 1);
	for (var x = 0, lastX = f.left; i < row.n; i++) {
		x = Math.max(f.left, f.left + (row.start[i] - f.t0) * f.scale);
		var yy = (y + band.h - (values[row.name[i]] - least) / (most - least) * (band.h - 8)) * ratio;
		if (!started)
			context.moveTo(x, (y + band.h) * ratio);
		context.lineTo(x, started ? f.lastY : yy);
		context.lineTo(x, yy);
		f.lastY = yy;
		started = true;
		lastX = x;
		if (x > f.width)
			break;
	}
	context.lineTo(Math.min(f.width, lastX + 1), (y + band.h) * ratio);
	context.fillStyle = colour("grey");
	context.globalAlpha = 0.45;
	context.fill();
	context.globalAlpha = 1;
	context.fillStyle = colour("muted");
	context.textAlign = "right";
	context.fillText(number(most), f.width - 6 * ratio, (y + 10) * ratio);
	context.textAlign = "left";
}

/* Moments on the ruler, by even steps. */
function ticks(t0, t1, most) {
	var step = Math.pow(10, Math.floor(Math.log10((t1 - t0) / most))), list = [];
	while ((t1 - t0) / step > most)
		step *= (t1 - t0) / (step * 2) <= most ? 2 : (t1 - t0) / (step * 5) <= most ? 5 : 10;
	for (var t = Math.ceil(t0 / step) * step; t < t1 && list.length < 50; t += step)
		list.push(t);
	return { step: step, list: list };
}

/* Deep in a trace the moments themselves cannot be read: one stands at the left, and the others are told from it on. */
function drawRuler(f) {
	var context = f.context, ratio = f.ratio, pen = f.rulerContext,
	    most = Math.max(2, (f.width - f.left) / ratio / 110), span = f.t1 - f.t0;
	var base = f.slow	     ? f.slow.t0
		: f.t0 > span * 0.05 ? f.t0
				     : 0,
	    marks = ticks(f.t0 - base, f.t1 - base, most), room = 0;
	context.strokeStyle = colour("line");
	context.lineWidth = 1;
	if (base > 0) {
		pen.fillStyle = colour("ink");
		pen.fillText("at " + dur(base), (f.left > 0 ? 10 : 4) * ratio, 15 * ratio);
		room = f.left > 0 ? f.left : 8 * ratio + widthOf(pen, "at " + dur(base));
	}
	pen.fillStyle = colour("muted");
	marks.list.forEach(function (t) {
		var x = Math.round(f.left + (t + base - f.t0) * f.scale) + 0.5,
		    words = Math.abs(t) < marks.step / 1e3 ? "0"
			: base > 0			   ? signed(t)
							   : dur(t);
		context.beginPath();
		context.moveTo(x, 0);
		context.lineTo(x, f.height);
		context.globalAlpha = 0.6;
		context.stroke();
		context.globalAlpha = 1;
		if (x >= room && x + 4 * ratio + widthOf(pen, words) <= f.width)
			pen.fillText(words, x + 4 * ratio, 15 * ratio);
	});
}
