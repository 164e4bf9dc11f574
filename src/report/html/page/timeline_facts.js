/* timeline_facts.js - what a piece of the timeline is, and what took the time of a stretch. */

function nameOf(o, hit) {
	var key;
	if (hit.row.kind === "run" || hit.row.kind === "wait") {
		key = o.states[hit.row.name[hit.i]];
		return stateWords(key);
	}
	return o.labels[hit.row.name[hit.i]];
}
function placeOf(o, hit) {
	var state = hit.row.kind === "run" || hit.row.kind === "wait", n = hit.row.name[hit.i];
	return state	      ? ""
		: !o.files[n] ? (o.labels[n] !== o.names[n] ? o.names[n] : "")
			      : shortFile(o.files[n]) + (o.lines[n] ? ":" + o.lines[n] : "");
}
function linesOf(o, hit) {
	var r = hit.row, i = hit.i, many = r.count[i] > 1;
	return [
		dur(r.end[i] - r.start[i]) +
			(many ? " holding " + count(r.count[i]) + " pieces, " +
						pct((r.sum[i + 1] - r.sum[i]) / (r.end[i] - r.start[i]) * 100) +
						" covered; this one is the longest"
			      : ""),
		placeOf(o, hit), laneTitle(hit.lane) + ", from " + dur(r.start[i]),
		r.launch && r.launch[i] >= 0 ? "began " + dur(r.start[i] - r.launch[i]) + " after its call did" +
				(known(report.clock.error_bound_us)
						? ", give or take " + dur(report.clock.error_bound_us)
						: "")
					     : null
	];
}
function factList(list) {
	return el("dl", null,
		list.filter(Boolean).map(function (p) {
			return el("div", null, el("dt", null, p[0]), el("dd", null, p[1]));
		}));
}
/* What took the time of a stretch, by name: also the timeline as a table. */
function sums(o, t0, t1) {
	var all = new Map();
	o.order.forEach(function (lane) {
		lane.rows.forEach(function (row) {
			if (row.kind === "counter")
				return;
			for (var i = firstAfter(row, t0), seen = 0; i < row.n && row.start[i] < t1 && seen < 40000;
				i++, seen++) {
				var hit = { row: row, i: i, lane: lane },
				    key = row.kind + "\u0001" + row.name[i] + "\u0001" + lane.index, one = all.get(key),
				    length = Math.max(1e-9, row.end[i] - row.start[i]);
				var inside = (Math.min(t1, row.end[i]) - Math.max(t0, row.start[i])) / length;
				if (!one)
					all.set(key, (one = {
						name: nameOf(o, hit),
						kind: row.kind,
						lane: laneTitle(lane) + " " + laneNote(lane),
						us: 0,
						count: 0
					}));
				one.us += (row.sum[i + 1] - row.sum[i]) * Math.max(0, Math.min(1, inside));
				one.count += row.count[i];
			}
		});
	});
	return Array.from(all.values()).sort(function (a, b) { return b.us - a.us; });
}
var KIND_WORDS = { scope: "scope", run: "state", wait: "state", call: "function", work: "GPU work" };
function sumTable(o, t0, t1, title) {
	var list = sums(o, t0, t1).slice(0, 25);
	return [
		el("h4", null, title),
		el("div", { class: "tw", tabindex: 0, role: "region", "aria-label": title },
			el("table", { class: "data" }, el("caption", { class: "vh" }, title),
				el("thead", null, el("tr", null, ["what", "kind", "lane", "time in it",
					"pieces"].map(function (h, i) {
					return el("th", { scope: "col", class: i > 2 ? "num" : null },
						button(h, { tabindex: -1 }));
				}))),
				el("tbody", null, list.map(function (r) {
					return el("tr", null,
						el("td", null, el("span", { class: "clip", title: r.name }, r.name)),
						el("td", null, KIND_WORDS[r.kind]), el("td", null, r.lane),
						el("td", { class: "num" }, dur(r.us)),
						el("td", { class: "num" }, count(r.count)));
				}))))
	];
}
