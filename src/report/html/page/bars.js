/* bars.js - where each millisecond went: one bar for each scope and thread, that adds up to its time. */

var BARS_SHOWN = 14;

/* [{key, us}] in the order of states; what is not known is left out and counts as not told apart. */
function partsOf(states, whole) {
	var parts = [], sum = 0;
	STATE_ORDER.forEach(function (key) {
		var us = states[key];
		if (known(us) && us > 0) {
			parts.push({ key: key, us: us });
			sum += us;
		}
	});
	if (whole > sum * 1.0001)
		parts.push({ key: "other", us: whole - sum });
	return parts;
}

function barRow(row, mode, longest) {
	var chart = svg("svg", { role: "img", "aria-label": row.name + ": " + row.parts.map(function (p) {
		return stateWords(p.key) + " " + pct(p.us / row.whole * 100);
	}).join(", ") });
	var scale = mode === "ms" ? row.whole / longest : 1, x = 0;
	row.parts.forEach(function (p) {
		var w = p.us / row.whole * 100 * scale;
		chart.append(withTip(svg("rect", {
			class: "st st-" + p.key,
			x: x + "%",
			width: Math.max(w - 0.03, 0.05) + "%",
			height: 24,
			fill: stateFill(p.key)
		}),
			stateWords(p.key),
			[dur(p.us) + ", " + pct(p.us / row.whole * 100) + " of " + dur(row.whole), row.name]));
		x += w;
	});
	return [
		el("div", { class: "nm", title: row.name }, row.name, row.note ? el("small", null, row.note) : null),
		chart,
		el("div", { class: "v" }, row.value),
	];
}

/* Percentages of a breakdown, as time. */
function statesOfBreakdown(breakdown, whole) {
	var states = {};
	STATE_ORDER.forEach(function (key) {
		if (known(breakdown[key]))
			states[key] = breakdown[key] / 100 * whole;
	});
	return states;
}

function scopeRows() {
	return report.scopes.filter(function (s) { return s.breakdown && known(s.total_us) && s.total_us > 0; })
		.map(function (s) {
			return {
				name: s.name,
				note: "x " + count(s.count),
				whole: s.total_us,
				parts: partsOf(statesOfBreakdown(s.breakdown, s.total_us), s.total_us),
				value: dur(s.mean_us) + " each"
			};
		});
}

function threadRows() {
	var focus = report.breakdown ? report.breakdown.thread_id : null;
	return report.threads
		.filter(function (t) {
			return known(t.wall_us) && t.wall_us > 0 &&
				STATE_ORDER.some(function (k) { return known(t[k]) && t[k] > 0; });
		})
		.map(function (t) {
			return {
				name: t.name || "thread " + t.thread_id,
				focus: t.thread_id === focus,
				note: (t.thread_id === focus ? "focus, " : "") + t.thread_id,
				whole: t.wall_us,
				parts: partsOf(t, t.wall_us),
				value: known(t.on_cpu_us) ? pct(t.on_cpu_us / t.wall_us * 100) + " on CPU"
							  : dur(t.wall_us),
			};
		})
		.sort(function (a, b) { return b.focus - a.focus || busy(b) - busy(a); });
}

function busy(row) {
	return row.parts.reduce(function (sum, p) { return sum + (STATES[p.key][1] === NOTHING ? 0 : p.us); }, 0);
}

/* The heading is the finding: the largest state of the focus thread. */
function timeFinding(rows) {
	var focus = rows.filter(function (r) { return r.focus; })[0] || rows[0];
	var most = focus.parts.slice().sort(function (a, b) { return b.us - a.us; })[0];
	var share = pct(most.us / focus.whole * 100),
	    who = focus.focus ? "the focus thread (" + focus.name + ")" : focus.name;
	if (STATES[most.key][1] === WORK)
		return share + " of " + who + " is " + stateWords(most.key);
	return most.key === "idle" ? who + " had no work for " + share + " of its time"
				   : share + " of " + who + ": " + stateWords(most.key);
}

function drawBars() {
	var threads = threadRows(), scopes = scopeRows();
	if (threads.length + scopes.length === 0)
		return;
	var section = openSection("time", "Time"), mode = "share", all = false;
	var used = STATE_ORDER.filter(function (k) {
		return threads.concat(scopes).some(function (r) {
			return r.parts.some(function (p) { return p.key === k; });
		});
	});
	var sources = report.breakdown ? report.breakdown.sources : {};
	var grid = el("div", { class: "bars" }), pinned = null;
	function highlight(key) {
		grid.classList.toggle("dim", !!key);
		grid.querySelectorAll(".st").forEach(function (n) {
			n.classList.toggle("hi", n.classList.contains("st-" + key));
		});
	}
	var legend = el("ul", { class: "legend" }, used.map(function (k) {
		var b = button(
			[
				swatch(stateFill(k)), stateWords(k),
				sources[k] === "estimated" || sources[k] === "sampled" ? el("small", null, sources[k])
										       : null
			],
			{ "aria-pressed": "false" }, function () {
				pinned = pinned === k ? null : k;
				legend.querySelectorAll("button").forEach(function (o) {
					o.setAttribute("aria-pressed", String(o === b && pinned === k));
				});
				highlight(pinned);
			});
		b.addEventListener("pointerenter", function () { highlight(k); });
		b.addEventListener("pointerleave", function () { highlight(pinned); });
		return el("li", null, b);
	}));
	function draw() {
		var longest = Math.max.apply(null, threads.concat(scopes).map(function (r) { return r.whole; }));
		grid.replaceChildren();
		[["Scopes: share of all their time", scopes], ["Threads: share of their time in the window", threads]]
			.forEach(function (group) {
				if (group[1].length === 0)
					return;
				grid.append(el("div", { class: "grp" },
					mode === "ms" ? group[0].split(":")[0] + ": milliseconds on one scale"
						      : group[0]));
				group[1].slice(0, all ? Infinity : BARS_SHOWN)
					.forEach(function (row) { add(grid, barRow(row, mode, longest)); });
			});
		highlight(pinned);
	}
	var hidden = Math.max(0, threads.length - BARS_SHOWN) + Math.max(0, scopes.length - BARS_SHOWN);
	section.append(lede("Where each millisecond went",
			       threads.length ? timeFinding(threads) : "Where the time of scopes went",
			       choice("Scale of the bars", { share: "share", ms: "milliseconds" }, mode,
				       function (m) {
					       mode = m;
					       draw();
				       })),
		el("div", { class: "panel" }, legend, grid,
			hidden > 0 ? el("div", { class: "more" },
					     button("Show " + hidden + " more", { class: "ib" },
						     function (e) {
							     all = true;
							     e.currentTarget.remove();
							     draw();
						     }))
				   : null));
	draw();
}
