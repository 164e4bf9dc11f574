/* latency.js - what the slow ones of a scope did, and the ten slowest as they were. */

var FEW_SCOPES = 20; /* below, slow ones are not told from the others */

/* A tenth, but for those that stand apart. */
function slowShare(s) {
	var part = s.groups && s.groups.slow && s.count > 0 ? s.groups.slow.count / s.count : 0;
	return part > 0.12 ? pct(part * 100) : "tenth";
}

/* Causes with all their places: [{cause, us, places: [{where, us}]}], the longest first. */
function causesOf(s) {
	var all = new Map();
	(s.slow_because || []).forEach(function (b) {
		var one = all.get(b.cause);
		if (!one)
			all.set(b.cause, (one = { cause: b.cause, us: 0, places: [] }));
		one.us += b.extra_us;
		one.places.push({ where: b.where ? plainNames(b.where) : null, held: !!b.held_by, us: b.extra_us });
	});
	return Array.from(all.values()).sort(function (a, b) { return Math.abs(b.us) - Math.abs(a.us); });
}

function placeWords(c) {
	var known = c.places.filter(function (p) { return p.where; });
	if (known.length === 0)
		return c.cause === "gil_wait" || c.cause === "lock_wait" ? ["who held it was not seen"] : [];
	return c.places.slice(0, 4).map(function (p) {
		return (p.where ? (p.held ? "held by " : "in ") + p.where
				       : p.held === false && (c.cause === "gil_wait" || c.cause === "lock_wait")
				       ? "holder not seen"
				       : "place not seen") +
			(c.places.length > 1 ? ": " + dur(Math.abs(p.us)) : "");
	});
}

/* From a middling one to a slow one, cause by cause, on one scale. */
function waterfall(s, causes) {
	var g = s.groups, from = g ? g.median.mean_us : 0, to = g ? g.slow.mean_us : 0,
	    sum = causes.reduce(function (all, c) { return all + c.us; }, 0);
	var most = Math.max(to, from + sum, from) || 1, at = from, rest = g ? to - from - sum : 0;
	function line(name, small, a, b, fill, value) {
		return [
			el("div", null, name, small.map(function (text) { return el("small", null, text); })),
			svg("svg", { "aria-hidden": "true" }, svg("rect", {
				x: Math.max(0, Math.min(a, b)) / most * 100 + "%",
				width: Math.max(0.4, Math.abs(b - a) / most * 100) + "%",
				height: 18,
				fill: fill
			})),
			el("div", { class: "r" }, value)
		];
	}
	return el("div", { class: "fall" },
		g ? line("A middling " + s.name, ["mean of " + count(g.median.count)], 0, from, "var(--grey)",
			    dur(from))
		  : null,
		causes.map(function (c) {
			at += c.us;
			return line(stateWords(c.cause), placeWords(c), at - c.us, at,
				stateFill(STATES[c.cause] ? c.cause : "other"), signed(c.us));
		}),
		g && Math.abs(rest) > to * 0.005
			? line("everything else", [], at, at + rest, "var(--edge)", signed(rest))
			: null,
		g ? line("A slow " + s.name, ["mean of " + count(g.slow.count)], 0, to, "var(--ink)", dur(to)) : null);
}

function because(s) {
	var causes = causesOf(s);
	if (causes.length > 0)
		return waterfall(s, causes);
	return el("p", { class: "cap" },
		!s.groups && s.count >= FEW_SCOPES ? "This trace does not tell what the slow ones did."
			: s.count < FEW_SCOPES
			? "Too few of them to compare slow ones with the others: 20 are needed."
			: "No cause stands out: the slow ones did the same as the others, for longer.");
}

