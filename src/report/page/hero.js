/* hero.js - one slow scope as it was recorded, in a few lanes: the picture that says what the headline says. */

var HERO = { w: 1200, left: 150, lane: 22, gap: 12, columns: 1050, others: 2 };

/* What a lane mostly did in each column: [{x, w, fill, words}]. */
function heroParts(rows, t0, t1, fillOf, wordsOf) {
	var parts = [], step = (t1 - t0) / HERO.columns;
	rows.forEach(function (row) {
		for (var i = firstAfter(row, t0), last = null; i < row.n && row.start[i] < t1; i++) {
			var a = Math.max(t0, row.start[i]), b = Math.min(t1, row.end[i]), fill = fillOf(row, i);
			if (last && last.fill === fill && a - last.b < step * 1.5)
				last.b = b;
			else if (fill && (b - a >= step * 0.8 || !last || a - last.b > 0))
				parts.push((last = { a: a, b: Math.max(b, a + step * 0.8), fill: fill, words: wordsOf(row, i) }));
			if (parts.length > 3000)
				return;
		}
	});
	return parts;
}

function heroLanes(o, t0, t1) {
	var states = function (lane) { return lane.rows.filter(function (r) { return r.kind === "run"; }).concat(lane.rows.filter(function (r) { return r.kind === "wait"; })); };
	var threads = o.order.filter(function (l) { return l.kind === "thread" && states(l).length > 0; });
	var ran = function (l) { return l.rows.filter(function (r) { return r.kind === "run"; }).reduce(function (sum, r) { return sum + covered(r, t0, t1); }, 0); };
	var focus = threads.filter(function (l) { return l.focus; }), others = threads.filter(function (l) { return !l.focus && ran(l) > (t1 - t0) * 0.02; }).sort(function (a, b) { return ran(b) - ran(a); }).slice(0, HERO.others);
	var stateFillOf = function (row, i) { var key = o.states[row.name[i]]; return key === "on_cpu" ? "var(--s-native)" : stateFill(key); };
	var stateName = function (row, i) { var key = o.states[row.name[i]]; return key === "on_cpu" ? "on a CPU" : stateWords(key); };
	return focus.concat(others).map(function (l) { return { title: laneTitle(l), note: l.focus ? "works, or waits" : "beside it", parts: heroParts(states(l), t0, t1, stateFillOf, stateName) }; })
		.concat(o.order.filter(function (l) { return l.kind === "stream"; }).slice(0, 2).map(function (l) {
			return { title: laneTitle(l), note: "stream " + l.number, parts: heroParts(l.rows, t0, t1, function (row, i) { return "var(--" + classColour(o.classes[row.name[i]]) + ")"; }, function (row, i) { return o.names[row.name[i]]; }) };
		})).filter(function (l) { return l.parts.length > 0; });
}

function drawHero(o) {
	var scope = mainScope(), one = scope && scope.slowest && scope.slowest[0];
	if (!one)
		return;
	var t0 = one.start_us, t1 = t0 + one.dur_us, lanes = heroLanes(o, t0, t1), h = lanes.length * (HERO.lane + HERO.gap) + 22, node = byId("hero");
	if (lanes.length === 0)
		return;
	/* On a phone the same picture in a narrower frame: letters keep their size. */
	if (window.innerWidth < 700) {
		HERO.w = 420;
		HERO.left = 96;
	}
	var at = function (t) { return HERO.left + (t - t0) / (t1 - t0) * (HERO.w - HERO.left); };
	var chart = svg("svg", { viewBox: "0 0 " + HERO.w + " " + h, role: "img", class: "hist", "aria-label": "The slowest " + scope.name + ": what its thread, those beside it and the GPU did over " + dur(one.dur_us) });
	lanes.forEach(function (lane, i) {
		var y = i * (HERO.lane + HERO.gap);
		chart.append(svg("rect", { x: HERO.left, y: y, width: HERO.w - HERO.left, height: HERO.lane, fill: "var(--lane)" }),
			svg("text", { x: 0, y: y + 10, "font-weight": 600 }, lane.title.slice(0, HERO.w < 700 ? 12 : 20)), svg("text", { x: 0, y: y + 23, class: "mt" }, lane.note));
		lane.parts.forEach(function (p) { chart.append(withTip(svg("rect", { x: at(p.a).toFixed(1), y: y, width: Math.max(0.6, at(p.b) - at(p.a)).toFixed(1), height: HERO.lane, fill: p.fill }), p.words, [dur(p.b - p.a)])); });
	});
	ticks(0, t1 - t0, HERO.w < 700 ? 3 : 9).list.forEach(function (t) { chart.append(svg("text", { x: at(t0 + t), y: h - 4, class: "mt" }, t === 0 ? "0" : dur(t))); });
	node.append(el("figcaption", null, el("b", null, "The slowest " + scope.name + ", as recorded: " + dur(one.dur_us) + ". "), known(scope.p50_us) ? "Half of them take under " + dur(scope.p50_us) + ". Solid is work, hatched is waiting, pale is no work." : ""), chart);
	node.hidden = false;
}
