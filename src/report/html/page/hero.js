/* hero.js - one scope as it was recorded, in a few lanes: the picture that says what the headline says. */

var HERO = { left: 150, lane: 22, gap: 12, narrow: 620, others: 2, stages: 24 };

/* The recorded one that took nearest to the median; null: those were put together. */
function medianOne(o, scope) {
	var best = null, least = scope.p50_us * 0.25;
	recordedOnes(o, scope.name).forEach(function (one) {
		var off = Math.abs(one.dur_us - scope.p50_us);
		if (off < least) {
			best = one;
			least = off;
		}
	});
	return best;
}

/* The thread of the scope, those beside it that ran most, and GPUs. */
function heroLanes(o, thread, t0, t1) {
	var ran = function (l) {
		return l.rows.filter(function (r) { return r.kind === "run"; })
			.reduce(function (sum, r) { return sum + covered(r, t0, t1); }, 0);
	};
	var others = o.order
		.filter(function (l) { return l.kind === "thread" && l !== thread && ran(l) > (t1 - t0) * 0.02; })
		.sort(function (a, b) { return ran(b) - ran(a); })
		.slice(0, HERO.others);
	return [thread]
		.concat(others)
		.map(function (l) {
			return {
				title: laneTitle(l),
				note: l === thread ? (stateRows(l).length > 0 ? "works, or waits" : "in calls")
						   : "beside it",
				parts: threadParts(o, l, t0, t1, 1000)
			};
		})
		.concat(o.order.filter(function (l) { return l.kind === "stream"; }).slice(0, 2).map(function (l) {
			return {
				title: laneTitle(l),
				note: "stream " + l.number,
				parts: workParts(o, l, t0, t1, 1000)
			};
		}))
		.filter(function (l) { return l.parts.length > 0; });
}

/* Scopes inside of it, one after another: [{a, b, name}]; none when they are too many to name. */
function stagesIn(o, thread, t0, t1) {
	var found = [], near = 0.02,
	    rows = thread.rows.filter(function (r) { return r.kind === "scope"; })
			   .sort(function (a, b) { return a.depth - b.depth; });
	var own = rows.filter(function (r) {
		var i = firstAfter(r, (t0 + t1) / 2);
		return i < r.n && Math.abs(r.start[i] - t0) < near && Math.abs(r.end[i] - t1) < near;
	})[0];
	var inside = own ? rows.filter(function (r) { return r.depth === own.depth + 1; })[0] : null;
	for (var i = inside ? firstAfter(inside, t0) : 0; inside && i < inside.n && inside.start[i] < t1; i++)
		if (inside.start[i] >= t0 - near && inside.end[i] <= t1 + near)
			found.push({ a: inside.start[i], b: inside.end[i], name: o.names[inside.name[i]] });
	return found.length <= HERO.stages ? found : [];
}

