/* timeline.js - threads, GPUs and counters on one clock, put together of a model, a view and its input. */

var timeline = null;

function goTo(startUs, durUs) {
	if (timeline)
		timeline.show(startUs, durUs);
}

function showStretch(v, startUs, durUs) {
	byId("timeline").scrollIntoView({ block: "start", behavior: still() ? "auto" : "smooth" });
	v.port.focus({ preventScroll: true });
	v.m.slow.forEach(function (one, i) {
		if (one.t0 === startUs) {
			v.m.slowAt = i;
			markSlow(v, one);
		}
	});
	glideTo(v, startUs - durUs * SLOW_ROOM, startUs + durUs * (1 + SLOW_ROOM));
}

function placeTimeline(v, tools) {
	v.section.append(
		el("div", { class: "lede" }, el("div", null, el("p", { class: "eyebrow" }, "Timeline"), v.heading)),
		el("p", { class: "vh", id: "timeline-how" },
			"Keys: w and s zoom, a and d or arrows move, 0 shows all, brackets go to slow scopes, " +
			"Enter zooms to what is selected. The button As a table lists what is in view."),
		el("div", { class: "tl" }, tools, v.mapBox, v.rulerBox, v.port, v.details), v.finer);
}

/* It opens on the slowest scope, with a little around it. */
function openTimeline(v) {
	var slowest = v.m.slow[0], room = slowest ? (slowest.t1 - slowest.t0) * SLOW_ROOM : 0;
	selectPiece(v, null);
	if (slowest) {
		v.m.slowAt = 0;
		lookAt(v, slowest.t0 - room, slowest.t1 + room);
	}
	drawFrame(v);
	if (slowest)
		markSlow(v, slowest);
}

function makeTimeline() {
	var o = readLanes(), v, input;
	if (!o)
		return null;
	v = timelineView(timelineModel(o));
	input = timelineInput(v);
	placeTimeline(v, toolBar(input));
	openTimeline(v);
	onRepaint(function () {
		v.colours = v.mapCache = null;
		drawFrame(v);
	});
	return {
		lanes: o, search: input.box.input,
		show: function (startUs, durUs) { showStretch(v, startUs, durUs); },
		key: function (e) { return timelineKey(input, e); },
		focused: function () { return document.activeElement === v.port || inView("timeline"); }
	};
}

function drawTimeline() {
	timeline = makeTimeline();
}
