/* flame.js - the flame graph: CPU time by stack, as samples saw it. */

var FEW_SAMPLES = 50; /* below, one more or less changes every share */
var FLAME_ROW = 20, FLAME_HIGHEST = 620; /* pixels; beyond, it scrolls */

function frameKind(f) {
	return f.kind === "python" || (!f.kind && f.file && /\.py$|^</.test(f.file)) ? "python"
		: f.kind === "native" || f.module				     ? "native"
										     : "other";
}

/* source: title, words(root) of what it found, tree(reverse, width), and where two things are compared: compared, with
 * mode, more and less (what is compared, in words), widths to choose from, noise(node). */
function makeFlame(source) {
	var section = openSection("flame", "Flame graph"), canvas = el("canvas", { "aria-hidden": "true" });
	var view = el("div", {
		class: "view",
		tabindex: 0,
		role: "application",
		"aria-label": "Flame graph. Arrow keys walk the frames, Enter zooms to one, Escape goes back. " +
			"The tables of functions and lines hold the same figures."
	},
		canvas);
	var scroller = el("div", { class: "scroller" }, view);
	var details = el("div", { class: "det", "aria-live": "polite" });
	var compared = source.compared, f = {
		reverse: false,
		up: false,
		diff: !!(compared && compared.first),
		width: null,
		root: source.tree(false, null),
		query: null
	};
	f.zoom = f.at = f.root;
	var context = canvas.getContext("2d"), hover = null;
	var box = search("Search the flame graph", "search frames", function (text) {
		f.query = text ? text.toLowerCase() : null;
		var us = f.query ? matched(f.root) : 0;
		box.found.textContent = f.query ? pct(f.root.us > 0 ? us / f.root.us * 100 : 0) : "";
		draw();
	});

	function matches(node) {
		return node.frame.name.toLowerCase().indexOf(f.query) >= 0 ||
			(node.frame.file || "").toLowerCase().indexOf(f.query) >= 0;
	}
	/* A frame inside a match is not counted twice. */
	function matched(node) {
		if (node !== f.root && matches(node))
			return node.us;
		return node.list.reduce(function (sum, kid) { return sum + matched(kid); }, 0);
	}
	/* What is above the frame that is zoomed to, and how many rows that makes: asked for once a drawing. */
	function measure() {
		f.above = [];
		for (var node = f.zoom.parent; node; node = node.parent)
			f.above.unshift(node);
		f.rows = deepestOf(f.zoom) - f.zoom.depth + 1 + f.above.length;
	}
	function fill(node) {
		if (f.diff) {
			var d = node.slowUs - node.medianUs, most = Math.max(f.root.slowUs, f.root.medianUs, 1e-9),
			    strength = Math.min(1, Math.sqrt(Math.abs(d) / most) * 1.4);
			if (strength < 0.06 || (compared.noise && Math.abs(d) <= compared.noise(node)))
				return colour("wash");
			var c = rgb(colour(d > 0 ? "slower" : "faster")), p = rgb(colour("panel"));
			return "rgb(" +
				c.map(function (v, i) { return Math.round(v * strength + p[i] * (1 - strength)); })
					.join(",") +
				")";
		}
		return colour(node === f.root ? "grey" : "s-" + frameKind(node.frame));
	}
	function rect(node, above) {
		var w = canvas.clientWidth, scale = w / f.zoom.us,
		    y = above >= 0 ? above : node.depth - f.zoom.depth + f.above.length;
		if (f.up)
			y = f.rows - 1 - y;
		return above >= 0 ? { x: 0, y: y * FLAME_ROW, w: w }
				  : { x: (node.x - f.zoom.x) * scale, y: y * FLAME_ROW, w: node.us * scale };
	}
	function box1(node, r) {
		var c = fill(node);
		context.globalAlpha = f.query && !matches(node) ? 0.28 : 1;
		context.fillStyle = c;
		context.fillRect(r.x, r.y, Math.max(r.w - 1, 0.5), FLAME_ROW - 1);
		if (node === f.at || node === hover) {
			context.strokeStyle = colour("ink");
			context.lineWidth = node === f.at ? 2 : 1;
			context.strokeRect(r.x + 1, r.y + 1, Math.max(r.w - 3, 1), FLAME_ROW - 3);
		}
		if (r.w > 34) {
			context.fillStyle = inkOn(c);
			context.fillText(fit(context, functionName(node.frame), r.w - 10), r.x + 5, r.y + 14);
		}
		context.globalAlpha = 1;
	}
	function walk(node, act) {
		var r = rect(node, -1);
		if (r.w < 0.6)
			return;
		act(node, r);
		node.list.forEach(function (kid) { walk(kid, act); });
	}
	function draw() {
		measure();
		var ratio = devicePixelRatio || 1, w = view.clientWidth, h = Math.max(3, f.rows) * FLAME_ROW;
		view.style.height = h + "px";
		scroller.classList.toggle("tall", h > FLAME_HIGHEST);
		canvas.width = w * ratio;
		canvas.height = h * ratio;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		useFont(context, "12px Inter, system-ui, sans-serif");
		context.clearRect(0, 0, w, h);
		f.above.forEach(function (node, i) { box1(node, rect(node, i)); });
		walk(f.zoom, box1);
	}
	function find(event) {
		var bounds = canvas.getBoundingClientRect(), x = event.clientX - bounds.left,
		    y = event.clientY - bounds.top, hit = null;
		f.above.forEach(function (node, i) {
			var r = rect(node, i);
			if (y >= r.y && y < r.y + FLAME_ROW)
				hit = node;
		});
		walk(f.zoom, function (node, r) {
			if (x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + FLAME_ROW)
				hit = node;
		});
		return hit;
	}
	function lines(node) {
		return [
			place(node.frame),
			dur(node.us) + ", " + pct(node.us / f.root.us * 100) + " of " + dur(f.root.us) + ", " +
				plural(node.samples, "sample"),
			compared ? compared.more + " " + dur(node.slowUs) + ", " + compared.less + " " +
					dur(node.medianUs)
				 : null
		];
	}
	function select(node) {
		f.at = node;
		details.replaceChildren(el("h4", null, functionName(node.frame)), el("dl", null, [
			["CPU time", dur(node.us) + " (" + pct(node.us / f.root.us * 100) + ")"],
			["of its own", dur(node.selfUs)], ["samples", count(node.samples)],
			["where", place(node.frame) || "not known"],
			compared ? [compared.more, dur(node.slowUs)] : null,
			compared ? [compared.less, dur(node.medianUs)] : null,
			compared ? ["change", signed(node.slowUs - node.medianUs)] : null,
			compared && compared.noise ? ["noise", dur(compared.noise(node))] : null
		].filter(Boolean).map(function (p) {
			return el("div", null, el("dt", null, p[0]), el("dd", null, p[1]));
		})));
		draw();
	}
	function zoom(node) {
		f.zoom = node;
		select(node);
	}
	function rebuild() {
		f.root = source.tree(f.reverse, f.width);
		zoom(f.root);
	}
	view.addEventListener("pointermove", function (e) {
		var node = find(e);
		if (node !== hover) {
			hover = node;
			draw();
		}
		tip(e, node ? functionName(node.frame) : null, node ? lines(node) : []);
	});
	view.addEventListener("pointerleave", function (e) { hover = null; tip(e, null); draw(); });
	view.addEventListener("click", function (e) {
		var node = find(e);
		if (node)
			zoom(node);
		view.focus({ preventScroll: true });
	});
	view.addEventListener("keydown", function (e) {
		var at = f.at, kids = at.parent ? at.parent.list : [], i = kids.indexOf(at),
		    down = f.up ? "ArrowUp" : "ArrowDown", up = f.up ? "ArrowDown" : "ArrowUp", next = null;
		if (e.key === down)
			next = at.list[0];
		else if (e.key === up)
			next = at.parent;
		else if (e.key === "ArrowRight")
			next = kids[i + 1];
		else if (e.key === "ArrowLeft")
			next = kids[i - 1];
		else if (e.key === "Enter")
			return zoom(at);
		else if (e.key === "Escape")
			return zoom(f.zoom.parent || f.root);
		else
			return;
		e.preventDefault();
		if (next) {
			if (next === f.zoom.parent)
				f.zoom = next;
			select(next);
		}
	});
	section.append(
		lede(source.title, source.words(f.root),
			[
				box.node,
				choice("Direction", { down: "icicle", up: "flame" }, "down",
					function (k) {
						f.up = k === "up";
						draw();
						scroller.scrollTop = f.up ? scroller.scrollHeight : 0;
					}),
				choice("Order", { callers: "callers first", reverse: "reverse" }, "callers",
					function (k) {
						f.reverse = k === "reverse";
						rebuild();
					}),
				compared ? choice("Colour", { kind: "by kind", diff: compared.mode },
						   f.diff ? "diff" : "kind",
						   function (k) {
							   f.diff = k === "diff";
							   draw();
						   })
					 : null,
				hasInterpreter() ? choice("Frames", { program: "program", all: "with the interpreter" },
							   "program",
							   function (k) {
								   interpreterShown = k === "all";
								   rebuild();
							   })
						 : null,
				compared && compared.widths
					? choice("Width", compared.widths, Object.keys(compared.widths)[0],
						  function (k) {
							  f.width = k;
							  rebuild();
						  })
					: null,
			]),
		el("div", { class: "tl flame" }, scroller, details));
	select(f.root);
	onRepaint(draw);
	return { search: box.input, draw: draw };
}

/* The function with the most time of its own, as the sum over all places that it was called from. */
function hottestWords(root) {
	var own = new Map(), best = null;
	(function sum(node) {
		if (node.depth > 0 && node.frame !== SMALL) {
			var key = frameKey(node.frame), o = own.get(key) || { frame: node.frame, us: 0 };
			o.us += node.selfUs;
			own.set(key, o);
			if (!best || o.us > best.us)
				best = o;
		}
		node.list.forEach(sum);
	})(root);
	if (report.samples.count < FEW_SAMPLES)
		return plural(report.samples.count, "sample") + ": too few to say where the CPU time went";
	return best ? pct(best.us / root.us * 100) + " of the CPU time is in " + functionName(best.frame) + " itself"
		    : "CPU time by stack";
}

var flame = null;
function drawFlame() {
	var s = report.samples;
	if ((report.stacks || []).length === 0 || !(s && s.count > 0))
		return;
	flame = makeFlame({
		title: "Flame graph: CPU time by stack, " + plural(s.count, "sample"),
		words: hottestWords,
		tree: flameTree,
		compared: s.scope && s.median_scopes > 0 && s.slow_scopes > 0
			? { mode: "slow - median", more: "in a slow " + s.scope, less: "in a median one" }
			: null
	});
}
