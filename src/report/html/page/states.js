/* states.js - what a thread can be doing.  STATES, which states.py makes of the table in C, has for each name its words
 * and its kind (WORK, WAIT or NOTHING), and of what stops a thread also one time of it and several. */

var STATE_ORDER = Object.keys(STATES);

function stateWords(key) {
	return STATES[key]	       ? STATES[key][0]
		: key === "event_loop" ? "waits for the event loop"
		: key === "not_seen"   ? "not seen"
				       : key;
}

/* Hatched fills for SVG, once for the page. */
var hatches = null;
function stateFill(key) {
	if (STATES[key][1] !== WAIT)
		return "var(--s-" + key + ")";
	if (!hatches) {
		hatches = svg("defs");
		var holder = svg("svg", { width: 0, height: 0, "aria-hidden": "true", class: "vh" }, hatches);
		document.body.append(holder);
		STATE_ORDER.filter(function (k) { return STATES[k][1] === WAIT; }).forEach(function (k) {
			hatches.append(svg("pattern", {
				id: "hatch-" + k,
				width: 6,
				height: 6,
				patternUnits: "userSpaceOnUse",
				patternTransform: "rotate(45)"
			},
				svg("rect", { width: 6, height: 6, fill: "var(--s-" + k + ")" }),
				svg("rect", { width: 1.6, height: 6, fill: "var(--panel)", opacity: ".55" })));
		});
	}
	return "url(#hatch-" + key + ")";
}

function swatch(fill, opacity) {
	return svg("svg", { class: "sw", viewBox: "0 0 14 14", "aria-hidden": "true" },
		svg("rect", { width: 14, height: 14, fill: fill, opacity: opacity }));
}

/* ---- classes of GPU work ---- */

var CLASS_COLOUR = {
	attention: "g-attention",
	gemm: "g-gemm",
	conv: "g-conv",
	moe: "g-gemm",
	comm: "g-comm",
	norm: "g-norm",
	activation: "g-activation",
	rope: "g-attention",
	quant: "g-norm",
	kv: "g-attention",
	sampling: "g-norm",
	elementwise: "g-elementwise",
	reduce: "g-reduce",
	copy: "g-copy",
	memset: "g-other",
	other: "g-other",
};

function classColour(name) {
	return CLASS_COLOUR[name] || "g-other";
}
