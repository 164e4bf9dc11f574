/* keys.js - the keyboard, the theme, the way around the page. */

var KEYS = [
	["w  s", "zoom the timeline in and out, at the pointer", "timeline"],
	["a  d  and arrows", "move left and right", "timeline"],
	["0", "the whole window", "timeline"],
	["f  Enter", "zoom to the selected event, or to the selected span", "timeline"],
	["[  ]", "the slow scope before, and the next", "timeline"],
	["/", "search; in the timeline n and p go from match to match"],
	["t", "dark or light"],
	["Esc", "let go of what is selected"],
	["?", "this help"],
];

function makeHelp() {
	var dialog = byId("help");
	dialog.append(el("h2", { id: "help-title" }, "Keyboard"),
		el("dl", { class: "keys" }, KEYS.filter(function (k) { return !k[2] || byId(k[2]); }).map(function (k) {
			return [
				el("dt", null,
					k[0].split("  ").map(function (one) { return [el("kbd", null, one), " "]; })),
				el("dd", null, k[1])
			];
		})),
		el("p", { class: "cap" },
			(byId("timeline") ? "Drag over the timeline to sum up a span. " +
				"The wheel zooms while the timeline has the focus or Ctrl is held. " : "") +
				"In the flame graph arrows walk, Enter zooms and Escape goes back."),
		button("Close", { class: "ib" }, function () { dialog.close(); }));
	byId("help-open").hidden = false;
	byId("help-open").addEventListener("click", function () { dialog.showModal(); });
	return dialog;
}

function isDark() {
	var chosen = document.documentElement.getAttribute("data-theme");
	return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
	document.documentElement.setAttribute("data-theme", isDark() ? "light" : "dark");
	repaint();
}

/* Canvases are pixels: for paper they are drawn again, in the light. */
function lightOnPaper() {
	var root = document.documentElement, was = null;
	addEventListener("beforeprint", function () {
		was = root.getAttribute("data-theme") || "";
		root.setAttribute("data-theme", "light");
		repaint();
	});
	addEventListener("afterprint", function () {
		if (was)
			root.setAttribute("data-theme", was);
		else
			root.removeAttribute("data-theme");
		repaint();
	});
}

function inView(id) {
	var box = byId(id).getBoundingClientRect();
	return !byId(id).hidden && box.top < innerHeight * 0.8 && box.bottom > innerHeight * 0.2;
}

/* What "/" goes to: the search of what is on the screen. */
function nearestSearch() {
	var t = timeline && timeline.search;
	if (timeline && inView("timeline"))
		return t;
	if (flame && inView("flame"))
		return flame.search;
	if (tables && inView("tables"))
		return tables.search;
	return t || (flame && flame.search) || (tables && tables.search);
}

/* The flame graph has arrows and Enter of its own. */
function inFlame() {
	return !!document.activeElement.closest("#flame, .tabs");
}

function makeKeys() {
	var help = makeHelp(), theme = byId("theme");
	theme.hidden = false;
	theme.addEventListener("click", switchTheme);
	lightOnPaper();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
	document.addEventListener("keydown", function (e) {
		var typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
		if (typing && e.key === "Escape")
			document.activeElement.blur();
		if (typing || e.ctrlKey || e.metaKey || e.altKey || help.open)
			return;
		if (e.key === "?")
			help.showModal();
		else if (e.key === "t")
			switchTheme();
		else if (e.key === "/" && nearestSearch()) {
			nearestSearch().focus();
			nearestSearch().scrollIntoView({ block: "center" });
		} else if (!(timeline && timeline.focused() && !inFlame() && timeline.key(e)))
			return;
		e.preventDefault();
	});
	byId("nav").append.apply(byId("nav"),
		sections.concat([{ id: "not-seen", name: "Not seen" }])
			.map(function (s) { return el("a", { href: "#" + s.id }, s.name); }));
	document.querySelectorAll(".cmd code").forEach(function (code) {
		code.after(copyButton("Copy", function () { return code.textContent; }, "copy"));
	});
	var waiting = 0;
	addEventListener("resize", function () {
		cancelAnimationFrame(waiting);
		waiting = requestAnimationFrame(repaint);
	});
	if ("IntersectionObserver" in window) {
		var watch = new IntersectionObserver(function (list) {
			list.forEach(function (one) {
				var link = byId("nav").querySelector('a[href="#' + one.target.id + '"]');
				if (link && one.isIntersecting) {
					byId("nav")
						.querySelectorAll("[aria-current]")
						.forEach(function (o) { o.removeAttribute("aria-current"); });
					link.setAttribute("aria-current", "true");
				}
			});
		}, { rootMargin: "-40% 0px -55% 0px" });
		sections.concat([{ id: "not-seen" }]).forEach(function (s) { watch.observe(byId(s.id)); });
	}
}
