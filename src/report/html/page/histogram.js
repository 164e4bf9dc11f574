/* histogram.js - how long a scope took, each time. */

var HIST = { h: 244, left: 4, bottom: 30, top: 56, bars: 56, few: 24 };

/* A duration as a share of the axis: in equal factors when they differ much, so that most do not fall into one bar. */
function axisOf(from, to) {
	var log = to > 8 * from && from > 0;
	return {
		log: log,
		share: function (us) {
			return log ? Math.log(us / from) / Math.log(to / from) : (us - from) / (to - from);
		},
		at: function (share) { return log ? from * Math.pow(to / from, share) : from + share * (to - from); },
	};
}

/* Bars of equal width, from the finer ones of the report; few are shown as they are. */
function regroup(bins, axis, n) {
	var out = [], i;
	if (bins.length <= HIST.few)
		return bins.map(function (b) { return { from: b.from_us, to: b.to_us, count: b.count }; });
	for (i = 0; i < n; i++)
		out.push({ from: axis.at(i / n), to: axis.at((i + 1) / n), count: 0 });
	bins.forEach(function (b) {
		var at = Math.floor(axis.share((b.from_us + b.to_us) / 2) * n);
		out[Math.max(0, Math.min(n - 1, at))].count += b.count;
	});
	return out;
}

function mark(chart, x, words, anchor, row) {
	chart.append(svg("line", {
		x1: x,
		x2: x,
		y1: 4 + row * 15,
		y2: HIST.h - HIST.bottom,
		stroke: "var(--muted)",
		"stroke-dasharray": "2 3"
	}),
		svg("text",
			{ x: x + (anchor === "end" ? -5 : 5), y: 14 + row * 15, "text-anchor": anchor, class: "mt" },
			words));
}

/* Root scale, so that the few slow ones can be seen beside the many. */
function bars(s, chart, axis, at) {
	var base = HIST.h - HIST.bottom,
	    groups = regroup(s.histogram, axis, Math.min(HIST.bars, Math.max(8, s.histogram.length)));
	var most = Math.max.apply(null, groups.map(function (g) { return g.count; }));
	groups.forEach(function (g) {
		var h = g.count > 0 ? Math.max(2, Math.sqrt(g.count / most) * (base - HIST.top)) : 0,
		    slow = known(s.p90_us) && g.from >= s.p90_us, wide = Math.max(1, at(g.to) - at(g.from));
		chart.append(svg("rect", {
			class: slow ? "hb slow" : "hb",
			x: at(g.from) + 0.5,
			y: base - h,
			width: Math.max(1, wide - 1),
			height: h
		}));
		chart.append(withTip(svg("rect", {
			x: at(g.from),
			y: HIST.top,
			width: wide,
			height: base - HIST.top,
			fill: "transparent"
		}),
			count(g.count) + " of " + count(s.count),
			[dur(g.from) + " to " + dur(g.to), slow ? "among the slow ones" : null]));
	});
}

/* Each of a few, where pieces or the report know them all; null: there are more. */
function everyOne(s) {
	var o = readLanes(),
	    list = s.slowest && s.slowest.length === s.count ? s.slowest
		: o && s.count <= HIST.few		     ? recordedOnes(o, s.name)
							     : [];
	return list.length === s.count ? list : null;
}

/* So few that each is known: one stroke for each. */
function strokes(s, list, chart, at) {
	list.forEach(function (one) {
		chart.append(withTip(svg("rect", {
			class: known(s.p90_us) && one.dur_us > s.p90_us ? "hb slow" : "hb",
			x: at(one.dur_us) - 3,
			y: HIST.top + 20,
			width: 6,
			height: HIST.h - HIST.bottom - HIST.top - 20
		}),
			dur(one.dur_us), ["at " + dur(one.start_us)]));
	});
}

function histogram(s, w) {
	var bins = s.histogram, each = everyOne(s), room = each || bins.length < 4 ? 0.12 : 0;
	var least = each ? each[each.length - 1].dur_us : bins[0].from_us,
	    most = each ? each[0].dur_us : bins[bins.length - 1].to_us;
	var pad = Math.max(most - least, most * 0.05) * room, from = Math.max(0, least - pad),
	    to = Math.max(most + pad, from * 1.001, from + 1e-3);
	var axis = axisOf(from, to), base = HIST.h - HIST.bottom;
	var chart = svg("svg", {
		class: "hist",
		viewBox: "0 0 " + w + " " + HIST.h,
		width: w,
		height: HIST.h,
		role: "img",
		"aria-label": "How long " + s.name + " took: half under " + dur(s.p50_us) + ", nine tenths under " +
			dur(s.p90_us) + ", 99 of 100 under " + dur(s.p99_us) + ", at most " + dur(s.max_us)
	});
	var at = function (us) { return HIST.left + axis.share(us) * (w - 2 * HIST.left); };
	if (each)
		strokes(s, each, chart, at);
	else
		bars(s, chart, axis, at);
	chart.append(svg("line", { x1: 0, x2: w, y1: base + 0.5, y2: base + 0.5, stroke: "var(--edge)" }),
		svg("text", { x: HIST.left, y: base + 18, class: "mt" }, dur(from)),
		svg("text", { x: w - HIST.left, y: base + 18, "text-anchor": "end", class: "mt" }, dur(to)));
	(axis.log && w > 420 ? [0.25, 0.5, 0.75] : [0.5]).forEach(function (share) {
		chart.append(svg("text", { x: at(axis.at(share)), y: base + 18, "text-anchor": "middle", class: "mt" },
			dur(axis.at(share))));
	});
	[["p50", s.p50_us], ["p90", s.p90_us], ["p99", s.p99_us]].forEach(function (p, row) {
		if (known(p[1]) && !(each && row > 0))
			mark(chart, at(p[1]), p[0] + " " + dur(p[1]), at(p[1]) > w * 0.6 ? "end" : "start", row);
	});
	return chart;
}
