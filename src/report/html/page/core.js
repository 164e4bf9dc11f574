/* core.js - the report of this page, and how anything gets onto it.
 *
 * Names come from a traced program and are anybody's.  They reach the page as text
 * through el() and svg(), or as pixels; nothing here makes markup out of a text. */

var report = null, detail = null; /* the JSON report, and what only this page has */
var SVG = "http://www.w3.org/2000/svg";
var TEXT_MOST = 600; /* characters of one text; names may be a megabyte */

function byId(id) {
	return document.getElementById(id);
}

function hex(c, digits) {
	return c.toString(16).padStart(digits, "0");
}

/* A text as it can be shown: what would steer the writing direction or be invisible is spelled out. */
var HIDDEN =
	/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]/g;
function shown(text) {
	text = String(text);
	if (text.length > TEXT_MOST)
		text = text.slice(0, TEXT_MOST) + "...";
	return text.replace(HIDDEN, function (c) {
		var n = c.charCodeAt(0);
		return c === "\n"    ? "\\n"
			: c === "\t" ? "\\t"
			: c === "\r" ? "\\r"
			: n < 256    ? "\\x" + hex(n, 2)
				     : "\\u" + hex(n, 4);
	});
}

function fillNode(node, attributes, children) {
	for (var key in attributes || {}) {
		var value = attributes[key];
		if (value === undefined || value === null || value === false)
			continue;
		if (key === "on")
			for (var name in value)
				node.addEventListener(name, value[name]);
		else
			node.setAttribute(key,
				value === true					  ? ""
					: key === "title" || key === "aria-label" ? shown(value)
										  : value);
	}
	for (var i = 0; i < children.length; i++)
		add(node, children[i]);
	return node;
}

function add(node, child) {
	if (child === undefined || child === null || child === false)
		return;
	if (Array.isArray(child))
		child.forEach(function (one) { add(node, one); });
	else
		node.append(child instanceof Node ? child : document.createTextNode(shown(child)));
}

function el(tag, attributes) {
	return fillNode(document.createElement(tag), attributes, Array.prototype.slice.call(arguments, 2));
}

function svg(tag, attributes) {
	return fillNode(document.createElementNS(SVG, tag), attributes, Array.prototype.slice.call(arguments, 2));
}

function button(words, attributes, act) {
	return el("button", Object.assign({ type: "button", on: { click: act } }, attributes), words);
}

/* One of several, as buttons: act(key) is called with the chosen one. */
function choice(label, keys, chosen, act) {
	var group = el("div", { class: "choice", role: "group", "aria-label": label });
	Object.keys(keys).forEach(function (key) {
		var attributes = { "aria-pressed": String(key === chosen), "data-key": key };
		group.append(button(keys[key], attributes, function () {
			Array.prototype.forEach.call(group.children, function (b) {
				b.setAttribute("aria-pressed", String(b.getAttribute("data-key") === key));
			});
			act(key);
		}));
	});
	return group;
}

function search(label, placeholder, act) {
	var input = el("input", { type: "search", placeholder: placeholder, autocomplete: "off", spellcheck: "false" });
	var found = el("output");
	input.addEventListener("input", function () { act(input.value); });
	return {
		input: input,
		found: found,
		node: el("label", { class: "srch" }, el("span", { class: "vh" }, label), input, found)
	};
}

/* A section's head: what it is about, what it found, and its tools. */
function lede(eyebrow, finding, tools) {
	return el("div", { class: "lede" },
		el("div", null, el("p", { class: "eyebrow" }, eyebrow), el("h2", null, finding)),
		tools ? el("div", { class: "tools" }, tools) : null);
}

var sections = [];
function openSection(id, name) {
	var node = byId(id);
	node.hidden = false;
	node.setAttribute("aria-label", name);
	sections.push({ id: id, name: name });
	return node;
}

/* A chart that is drawn for the width that it has, and again when that changes: its letters keep their size. */
function fluid(draw) {
	var box = el("div"), width = 0;
	new ResizeObserver(function () {
		var now = Math.round(box.clientWidth);
		if (now > 0 && now !== width) {
			width = now;
			box.replaceChildren(draw(now));
		}
	}).observe(box);
	return box;
}

/* ---- colours, for canvases ---- */

var colourCache = {}, probe = null, repaints = [];

function colour(name) {
	if (colourCache[name])
		return colourCache[name];
	if (!probe) {
		probe = el("span", { hidden: true });
		document.body.append(probe);
	}
	probe.style.color = "var(--" + name + ")";
	return (colourCache[name] = getComputedStyle(probe).color);
}

function onRepaint(act) {
	repaints.push(act);
}

function repaint() {
	colourCache = {};
	repaints.forEach(function (act) { act(); });
}

function rgb(text) {
	var m = text.match(/[\d.]+/g) || [0, 0, 0];
	return [+m[0], +m[1], +m[2]];
}

/* Black or white, whichever can be read on the colour. */
function inkOn(text) {
	var c = rgb(text).map(function (v) {
		v /= 255;
		return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4);
	});
	return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] > 0.18 ? "#101418" : "#ffffff";
}

/* ---- the tooltip ---- */

function tip(event, title, lines) {
	var node = byId("tip");
	if (!title) {
		node.style.visibility = "hidden";
		return;
	}
	node.replaceChildren(el("b", null, title),
		(lines || []).filter(Boolean).map(function (l) { return el("span", null, l); })[0] || "");
	(lines || []).filter(Boolean).slice(1).forEach(function (l) { node.append(el("span", null, l)); });
	node.style.visibility = "visible";
	var x = event.clientX + 14, y = event.clientY + 16, box = node.getBoundingClientRect();
	node.style.left = Math.max(4, Math.min(x, innerWidth - box.width - 8)) + "px";
	node.style.top = (y + box.height > innerHeight - 8 ? Math.max(4, event.clientY - box.height - 12) : y) + "px";
}

function withTip(node, title, lines) {
	node.addEventListener("pointermove", function (e) { tip(e, title, lines); });
	node.addEventListener("pointerleave", function (e) { tip(e, null); });
	return node;
}

function still() {
	return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/* ---- the data of the page: JSON, deflated, in base64 ---- */

function unpack(id) {
	var text = byId(id).textContent.trim();
	if (!text)
		return null;
	var letters = atob(text), bytes = new Uint8Array(letters.length);
	for (var i = 0; i < letters.length; i++)
		bytes[i] = letters.charCodeAt(i);
	return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

function unpackJson(id) {
	var data = unpack(id);
	return data ? data.json() : null;
}

function unpackBytes(id) {
	var data = unpack(id);
	return data ? data.arrayBuffer() : null;
}

function begin(parts) {
	if (!("DecompressionStream" in window))
		return byId("main").append(el("p", { class: "panel" },
			"This browser is too old to draw the charts: they need one of 2023 or newer. " +
				"What is above is all there."));
	Promise.all([unpackJson("report"), unpackJson("detail"), unpackBytes("pieces")]).then(function (all) {
		report = all[0];
		detail = all[1] || {};
		detail.pieces = all[2] ? new Uint8Array(all[2]) : null;
		parts.forEach(function (part) { part(); });
		document.documentElement.setAttribute("data-ready", "yes");
	}).catch(function (error) {
		console.error(error);
		byId("main").append(el("p", { class: "panel" },
			"The data of this page is damaged, so its charts cannot be drawn. " +
				"Write the report again from the trace."));
	});
}
