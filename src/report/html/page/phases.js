/* phases.js - what each process did when, as a strip above the timeline: a row for each process. */

var PHASES_MOST = 8; /* processes; the others are counted */
var PHASES = {
	startup: ["startup", "--s-other"],
	imports: ["imports", "--s-gc"],
	loading: ["loading", "--s-io_wait"],
	warm_up: ["warm-up", "--s-spin"],
	serving: ["serving", "--accent"],
	shutdown: ["shutdown", "--s-sleep"]
};

/* Of each process, those that serve longest first: [{id, phases, us}]. */
function phasesByProcess() {
	var by = new Map();
	(report.phases || []).forEach(function (p) {
		var one = by.get(p.process_id) || { id: p.process_id, phases: [], us: 0 };
		by.set(p.process_id, one);
		one.phases.push(p);
		one.us += p.name === "serving" ? p.to_us - p.from_us : 0;
	});
	return Array.from(by.values()).sort(function (a, b) { return b.us - a.us; });
}

function processWords(id) {
	var found = report.program.processes.filter(function (p) { return p.process_id === id; })[0];
	var first = found && found.argv.length > 0 ? found.argv[0].split("/").pop() : "process";
	return first + " " + id;
}

function phasePart(p, t0, t1) {
	var width = Math.max(0.15, (p.to_us - p.from_us) / (t1 - t0) * 100);
	var part = svg("rect", {
		class: "phase phase-" + p.name, x: (p.from_us - t0) / (t1 - t0) * 100 + "%", width: width + "%",
		y: p.name === "serving" ? 0 : 4, height: p.name === "serving" ? 18 : 10, rx: 2
	});
	return withTip(part, PHASES[p.name][0] + ", " + dur(p.to_us - p.from_us),
		[p.why, "from " + dur(p.from_us) + " to " + dur(p.to_us)]);
}

/* What a reader hears who sees no colours. */
function phaseLabel(one) {
	return processWords(one.id) + ": " +
		one.phases.map(function (p) { return PHASES[p.name][0] + " " + dur(p.to_us - p.from_us); }).join(", ");
}

function phaseRow(one, t0, t1) {
	return el("div", { class: "phases-row" }, el("span", { class: "mono" }, processWords(one.id)),
		svg("svg", { height: 18, role: "img", "aria-label": phaseLabel(one) },
			one.phases.map(function (p) { return phasePart(p, t0, t1); })));
}

function phasesLegend(all) {
	var seen = new Set();
	all.forEach(function (one) { one.phases.forEach(function (p) { seen.add(p.name); }); });
	return el("ul", { class: "legend" },
		Object.keys(PHASES)
			.filter(function (name) { return seen.has(name); })
			.map(function (name) {
				var key = swatch("var(" + PHASES[name][1] + ")");
				return el("li", null, el("span", { class: "key" }, key, PHASES[name][0]));
			}));
}

function drawPhases() {
	var all = phasesByProcess(), shown = all.slice(0, PHASES_MOST), more = all.length - shown.length, t1;
	if (all.length === 0)
		return;
	t1 = Math.max.apply(null, report.phases.map(function (p) { return p.to_us; }));
	if (byId("timeline").hidden)
		openSection("timeline", "Timeline");
	byId("timeline").insertBefore(el("div", { class: "panel phases", id: "phases" }, el("h3", null, "Phases"),
		report.startup ? el("p", { class: "cap" }, report.startup.headline) : null,
		shown.map(function (one) { return phaseRow(one, 0, t1); }), phasesLegend(shown),
		more > 0 ? el("p", { class: "cap" }, "and " + plural(more, "more process", "more processes")) : null),
		byId("timeline").querySelector(".tl"));
}
