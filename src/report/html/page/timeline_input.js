/* timeline_input.js - pointer, wheel, keys and buttons of the timeline: zoom, move, select, search. */

var ZOOM_STEP = 1.5, SLOW_ROOM = 0.06;

/* pointer: where in the width zooms by keys hold still. */
function timelineInput(v) {
	var input = { v: v, m: v.m, pointer: 0.5, drag: null, fingers: new Map(), box: null };
	input.box = search("Search the timeline", "function, kernel, file:line",
		function (text) { seek(input, text); });
	input.box.input.addEventListener("keydown", function (e) {
		if (e.key === "Enter") {
			e.preventDefault();
			goFound(input, e.shiftKey ? -1 : 1);
		}
	});
	v.find = function (text) {
		input.box.input.value = text;
		seek(input, text);
	};
	listenToPointer(input);
	listenToMap(v);
	v.port.addEventListener("wheel", function (e) { wheel(input, e); }, { passive: false });
	v.port.addEventListener("scroll", function () {
		v.m.scroll = v.port.scrollTop;
		redraw(v);
	});
	return input;
}

/* ---- zoom and move ---- */

function zoomView(v, factor, share) {
	var span = v.m.t1 - v.m.t0, t = v.m.t0 + span * share;
	v.glide++;
	lookAt(v, t - span / factor * share, t + span / factor * (1 - share));
}

function moveView(v, share) {
	var span = v.m.t1 - v.m.t0;
	v.glide++;
	lookAt(v, v.m.t0 + span * share, v.m.t1 + span * share);
}

/* Where in the width of the lanes, 0 to 1. */
function shareOf(v, x, width) {
	var left = labelWidth(v);
	return Math.max(0, Math.min(1, (x - left) / Math.max(1, width - left)));
}

function wheel(input, e) {
	var v = input.v, r = v.port.getBoundingClientRect(), across = Math.abs(e.deltaX) > Math.abs(e.deltaY);
	var along = document.activeElement === v.port && !e.shiftKey && Math.abs(e.deltaY) > Math.abs(e.deltaX);
	if (e.ctrlKey || e.metaKey || along) {
		e.preventDefault();
		zoomView(v, Math.pow(1.0018, -e.deltaY), shareOf(v, e.clientX - r.left, r.width));
	} else if (across) {
		e.preventDefault();
		moveView(v, e.deltaX / r.width);
	}
}

function listenToMap(v) {
	function follow(e) {
		var box = v.mapBox.getBoundingClientRect(), whole = v.m.whole, half = (v.m.t1 - v.m.t0) / 2;
		var t = whole.t0 + (e.clientX - box.left) / box.width * (whole.t1 - whole.t0);
		lookAt(v, t - half, t + half);
	}
	v.mapBox.addEventListener("pointerdown", function (e) {
		v.mapBox.setPointerCapture(e.pointerId);
		follow(e);
	});
	v.mapBox.addEventListener("pointermove", function (e) {
		if (e.buttons)
			follow(e);
	});
}

/* ---- slow scopes ---- */

/* The scope itself, selected: where it is among all lanes can be seen. */
function markSlow(v, one) {
	var hit = slowHit(v.m, one);
	if (!hit)
		return;
	selectPiece(v, hit);
	scrollToPiece(v, hit, hit.lane.y - 10);
}

function goSlow(v, step) {
	var m = v.m, one, room;
	if (m.slow.length === 0)
		return;
	m.slowAt = (m.slowAt + step + m.slow.length) % m.slow.length;
	one = m.slow[m.slowAt];
	room = (one.t1 - one.t0) * SLOW_ROOM;
	markSlow(v, one);
	glideTo(v, one.t0 - room, one.t1 + room);
}

function goSlowest(v) {
	v.m.slowAt = -1;
	goSlow(v, 1);
}

/* ---- search ---- */

function seek(input, text) {
	var n = findPieces(input.m, text);
	input.box.found.textContent = text ? plural(n, "match", "matches") : "";
	redraw(input.v);
}