/* Each on the same scale, as its thread was recorded. */
function slowestRows(s) {
	var o = readLanes(), list = slowestOf(s),
	    most = Math.max.apply(null, list.map(function (one) { return one.dur_us; }));
	return el("ul", { class: "rows" }, list.map(function (one, i) {
		var t0 = one.start_us, t1 = t0 + one.dur_us, lane = one.lane,
		    parts = lane ? threadParts(o, lane, t0, t1, 400) : [],
		    words = lane ? waitWords(o, lane, t0, t1) : "";
		return el("li", null,
			el("button", {
				type: "button",
				class: "row",
				on: { click: function () { goTo(t0, one.dur_us); } },
				"aria-label": "Slow one " + (i + 1) + ", " + dur(one.dur_us) +
					(words ? ", " + words : "") + ": show it in the timeline"
			},
				el("span", { class: "muted" }, i + 1), el("span", { class: "r" }, dur(one.dur_us)),
				svg("svg", { "aria-hidden": "true" }, svg("rect", {
					class: "bed",
					width: one.dur_us / most * 100 + "%",
					height: 18,
					fill: parts.length ? "var(--lane)" : "var(--grey)"
				}),
					parts.map(function (p) {
						return withTip(svg("rect", {
							class: "part",
							x: (p.a - t0) / most * 100 + "%",
							width: Math.max(0.08, (p.b - p.a) / most * 100) + "%",
							height: 18,
							fill: p.fill
						}),
							p.words, [dur(p.b - p.a)]);
					}),
					known(s.p50_us) ? svg("rect", {
						x: s.p50_us / most * 100 + "%",
						width: 2,
						height: 18,
						fill: "var(--ink)"
					})
							: null),
				el("span", { class: "r muted" }, "at " + dur(t0))));
	}));
}

function latencyFinding(s) {
	var extra = causesOf(s).filter(function (c) { return c.us > 0; }), g = s.groups;
	if (extra.length > 0)
		return "The slow " + slowShare(s) +
			(g ? " takes " + dur(g.slow.mean_us - g.median.mean_us) + " longer: " : ": ") +
			extra.slice(0, 2)
				.map(function (c) {
					var where = c.places[0].where,
					    name = where ? where.replace(/ \([^()]*:\d+\)$/, "") : "";
					return "+" + dur(c.us) + " " + stateWords(c.cause) +
						(name ? (c.places[0].held ? ", held by " : " in ") + name : "");
				})
				.join("; ");
	if (s.count < FEW_SCOPES)
		return s.count === 2 || s.max_us > 1.5 * s.p50_us
			? "Half take " + dur(s.p50_us) + " or less, the longest " + dur(s.max_us)
			: "They take " + dur(s.p50_us) + ", the longest " + dur(s.max_us);
	if (known(s.p99_us) && s.p99_us > 1.5 * s.p50_us)
		return "Half take under " + dur(s.p50_us) + "; one in a hundred takes " + dur(s.p99_us) + " or more";
	return "They take " + dur(s.p50_us) + ", and hardly any takes longer than " + dur(s.p99_us);
}

/* The one to look at: enough of them to tell slow ones, and most time in them. */
function mainScope() {
	return report.scopes
		       .filter(function (s) {
			       return s.count >= FEW_SCOPES && s.histogram && s.histogram.length > 0 && known(s.p50_us);
		       })
		       .sort(function (a, b) {
			       return ((b.slow_because || []).length > 0) - ((a.slow_because || []).length > 0) ||
				       b.total_us - a.total_us;
		       })[0] ||
		null;
}

function drawLatency() {
	var scopes = report.scopes.filter(function (s) {
		return s.count > 1 && s.histogram && s.histogram.length > 0 && known(s.p50_us);
	});
	if (scopes.length === 0)
		return;
	var section = openSection("latency", "Latency"), body = el("div");
	function draw(s) {
		var slow = slowestOf(s).length > 0, told = causesOf(s).length > 0;
		body.replaceChildren(lede(["Latency of ", s.name + ", ", count(s.count) + " of them"],
					     latencyFinding(s), scopes.length > 1 ? picker(s) : null),
			el("div", { class: told ? "lat" : "lat one" },
				el("div", { class: "panel" }, el("h3", null, "How long they took"),
					fluid(function (w) { return histogram(s, w); }), told ? null : because(s)),
				told ? el("div", { class: "panel" },
					       el("h3", null,
						       "What the slow " + slowShare(s) + " did more of, on average"),
					       because(s))
				     : null),
			slow ? el("div", { class: "panel after" },
				el("h3", null,
					"The slowest as they were recorded, on one scale; the tick is the median"),
				slowestRows(s)) : "");
	}
	function picker(chosen) {
		return el("label", null, el("span", { class: "vh" }, "Scope"),
			el("select", {
				class: "ib",
				on: {
					change: function (e) {
						draw(scopes[+e.currentTarget.value]);
						body.querySelector("select").focus();
					}
				}
			},
				scopes.slice(0, 200).map(function (s, i) {
					return el("option", { value: i, selected: s === chosen }, s.name);
				})));
	}
	section.append(body);
	draw(mainScope() || scopes[0]);
}
