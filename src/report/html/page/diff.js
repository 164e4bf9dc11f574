/* diff.js - the page of a comparison: what changed, as tables, as states of a scope, and as two flame graphs in one. */

var timeline = null; /* there is none here */
var SURE = 1.96; /* of an error: 19 times in 20 */

SHOW.change = function (v) {
	return v === null || v === undefined ? "?" : (v > 0 ? "+" : "") + v.toFixed(1) + "%";
};
SHOW.points = function (v) {
	return v === null || v === undefined ? "?" : (v > 0 ? "+" : "") + v.toFixed(1) + " points";
};

/* base, new, change, noise and what that makes of it; kind of the values: time, count, pct. */
function changeColumns(kind) {
	var points = kind === "pct";
	function noise(r) {
		return points ? r.c.noise : r.c.noise === null || !(r.c.base > 0) ? null : r.c.noise / r.c.base * 100;
	}
	return [
		column("base", function (r) { return r.c.base; }, kind),
		column("new", function (r) { return r.c["new"]; }, kind),
		column("change", function (r) { return points ? r.c.change : r.c.change_pct; },
			points ? "points" : "change"),
		column("noise", noise, "pct"), column("noise is", function (r) { return r.c.noise_source; }),
		column("result", function (r) { return r.c.result || "not known"; })
	];
}

function row(name, what, change, more) {
	return Object.assign({ name: name, what: what, c: change }, more);
}

function allTables() {
	var stats = [["p50", "p50_us"], ["p90", "p90_us"], ["p99", "p99_us"], ["mean", "mean_us"]],
	    scopes = report.scopes || [], times = [row("the run", "wall", report.wall_us)];
	scopes.forEach(function (s) {
		stats.forEach(function (k) { times.push(row(s.name, k[0], s[k[1]])); });
	});
	function listed(list) {
		return (list || []).map(function (f) { return row(f.name, null, f, { file: f.file, line: f.line }); });
	}
	function of(kind) {
		var end = kind === "time" ? "_us" : "_pct";
		return (report.gates || [])
			.filter(function (g) {
				return g.metric.slice(-end.length) === end
					? kind !== "count"
					: kind === "count" && !/_(us|pct)$/.test(g.metric);
			})
			.map(function (g) { return row(g.gate, g.outcome, g); });
	}
	function gates(name, kind) {
		return {
			name: name,
			rows: of(kind),
			sort: 1,
			columns: [field("gate", "name", "mono"), field("outcome", "what")].concat(changeColumns(kind))
		};
	}
	var where = [column("function", functionName), column("where", place, "mono")],
	    states = Object.keys(report.breakdown || {});
	return [
		gates("Gates", "time"),
		gates("Gates on shares", "pct"),
		gates("Gates on counts", "count"),
		{
			name: "Times",
			rows: times,
			sort: 0,
			columns: [field("scope", "name"), field("of it", "what")].concat(changeColumns("time"))
		},
		{
			name: "Functions",
			rows: listed(report.functions),
			sort: 4,
			columns: where.concat(changeColumns("time"))
		},
		{
			name: "Kernels",
			rows: listed(report.kernels),
			sort: 3,
			columns: [field("kernel", "name", "mono")].concat(changeColumns("time"))
		},
		{
			name: "Counts",
			rows: scopes.map(function (s) { return row(s.name, null, s.count); }),
			sort: 3,
			columns: [field("scope", "name")].concat(changeColumns("count"))
		},
		{
			name: "States",
			rows:
				states.filter(function (k) {
					      return known(report.breakdown[k].base) ||
						      known(report.breakdown[k]["new"]);
				      }).map(function (k) { return row(stateWords(k), null, report.breakdown[k]); }),
			sort: 3,
			columns: [field("of the judged thread", "name")].concat(changeColumns("pct"))
		},
	];
}