function goFound(input, step) {
	var v = input.v, m = input.m, hit, span = m.t1 - m.t0, t;
	if (m.found.length === 0)
		return;
	m.foundAt = (m.foundAt + step + m.found.length) % m.found.length;
	hit = m.found[m.foundAt];
	t = hit.row.start[hit.i];
	if (t < m.t0 || t > m.t1)
		glideTo(v, t - span / 2, t + span / 2);
	scrollToPiece(v, hit, hit.band.y - 60);
	selectPiece(v, hit);
}

/* ---- pointer ---- */

function pointedAt(v, e) {
	var box = v.port.getBoundingClientRect(), x = e.clientX - box.left;
	var near = (v.m.t1 - v.m.t0) / Math.max(1, v.port.clientWidth) * 2;
	return x < labelWidth(v) ? null : pieceAt(v.m, e.clientY - box.top + v.m.scroll, xToTime(v, x), near);
}

function fingersApart(input) {
	var both = Array.from(input.fingers.values());
	return Math.abs(both[0] - both[1]);
}

function press(input, e) {
	var v = input.v, r = v.port.getBoundingClientRect(), x = e.clientX - r.left;
	if (e.button !== 0)
		return;
	if (x < labelWidth(v)) {
		openLane(v.m, e.clientY - r.top + v.m.scroll);
		return redraw(v);
	}
	input.fingers.set(e.pointerId, e.clientX);
	input.drag = {
		x: x, t: xToTime(v, x), t0: v.m.t0, t1: v.m.t1, moved: false,
		pan: e.pointerType === "touch" || e.altKey,
		apart: input.fingers.size === 2 ? fingersApart(input) : 0
	};
	if (e.pointerType !== "touch")
		v.port.setPointerCapture(e.pointerId);
}

function pinch(input, r) {
	var both = Array.from(input.fingers.values()), apart = Math.max(10, fingersApart(input));
	var left = labelWidth(input.v);
	zoomView(input.v, apart / input.drag.apart, ((both[0] + both[1]) / 2 - r.left - left) / (r.width - left));
	input.drag.apart = apart;
	input.drag.moved = true;
}

function dragTo(input, e, x, width) {
	var v = input.v, drag = input.drag, by;
	if (drag.pan) {
		by = (drag.x - x) / (width - labelWidth(v)) * (drag.t1 - drag.t0);
		return lookAt(v, drag.t0 + by, drag.t1 + by);
	}
	v.m.span = { t0: drag.t, t1: Math.max(v.m.t0, Math.min(v.m.t1, xToTime(v, x))) };
	tip(e, dur(Math.abs(v.m.span.t1 - v.m.span.t0)), []);
	drawOverlay(v);
}

function point(input, e) {
	var v = input.v, m = input.m;
	m.hover = pointedAt(v, e);
	tip(e, m.hover ? nameOf(m.o, m.hover) : null, m.hover ? linesOf(m.o, m.hover) : []);
	drawOverlay(v);
}

function movePointer(input, e) {
	var r = input.v.port.getBoundingClientRect(), x = e.clientX - r.left, drag = input.drag;
	input.pointer = shareOf(input.v, x, r.width);
	if (input.fingers.has(e.pointerId))
		input.fingers.set(e.pointerId, e.clientX);
	if (drag && input.fingers.size === 2 && drag.apart > 0)
		return pinch(input, r);
	if (drag && Math.abs(x - drag.x) > 3)
		drag.moved = true;
	if (drag && drag.moved)
		return dragTo(input, e, x, r.width);
	point(input, e);
}

function letGo(input, e) {
	var drag = input.drag, span;
	input.fingers.delete(e.pointerId);
	if (drag && !drag.moved) {
		selectPiece(input.v, pointedAt(input.v, e));
	} else if (drag && input.m.span && !drag.pan) {
		span = draggedSpan(input.m);
		showSums(input.v, span.t0, span.t1, ". Enter zooms to it");
	}
	input.drag = null;
	tip(e, null);
}