function heroChart(o, thread, one, label, w) {
	var t0 = one.start_us, t1 = t0 + one.dur_us, lanes = heroLanes(o, thread, t0, t1), narrow = w < HERO.narrow,
	    left = narrow ? 0 : HERO.left, head = narrow ? 17 : 0;
	var each = head + HERO.lane + HERO.gap, stages = stagesIn(o, thread, t0, t1), bottom = lanes.length * each + 10,
	    h = bottom + (stages.length > 0 ? 24 : 4);
	var at = function (t) { return left + (t - t0) / (t1 - t0) * (w - left); };
	var chart = svg("svg", {
		viewBox: "0 0 " + w + " " + h,
		width: w,
		height: h,
		role: "img",
		class: "hist",
		"aria-label": label
	});
	var pen = el("canvas").getContext("2d");
	useFont(pen, "600 12px Inter, system-ui, sans-serif");
	lanes.forEach(function (lane, i) {
		var y = i * each + head, title = fit(pen, lane.title, narrow ? w / 2 : left - 14);
		chart.append(svg("rect", { x: left, y: y, width: w - left, height: HERO.lane, fill: "var(--lane)" }));
		if (narrow)
			chart.append(svg("text", { x: 0, y: y - 5 }, svg("tspan", { "font-weight": 600 }, title),
				svg("tspan", { class: "mt", dx: 7 }, lane.note)));
		else
			chart.append(svg("text", { x: 0, y: y + 10, "font-weight": 600 }, title),
				svg("text", { x: 0, y: y + 23, class: "mt" }, lane.note));
		lane.parts.forEach(function (p) {
			chart.append(withTip(svg("rect", {
				x: at(p.a).toFixed(1),
				y: y,
				width: Math.max(0.6, at(p.b) - at(p.a)).toFixed(1),
				height: HERO.lane,
				fill: p.fill
			}),
				p.words, [dur(p.b - p.a)]));
		});
	});
	ticks(0, t1 - t0, narrow ? 4 : 9).list.forEach(function (t) {
		/* One that would run past the frame is left out. */
		if (at(t0 + t) + widthOf(pen, dur(t)) <= w)
			chart.append(svg("text", { x: at(t0 + t), y: bottom, class: "mt" }, t === 0 ? "0" : dur(t)));
	});
	stages.forEach(function (s) {
		var x = at(s.a), wide = at(s.b) - x, name = fit(pen, s.name, wide - 4);
		chart.append(svg("line", {
			x1: x + 1,
			x2: Math.max(x + 1.5, x + wide - 1),
			y1: bottom + 6.5,
			y2: bottom + 6.5,
			stroke: "var(--edge)",
			"stroke-width": 2
		}),
			name ? svg("text", { x: x + wide / 2, y: bottom + 20, "text-anchor": "middle", class: "mt" },
				       name)
			     : "");
	});
	return chart;
}

function drawHero() {
	var o = readLanes(),
	    scope = mainScope() ||
		report.scopes.filter(function (s) { return known(s.p50_us); })
			.sort(function (a, b) { return b.total_us - a.total_us; })[0];
	var slowest = o && scope ? slowestOf(scope)[0] || recordedOnes(o, scope.name)[0] : null, node = byId("hero"),
	    middle = o && scope && scope.count > 2 ? medianOne(o, scope) : null;
	if (!o || !scope || !(slowest || middle))
		return;
	var caption = el("figcaption"), box = el("div", { class: "picture" });
	function show(which) {
		var one = which === "median" ? middle : slowest,
		    thread = one.lane || o.order.filter(function (l) { return l.focus; })[0];
		if (!thread || heroLanes(o, thread, one.start_us, one.start_us + one.dur_us).length === 0)
			return false;
		var name = (which === "median"		     ? "One median "
					   : scope.count > 1 ? "The slowest "
							     : "") +
			scope.name,
		    words = waitWords(o, thread, one.start_us, one.start_us + one.dur_us);
		caption.replaceChildren(el("b", null, name + ", as recorded: " + dur(one.dur_us) + ". "),
			words ? sentence(words) + "." : "");
		var parts = [].concat.apply([],
			heroLanes(o, thread, one.start_us, one.start_us + one.dur_us)
				.map(function (l) { return l.parts; }));
		box.replaceChildren(partsLegend(parts, 8), fluid(function (w) {
			return heroChart(o, thread, one,
				name + ": what its thread, those beside it and the GPU did over " + dur(one.dur_us) +
					(words ? "; " + words : ""),
				w);
		}));
		return true;
	}
	function waits(one) {
		var thread = one && one.lane;
		return thread ? waitWords(o, thread, one.start_us, one.start_us + one.dur_us) : "";
	}
	/* The median one, unless the headline has a cause that only the slow ones show. */
	var chosen = middle && (!slowest || !report.verdict.cause || waits(middle) || !waits(slowest)) ? "median"
												       : "slowest";
	if (!show(chosen))
		return;
	node.append(el("div", { class: "heroline" }, caption,
			    middle && slowest ? choice("Which one", { median: "a median one", slowest: "the slowest" },
							chosen, show)
					      : ""),
		box);
	node.hidden = false;
}
