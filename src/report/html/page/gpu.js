/* gpu.js - what each GPU did, and why it did nothing when it was idle. */

var CAUSES = {
	host_wait: ["the host had not asked for work yet", "s-python"],
	kernel_wait: ["work was asked for and had not begun", "s-run_queue"],
	sync: ["the host was waiting for the GPU", "s-gpu_wait"],
	copy: ["a copy came first", "g-copy"],
	unknown: ["which call asked next is not known", "s-other"],
};
var GPUS_SHOWN = 4;

function gpuFinding(g) {
	var most = Object.keys(g.idle_causes || {}).map(function (k) { return [k, g.idle_causes[k]]; })
		.sort(function (a, b) { return (b[1].us || 0) - (a[1].us || 0); })[0];
	var text = "Busy " + pct(g.busy_pct) + " of " + dur(g.span_us);
	if (!most || !most[1].us || g.idle_pct < 1)
		return text;
	return text + "; idle " + pct(most[1].pct) + " because " + CAUSES[most[0]][0];
}

/* Busy from below, and on top of it what the rest went to. */
function idleStrip(g) {
	var bins = g.idle_over_time || [], n = bins.length, chart = svg("svg", {
		class: "strip",
		viewBox: "0 0 " + n * 10 + " 84",
		preserveAspectRatio: "none",
		role: "img",
		"aria-label": "Share of time that the GPU was busy, in " + n +
			" equal parts of its span: " + bins.map(function (b) { return pct(100 - b); }).join(", ")
	});
	var causes = Object.keys(CAUSES).filter(function (k) {
		return g.idle_causes && g.idle_causes[k] && (g.idle_causes[k].over_time || []).length === n;
	});
	chart.append(svg("rect", { width: n * 10, height: 84, fill: "var(--lane)" }));
	bins.forEach(function (idle, i) {
		var h = (100 - idle) / 100 * 84, y = 84 - h,
		    when = "from " + dur(g.first_us + g.span_us * i / n) + " to " +
			dur(g.first_us + g.span_us * (i + 1) / n);
		chart.append(withTip(svg("rect", { x: i * 10 + 0.5, y: y, width: 9, height: h, fill: "var(--g-gemm)" }),
			pct(100 - idle) + " busy", [when]));
		causes.forEach(function (k) {
			var part = g.idle_causes[k].over_time[i], up = part / 100 * 84;
			y -= up;
			if (up > 0)
				chart.append(withTip(svg("rect", {
					class: "why",
					x: i * 10 + 0.5,
					y: y,
					width: 9,
					height: up,
					fill: "var(--" + CAUSES[k][1] + ")",
					opacity: 0.45
				}),
					pct(part) + " idle: " + CAUSES[k][0], [when]));
		});
	});
	return chart;
}

/* What the colours of the strip are. */
function stripLegend(g) {
	var causes = Object.keys(CAUSES).filter(function (k) {
		return g.idle_causes && g.idle_causes[k] && g.idle_causes[k].us > 0;
	});
	return el("ul", { class: "legend" },
		el("li", null, el("span", { class: "key" }, swatch("var(--g-gemm)"), "busy")), causes.map(function (k) {
			return el("li", null,
				el("span", { class: "key" }, swatch("var(--" + CAUSES[k][1] + ")", 0.45),
					"idle: " + CAUSES[k][0]));
		}));
}

function causeTable(g) {
	var keys = Object.keys(CAUSES)
		.filter(function (k) { return g.idle_causes && g.idle_causes[k] && g.idle_causes[k].us > 0; })
		.sort(function (a, b) { return g.idle_causes[b].us - g.idle_causes[a].us; });
	return el("table", { class: "ct" }, el("caption", { class: "vh" }, "Why the GPU was idle"),
		el("tbody", null, keys.map(function (k) {
			var c = g.idle_causes[k];
			return el("tr", null, el("td", { class: "k" }, swatch("var(--" + CAUSES[k][1] + ")", 0.45)),
				el("td", null, CAUSES[k][0],
					el("small", null, c.gaps ? plural(c.gaps, "gap") + (c.where ? ", " : "") : "",
						c.where ? "most in " : "",
						c.where ? el("span", { class: "mono" }, plainNames(c.where)) : null,
						c.where ? " (" + dur(c.where_us) + ")" : "")),
				el("td", { class: "r" }, pct(c.pct)), el("td", { class: "r" }, dur(c.us)));
		})));
}

function classTable(g) {
	var keys = Object.keys(g.kernels_by_class || {})
			   .sort(function (a, b) {
				return g.kernels_by_class[b].total_us - g.kernels_by_class[a].total_us;
			});
	return el("table", { class: "ct" }, el("caption", { class: "vh" }, "Kernels by class"),
		el("tbody", null, keys.map(function (k) {
			var c = g.kernels_by_class[k];
			return el("tr", null, el("td", { class: "k" }, swatch("var(--" + classColour(k) + ")")),
				el("td", null, k, el("small", null, plural(c.count, "kernel"))),
				el("td", { class: "r" }, pct(c.pct)), el("td", { class: "r" }, dur(c.total_us)));
		})));
}

function figure(value, words) {
	return el("span", null, el("b", null, value), words);
}

function gpuPanel(g) {
	return el("div", { class: "panel" },
		el("div", { class: "figures" }, figure(pct(g.busy_pct), "busy"), figure(pct(g.idle_pct), "idle"),
			figure(pct(g.compute_pct), "compute"), figure(pct(g.copy_pct), "copies"),
			figure(pct(g.comm_pct), "collectives"), figure(bytes(g.h2d_bytes), "to the GPU"),
			figure(bytes(g.d2h_bytes), "back"),
			el("span", { class: "muted" }, "of first to last work, unions of intervals")),
		stripLegend(g), idleStrip(g),
		el("div", { class: "axis", "aria-hidden": "true" }, el("span", null, dur(g.first_us)),
			el("span", null, dur(g.first_us + g.span_us))),
		el("div", { class: "two" }, el("div", null, el("h3", null, "Why it was idle"), causeTable(g)),
			el("div", null, el("h3", null, "What it did when busy"), classTable(g))));
}

function gpuTitle(g) {
	return "GPU " + g.device_id + (g.name ? ", " + g.name : "") +
		(typeof g.rank === "number" ? ", rank " + g.rank : "");
}

function drawGpus() {
	var gpus = report.gpus || [], section;
	if (gpus.length === 0)
		return;
	section = openSection("gpu", "GPU");
	gpus.forEach(function (g, i) {
		if (i < GPUS_SHOWN)
			section.append(el("div", { class: "one-gpu" }, lede(gpuTitle(g), gpuFinding(g)), gpuPanel(g)));
		else
			section.append(el(
				"details", null, el("summary", null, gpuTitle(g) + ": " + gpuFinding(g)), gpuPanel(g)));
	});
}