/* Where the time of the scope that changed most went to, or came from: two bars on one scale. */
function drawStates() {
	var scope = (report.scopes || []).filter(function (s) {
		return s.mean_us && known(s.mean_us.base) && known(s.mean_us["new"]) &&
			STATE_ORDER.some(function (k) { return s.states[k] && s.states[k].base_us > 0; });
	})[0];
	if (!scope)
		return;
	var section = openSection("states", "Where it went"),
	    most = Math.max(scope.mean_us.base, scope.mean_us["new"], 1e-9);
	var moved = STATE_ORDER
		.map(function (k) { return { key: k, base: scope.states[k].base_us, fresh: scope.states[k].new_us }; })
		.filter(function (s) { return known(s.base) && known(s.fresh) && (s.base > 0 || s.fresh > 0); });
	var worst = moved.slice().sort(function (a, b) {
		return Math.abs(b.fresh - b.base) - Math.abs(a.fresh - a.base);
	})[0];
	function bar(name, key, whole) {
		var states = {};
		moved.forEach(function (s) { states[s.key] = s[key]; });
		return barRow(
			{ name: name, whole: whole, parts: partsOf(states, whole), value: dur(whole) }, "ms", most);
	}
	section.append(lede("Where the time of one " + scope.name + " went, on average",
			       worst && worst.fresh !== worst.base ? sentence(stateWords(worst.key)) +
					       " changed most: " + signed(worst.fresh - worst.base) + " of " +
					       signed(scope.mean_us["new"] - scope.mean_us.base)
								   : "Nothing moved"),
		el("div", { class: "panel" },
			el("div", { class: "bars" }, bar("base", "base", scope.mean_us.base),
				bar("new", "fresh", scope.mean_us["new"])),
			el("table", { class: "ct after" }, el("caption", { class: "vh" }, "Time in each state"),
				el("tbody", null,
					el("tr", { class: "muted" },
						["", "base", "new", "change"].map(function (t, i) {
							return el("td", { class: i ? "r" : null }, t);
						})),
					moved.map(function (s) {
						return el("tr", null,
							el("td", null,
								el("span", { class: "key" }, swatch(stateFill(s.key)),
									stateWords(s.key))),
							el("td", { class: "r" }, dur(s.base)),
							el("td", { class: "r" }, dur(s.fresh)),
							el("td", { class: "r" }, signed(s.fresh - s.base)));
					})))));
}

/* ---- two flame graphs in one ---- */

/* Times are those of one run, or of one scope where the sides have different numbers of it. */
function sideStacks(side) {
	var trees = detail[side].trees, share = 1 / Math.max(1, detail[side].per);
	return [].concat.apply([], trees.map(function (t) { return stacksOf(t, false); })).map(function (s) {
		return { frames: s.frames, samples: s.samples, us: s.us * share };
	});
}

function comparedTree(reverse, width) {
	var root = newNode({ name: "all samples" }, null, 0);
	["new", "base"].forEach(function (side) {
		sideStacks(side).forEach(function (s) {
			var wide = side === (width || "new");
			addStack(root, reverse ? s.frames.slice().reverse() : s.frames, {
				us: wide ? s.us : 0,
				samples: wide ? s.samples : 0,
				us_slow: side === "new" ? s.us : 0,
				us_median: side === "base" ? s.us : 0,
				square: s.samples > 0 ? s.us * s.us / s.samples : 0
			});
		});
	});
	settle(root, 0);
	return root;
}

/* What the difference of two numbers of samples is off by, 19 times in 20. */
function sampleNoise(node) {
	return SURE * Math.sqrt(node.square);
}

function changedWords(root) {
	var own = new Map(), best = null;
	(function sum(node) {
		if (node.depth > 0 && node.frame !== SMALL) {
			var key = frameKey(node.frame), o = own.get(key) || { frame: node.frame, change: 0, square: 0 };
			o.change += node.ownSlowUs - node.ownMedianUs;
			o.square += node.square - node.list.reduce(function (all, kid) { return all + kid.square; }, 0);
			own.set(key, o);
		}
		node.list.forEach(sum);
	})(root);
	own.forEach(function (o) {
		if (Math.abs(o.change) > SURE * Math.sqrt(Math.max(0, o.square)) &&
			(!best || Math.abs(o.change) > Math.abs(best.change)))
			best = o;
	});
	return best ? functionName(best.frame) + " itself takes " + dur(Math.abs(best.change)) +
			(best.change > 0 ? " more" : " less") + " CPU time"
		    : "No function changed by more than its samples may be off";
}

function drawComparedFlame() {
	var sides = [detail.base, detail["new"]];
	if (!sides.every(function (s) { return s && s.trees.length > 0; }))
		return;
	flame = makeFlame({
		title: "Flame graph of both: CPU time of one " + (report.per || "run") +
			" by stack; orange is more than before, blue is less, pale is within noise",
		words: changedWords,
		tree: comparedTree,
		compared: {
			mode: "new - base",
			more: "new",
			less: "base",
			first: true,
			noise: sampleNoise,
			widths: { "new": "width: new", base: "width: base" }
		}
	});
}

begin([drawStates, drawComparedFlame, drawTables, makeKeys]);
