/* flame_tree.js - stacks of the report as one tree, callers or callees first. */

var FLAME_DEEPEST = 160;

function frameKey(f) {
	return f.name + "\u0001" + (f.file || f.module || "");
}

function newNode(frame, parent, depth) {
	return {
		frame: frame,
		parent: parent,
		depth: depth,
		us: 0,
		selfUs: 0,
		medianUs: 0,
		slowUs: 0,
		ownMedianUs: 0,
		ownSlowUs: 0,
		square: 0,
		samples: 0,
		kids: new Map(),
		list: null,
		x: 0
	};
}

function addTo(node, s) {
	node.us += s.us;
	node.samples += s.samples;
	node.medianUs += Math.max(0, s.us_median || 0);
	node.slowUs += Math.max(0, s.us_slow || 0);
	node.square += s.square || 0;
}

/* Frames that run Python code rather than being some: of the interpreter, how its threads begin, and the machinery of
 * imports.  They are left out unless they are asked for, and their time is that of who called them. */
var interpreterShown = false, INTERPRETER = { name: "(interpreter)" };
var OF_INTERPRETER = /(^|\/)(lib)?python\d[\d.]*[a-z]?(\.so[\d.]*)?$/,
    BEGINS = /^(_start|__libc_start_\w+|start_thread|thread_start|clone3?|_?Py[A-Z_]\w*)$/;
function isInterpreter(f) {
	if (f.machinery === undefined)
		f.machinery = f.kind === "native" ? OF_INTERPRETER.test(f.module || "") || BEGINS.test(f.name)
						  : /^<frozen (importlib|runpy|zipimport)/.test(f.file || "");
	return f.machinery;
}

function hasInterpreter() {
	var trees = detail.tree
		? [detail.tree]
		: [].concat(detail.base ? detail.base.trees : [], detail["new"] ? detail["new"].trees : []);
	return trees.some(function (t) { return t.frames.some(isInterpreter); }) ||
		(!trees.length &&
			(report.stacks || []).some(function (s) { return (s.frames || []).some(isInterpreter); }));
}

function addStack(root, all, s) {
	var frames = interpreterShown ? all : all.filter(function (f) { return !isInterpreter(f); });
	if (frames.length === 0 && all.length > 0)
		frames = [INTERPRETER];
	var node = root, deepest = Math.min(frames.length, FLAME_DEEPEST);
	addTo(root, s);
	for (var i = 0; i < deepest; i++) {
		var key = frameKey(frames[i]), next = node.kids.get(key);
		if (!next) {
			next = newNode(frames[i], node, node.depth + 1);
			node.kids.set(key, next);
		}
		addTo(next, s);
		node = next;
	}
	node.selfUs += s.us;
	node.ownMedianUs += Math.max(0, s.us_median || 0);
	node.ownSlowUs += Math.max(0, s.us_slow || 0);
}

/* Widest first; x counts from the left of the tree, in time. */
function settle(node, x) {
	node.x = x;
	node.list = Array.from(node.kids.values()).sort(function (a, b) { return b.us - a.us; });
	node.list.forEach(function (kid) {
		settle(kid, x);
		x += kid.us;
	});
}

/* The stacks: from the tree that only this page has, else from the report's own list, which is shorter. */
function allStacks() {
	var t = detail.tree;
	if (!t)
		return (report.stacks || []).map(function (s) {
			return Object.assign({}, s, { frames: s.frames && s.frames.length ? s.frames : [SMALL] });
		});
	return stacksOf(t, t.pid.filter(function (pid) { return pid > 0; }).length > 1);
}

/* Of one tree; with its processes as the outermost frames, or without. */
function stacksOf(t, several) {
	var stacks = [], paths = [];
	for (var i = 0; i < t.parent.length; i++) {
		var above = i === 0 ? [] : paths[t.parent[i]], frame = null;
		if (t.frame[i] > 0)
			frame = t.frames[t.frame[i] - 1];
		else if (t.pid[i] > 0)
			frame = several ? { name: "process " + t.pid[i] } : null;
		else if (i > 0)
			frame = above.length === 0 && t.parent[i] === 0 ? null : SMALL;
		paths.push(frame ? above.concat([frame]) : above);
		if (t.us[i] > 0)
			stacks.push({
				frames: paths[i],
				us: t.us[i],
				samples: t.samples[i],
				us_median: t.us_median[i],
				us_slow: t.us_slow[i]
			});
	}
	return stacks;
}

var SMALL = { name: "(smaller ones)" };

function flameTree(reverse) {
	var root = newNode({ name: "all samples" }, null, 0);
	allStacks().forEach(function (s) {
		addStack(root, reverse ? s.frames.slice().reverse() : s.frames, s);
	});
	settle(root, 0);
	return root;
}

function deepestOf(node) {
	return node.list.reduce(function (most, kid) { return Math.max(most, deepestOf(kid)); }, node.depth);
}
