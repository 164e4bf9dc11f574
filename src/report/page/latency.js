/* latency.js - how long a scope took, what the slow ones did, and the ten slowest. */

var HIST = { w: 640, h: 220, left: 4, bottom: 30, bars: 56, few: 24 };

/* A duration as a share of the axis: in equal factors when they differ much, so that most do not fall into one bar. */
/* A tenth, but for those that stand apart. */
function slowShare(s) {
	var part = s.groups && s.groups.slow && s.count > 0 ? s.groups.slow.count / s.count : 0;
	return part > 0.12 ? pct(part * 100) : "tenth";
}

function axisOf(from, to) {
	var log = to > 8 * from && from > 0;
	return {
		log: log,
		share: function (us) { return log ? Math.log(us / from) / Math.log(to / from) : (us - from) / (to - from); },
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
	chart.append(svg("line", { x1: x, x2: x, y1: 4 + row * 15, y2: HIST.h - HIST.bottom, stroke: "var(--muted)", "stroke-dasharray": "2 3" }),
		svg("text", { x: x + (anchor === "end" ? -5 : 5), y: 14 + row * 15, "text-anchor": anchor, class: "mt" }, words));
}

/* Root scale, so that the few slow ones can be seen beside the many. */
function histogram(s) {
	var bins = s.histogram, from = bins[0].from_us, to = Math.max(bins[bins.length - 1].to_us, from * 1.001);
	var axis = axisOf(from, to), n = Math.min(HIST.bars, Math.max(8, bins.length)), groups = regroup(bins, axis, n);
	var most = Math.max.apply(null, groups.map(function (g) { return g.count; })), base = HIST.h - HIST.bottom, top = 56;
	var chart = svg("svg", { class: "hist", viewBox: "0 0 " + HIST.w + " " + HIST.h, role: "img", "aria-label": "How long " + s.name + " took: half under " + dur(s.p50_us) +
		", nine tenths under " + dur(s.p90_us) + ", 99 of 100 under " + dur(s.p99_us) + ", at most " + dur(s.max_us) });
	var at = function (us) { return HIST.left + axis.share(us) * (HIST.w - 2 * HIST.left); };
	groups.forEach(function (g) {
		var h = g.count > 0 ? Math.max(2, Math.sqrt(g.count / most) * (base - top)) : 0;
		var slow = known(s.p90_us) && g.from >= s.p90_us;
		chart.append(svg("rect", { class: slow ? "hb slow" : "hb", x: at(g.from) + 0.5, y: base - h, width: Math.max(1, at(g.to) - at(g.from) - 1), height: h }));
		chart.append(withTip(svg("rect", { x: at(g.from), y: top, width: Math.max(1, at(g.to) - at(g.from)), height: base - top, fill: "transparent" }),
			count(g.count) + " of " + count(s.count), [dur(g.from) + " to " + dur(g.to), slow ? "among the slow ones" : null]));
	});
	chart.append(svg("line", { x1: 0, x2: HIST.w, y1: base + 0.5, y2: base + 0.5, stroke: "var(--edge)" }),
		svg("text", { x: HIST.left, y: base + 18, class: "mt" }, dur(from)), svg("text", { x: HIST.w - HIST.left, y: base + 18, "text-anchor": "end", class: "mt" }, dur(to)),
		axis.log ? [0.25, 0.5, 0.75].map(function (share) { return svg("text", { x: at(axis.at(share)), y: base + 18, "text-anchor": "middle", class: "mt" }, dur(axis.at(share))); }) :
			svg("text", { x: HIST.w / 2, y: base + 18, "text-anchor": "middle", class: "mt" }, dur((from + to) / 2)));
	[["p50", s.p50_us], ["p90", s.p90_us], ["p99", s.p99_us]].forEach(function (p, row) {
		if (known(p[1]))
			mark(chart, at(p[1]), p[0] + " " + dur(p[1]), at(p[1]) > HIST.w * 0.7 ? "end" : "start", row);
	});
	return chart;
}

/* From a middling one to a slow one, cause by cause. */
function because(s) {
	var list = s.slow_because || [];
	if (list.length === 0 && !s.groups)
		return el("p", { class: "muted" }, "This trace does not tell what the slow ones did.");
	if (list.length === 0)
		return el("p", { class: "muted" }, s.count < 20 ? "Too few of them to compare slow ones with the others: 20 are needed." :
			"No cause stands out: the slow ones did the same as the others, for longer.");
	var most = Math.max.apply(null, list.map(function (b) { return Math.abs(b.extra_us); }));
	return el("div", { class: "fall" }, list.map(function (b) {
		var key = STATES[b.cause] ? b.cause : "other";
		return [el("div", null, stateWords(b.cause), b.where ? el("small", { class: "mono" }, plainNames(b.where)) : null),
			svg("svg", { "aria-hidden": "true" }, svg("rect", { width: Math.abs(b.extra_us) / most * 100 + "%", height: 18, fill: stateFill(key) })),
			el("div", { class: "r" }, (b.extra_us >= 0 ? "+" : "-") + dur(Math.abs(b.extra_us)))];
	}));
}

function slowestRows(s) {
	var list = s.slowest || [], most = Math.max.apply(null, list.map(function (o) { return o.dur_us; }));
	return el("ul", { class: "rows" }, list.map(function (o, i) {
		return el("li", null, el("button", { type: "button", class: "row", on: { click: function () { goTo(o.start_us, o.dur_us); } },
			"aria-label": "Slow one " + (i + 1) + ", " + dur(o.dur_us) + ": show it in the timeline" },
		el("span", { class: "muted" }, i + 1), el("span", { class: "r" }, dur(o.dur_us)),
		svg("svg", { "aria-hidden": "true" }, svg("rect", { width: o.dur_us / most * 100 + "%", height: 14, fill: "var(--grey)" }),
			known(s.p50_us) ? svg("rect", { x: s.p50_us / most * 100 + "%", width: 2, height: 14, fill: "var(--ink)" }) : null),
		el("span", { class: "r muted" }, "at " + dur(o.start_us))));
	}));
}

function latencyFinding(s) {
	var extra = (s.slow_because || []).filter(function (b) { return b.extra_us > 0; });
	if (extra.length > 0)
		return "The slow " + slowShare(s) + ": " + extra.slice(0, 2).map(function (b) { return "+" + dur(b.extra_us) + " " + stateWords(b.cause) + (b.where && STATES[b.cause] && STATES[b.cause][1] === WORK ? " in " + b.where.split(" ")[0] : ""); }).join(", ");
	if (known(s.p99_us) && s.p99_us > 1.5 * s.p50_us)
		return "Half take under " + dur(s.p50_us) + "; one in a hundred takes " + dur(s.p99_us) + " or more";
	return "They take " + dur(s.p50_us) + ", and hardly any takes longer than " + dur(s.p99_us);
}

/* The one to look at: enough of them to tell slow ones, and most time in them. */
function mainScope() {
	return report.scopes.filter(function (s) { return s.count >= 20 && s.histogram && s.histogram.length > 0 && known(s.p50_us); })
		.sort(function (a, b) { return ((b.slow_because || []).length > 0) - ((a.slow_because || []).length > 0) || b.total_us - a.total_us; })[0] || null;
}

function drawLatency() {
	var scopes = report.scopes.filter(function (s) { return s.count > 1 && s.histogram && s.histogram.length > 0 && known(s.p50_us); });
	if (scopes.length === 0)
		return;
	var section = openSection("latency", "Latency"), body = el("div");
	function draw(s) {
		var slow = s.slowest && s.slowest.length > 0;
		body.replaceChildren(lede(["Latency of ", s.name + ", ", count(s.count) + " of them"], latencyFinding(s), scopes.length > 1 ? picker(s) : null),
			el("div", { class: "lat" }, el("div", { class: "panel" }, el("h3", null, "How long they took"), histogram(s)),
				el("div", { class: "panel" }, el("h3", null, "What the slow " + slowShare(s) + " did more of, on average"), because(s))),
			slow ? el("div", { class: "panel after" }, el("h3", null, "The slowest, on one scale; the tick is the median"), slowestRows(s)) : "");
	}
	function picker(chosen) {
		return el("label", null, el("span", { class: "vh" }, "Scope"), el("select", { class: "ib", on: { change: function (e) {
			draw(scopes[+e.currentTarget.value]);
			body.querySelector("select").focus();
		} } }, scopes.slice(0, 200).map(function (s, i) { return el("option", { value: i, selected: s === chosen }, s.name); })));
	}
	section.append(body);
	draw(mainScope() || scopes[0]);
}