function listenToPointer(input) {
	var v = input.v, on = function (kind, act) { v.port.addEventListener(kind, act); };
	on("pointerdown", function (e) { press(input, e); });
	on("pointermove", function (e) { movePointer(input, e); });
	on("pointerup", function (e) { letGo(input, e); });
	on("pointercancel", function (e) {
		input.fingers.delete(e.pointerId);
		input.drag = null;
	});
	on("pointerleave", function (e) {
		v.m.hover = null;
		tip(e, null);
		drawOverlay(v);
	});
	on("dblclick", function (e) {
		var hit = pointedAt(v, e);
		if (hit)
			zoomTo(v, hit);
	});
}

/* ---- keys: of the timeline when it has the focus, or is what is on the screen ---- */

/* To what was dragged over, else to what is selected; false: to nothing. */
function zoomToChosen(v) {
	var span = v.m.span && draggedSpan(v.m);
	if (span)
		glideTo(v, span.t0, span.t1);
	else if (v.m.selected)
		zoomTo(v, v.m.selected);
	return !!(span || v.m.selected);
}

function timelineKey(input, e) {
	var v = input.v;
	switch (e.key) {
	case "w": case "W": zoomView(v, ZOOM_STEP, input.pointer); break;
	case "s": case "S": zoomView(v, 1 / ZOOM_STEP, input.pointer); break;
	case "a": case "A": case "ArrowLeft": moveView(v, -0.15); break;
	case "d": case "D": case "ArrowRight": moveView(v, 0.15); break;
	case "0": glideTo(v, v.m.whole.t0, v.m.whole.t1); break;
	case "f": case "Enter": return zoomToChosen(v);
	case "[": goSlow(v, -1); break;
	case "]": goSlow(v, 1); break;
	case "n": goFound(input, 1); break;
	case "p": goFound(input, -1); break;
	case "Escape": selectPiece(v, null); break;
	default: return false;
	}
	return true;
}

/* ---- buttons ---- */

function slowButtons(v) {
	return [
		button("\u2039", { class: "ib", "aria-label": "Slow scope before", title: "[" },
			function () { goSlow(v, -1); }),
		button("Slowest", { class: "ib" }, function () { goSlowest(v); }),
		button("\u203a", { class: "ib", "aria-label": "Next slow scope", title: "]" },
			function () { goSlow(v, 1); })
	];
}

function flowsButton(v) {
	return button("Flows", { class: "ib", "aria-pressed": "true" }, function (e) {
		v.m.flows = !v.m.flows;
		e.currentTarget.setAttribute("aria-pressed", String(v.m.flows));
		drawOverlay(v);
	});
}

function toolBar(input) {
	var v = input.v, m = input.m, kbd = function (key) { return el("kbd", null, key); };
	return el("div", { class: "tbar" }, input.box.node,
		button("+", { class: "ib", "aria-label": "Zoom in", title: "w" },
			function () { zoomView(v, ZOOM_STEP * ZOOM_STEP, 0.5); }),
		button("\u2212", { class: "ib", "aria-label": "Zoom out", title: "s" },
			function () { zoomView(v, 1 / ZOOM_STEP / ZOOM_STEP, 0.5); }),
		button("All", { class: "ib", title: "0" }, function () { glideTo(v, m.whole.t0, m.whole.t1); }),
		m.slow.length ? slowButtons(v) : null,
		m.o.lanes.some(function (l) { return l.kind === "stream"; }) ? flowsButton(v) : null,
		button("As a table", { class: "ib" }, function () { showSums(v, m.t0, m.t1, ""); }),
		el("span", { class: "hint" }, "Drag to sum up, ", kbd("w"), kbd("a"), kbd("s"), kbd("d"),
			" or Ctrl and the wheel to move, ", kbd("?"), " help"));
}
