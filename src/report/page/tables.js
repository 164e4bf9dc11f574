/* tables.js - everything else as rows that sort and filter; also what the canvases show, for those who cannot see them. */

var ROWS_SHOWN = 40;

/* A column: title, value of a row, how to show it ("time", "count", ...), and whether its share of the largest is drawn. */
function column(title, value, kind, share) {
	return { title: title, value: value, kind: kind || "text", share: share };
}
function field(title, key, kind, share) {
	return column(title, function (r) { return r[key]; }, kind, share);
}

var SHOW = {
	text: function (v) { return v === null || v === undefined ? "" : v; },
	time: function (v) { return v === null || v === undefined ? "?" : dur(v); },
	count: function (v) { return v === null || v === undefined ? "?" : count(v); },
	pct: function (v) { return v === null || v === undefined ? "?" : pct(v); },
	bytes: function (v) { return v === null || v === undefined ? "?" : bytes(v); },
	number: function (v) { return v === null || v === undefined ? "?" : number(v); },
};

var processField = field("process", "process_id", "text");
function allTables() {
	return [
	{ name: "Functions", rows: report.functions, sort: 2, columns: [column("function", functionName), column("where", place, "mono"), field("own time", "self_us", "time", true),
		field("total", "total_us", "time"), field("calls", "calls", "count"), field("CPU by samples", "cpu_self_us", "time"), field("of it native", "native_us", "time"),
		field("seen", "source"), processField] },
	{ name: "Lines", rows: report.lines, sort: 2, columns: [column("line", place, "mono"), field("function", "function"), field("CPU time", "self_us", "time", true),
		field("of it native", "native_us", "time"), field("samples", "samples", "count"), processField] },
	{ name: "Kernels", rows: report.kernels, sort: 3, columns: [field("kernel", "name", "mono"), field("class", "class"), field("GPU", "device_id", "text"), field("total", "total_us", "time", true),
		field("count", "count", "count"), field("mean", "mean_us", "time"), field("longest", "max_us", "time"), field("launched from", "launched_from", "mono")] },
	{ name: "Copies", rows: report.copies, sort: 2, columns: [field("kind", "kind"), field("GPU", "device_id", "text"), field("total", "total_us", "time", true), field("count", "count", "count"),
		field("bytes", "bytes", "bytes"), field("GB/s", "gb_per_s", "number"), field("pageable", "pageable_pct", "pct")] },
	{ name: "Scopes", rows: report.scopes, sort: 2, columns: [field("scope", "name"), field("count", "count", "count"), field("total", "total_us", "time", true), field("mean", "mean_us", "time"),
		field("p50", "p50_us", "time"), field("p90", "p90_us", "time"), field("p99", "p99_us", "time"), field("longest", "max_us", "time")] },
	{ name: "Threads", rows: report.threads, sort: 3, columns: [column("thread", function (r) { return r.name || r.thread_id; }), field("id", "thread_id", "text"), processField,
		field("time", "wall_us", "time"), field("on CPU", "on_cpu_us", "time", true)].concat(STATE_ORDER.map(function (k) { return field(stateWords(k), k, "time"); })) },
	{ name: "GPUs", rows: report.gpus, sort: 0, columns: [field("GPU", "device_id", "text"), field("name", "name"), field("span", "span_us", "time"), field("busy", "busy_pct", "pct", true),
		field("idle", "idle_pct", "pct"), field("compute", "compute_pct", "pct"), field("copies", "copy_pct", "pct"), field("collectives", "comm_pct", "pct"), field("kernels", "kernel_count", "count"),
		field("to the GPU", "h2d_bytes", "bytes"), field("back", "d2h_bytes", "bytes")] },
	{ name: "System calls", rows: report.syscalls, sort: 3, columns: [field("call", "name"), field("slowest at", "where", "mono"), field("count", "count", "count"), field("total", "total_us", "time", true), field("mean", "mean_us", "time"),
		field("over 50 us", "slow", "count"), field("longest", "max_us", "time"), field("bytes", "bytes", "bytes"), field("errors", "errors", "count"),
		column("which", function (r) { return (r.errnos || []).map(function (e) { return e.name; }).join(", "); })] },
	{ name: "Memory", rows: report.memory ? report.memory.sites : [], sort: 1, columns: [field("where", "where", "mono"), field("bytes", "bytes", "bytes", true), field("count", "count", "count"), field("at the peak", "peak_bytes", "bytes"), field("still there", "live_bytes", "bytes"), field("samples", "samples", "count")] },
	{ name: "Processes", rows: report.program.processes, sort: 2, columns: [field("process", "process_id", "text"), column("command", function (r) { return (r.argv || []).join(" "); }, "mono"),
		field("time", "wall_us", "time", true), field("parent", "parent_id", "text"), column("traced", function (r) { return r.traced ? "yes" : "no"; }), field("events", "events", "count")] },
	{ name: "Counters", rows: report.counters, sort: 1, columns: [field("counter", "name"), field("count", "count", "count"), field("least", "min", "number"), field("most", "max", "number"), field("mean", "mean", "number"), field("last", "last", "number")] },
	{ name: "Marks", rows: report.marks, sort: 1, columns: [field("mark", "name"), field("count", "count", "count")] },
	].filter(function (t) { return t.rows && t.rows.length > 0; }).map(function (t) {
		/* A column in which nothing is known only takes room. */
		var sorted = t.columns[t.sort];
		t.columns = t.columns.filter(function (c) { return t.rows.some(function (r) { var v = c.value(r); return v !== null && v !== undefined && v !== ""; }); });
		t.sort = Math.max(0, t.columns.indexOf(sorted));
		return t;
	});
}

/* How many rows the page does not hold: they are in the JSON report. */
function leftOut(t) {
	return (report.left_out || {})[t.name.toLowerCase()] || 0;
}

function isNumber(c) {
	return c.kind !== "text" && c.kind !== "mono";
}

function compare(c, down) {
	return function (a, b) {
		var x = c.value(a), y = c.value(b), none = (x === null || x === undefined) - (y === null || y === undefined);
		if (none !== 0)
			return none; /* what is not known comes last, whichever way */
		var order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
		return down ? -order : order;
	};
}

function makeTables() {
	var TABLES = allTables();
	if (TABLES.length === 0)
		return null;
	var section = openSection("tables", "Tables"), now = null, query = "", all = false;
	var box = search("Filter rows", "filter rows", function (text) { query = text.toLowerCase(); all = false; draw(); });
	var panel = el("div", { class: "tw", tabindex: 0, role: "tabpanel", id: "table-panel" }), more = el("div", { class: "more" });
	var tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Tables" }, TABLES.map(function (t, i) {
		t.column = t.columns[t.sort] || t.columns[0];
		t.down = isNumber(t.column);
		t.tab = button([t.name, " ", el("small", { class: "muted" }, count(t.rows.length + leftOut(t)))], { role: "tab", "aria-selected": "false", "aria-controls": "table-panel", tabindex: i ? -1 : 0 }, function () { choose(t); });
		return t.tab;
	}));
	tabs.addEventListener("keydown", function (e) {
		var i = TABLES.indexOf(now), next = e.key === "ArrowRight" ? i + 1 : e.key === "ArrowLeft" ? i - 1 : -1;
		if (TABLES[next]) {
			choose(TABLES[next]);
			TABLES[next].tab.focus();
			e.preventDefault();
		}
	});
	function rows() {
		var found = now.rows;
		if (query)
			found = found.filter(function (r) { return now.columns.some(function (c) { return String(SHOW[c.kind] ? SHOW[c.kind](c.value(r)) : c.value(r) || "").toLowerCase().indexOf(query) >= 0; }); });
		return found.slice().sort(compare(now.column, now.down));
	}
	function cell(c, r, most) {
		var v = c.value(r);
		if (!isNumber(c))
			return el("td", null, v === null || v === undefined || v === "" ? "" : el("span", { class: c.kind === "mono" ? "clip mono" : "clip", title: v }, v));
		var td = el("td", { class: c.share ? "num share" : "num" }, SHOW[c.kind](v));
		if (c.share && most > 0 && known(v))
			td.style.backgroundSize = v / most * 92 + "% 17px";
		return td;
	}
	function head(c) {
		var sorted = c === now.column;
		return el("th", { scope: "col", class: isNumber(c) ? "num" : null, "aria-sort": sorted ? (now.down ? "descending" : "ascending") : null },
			button(c.title + (sorted ? (now.down ? " \u2193" : " \u2191") : ""), null, function () {
				now.down = sorted ? !now.down : isNumber(c);
				now.column = c;
				draw();
				panel.querySelectorAll("th button")[now.columns.indexOf(c)].focus();
			}));
	}
	function draw() {
		var list = rows(), cut = all ? list.slice(0, 5000) : list.slice(0, ROWS_SHOWN);
		var most = now.columns.map(function (c) { return c.share ? Math.max.apply(null, [0].concat(now.rows.slice(0, 20000).map(function (r) { return known(c.value(r)) ? c.value(r) : 0; }))) : 0; });
		panel.replaceChildren(el("table", { class: "data" }, el("caption", { class: "vh" }, now.name), el("thead", null, el("tr", null, now.columns.map(head))),
			el("tbody", null, cut.map(function (r) { return el("tr", null, now.columns.map(function (c, i) { return cell(c, r, most[i]); })); }))));
		box.found.textContent = query ? count(list.length) + " of " + count(now.rows.length) : "";
		more.replaceChildren(list.length > cut.length && !all ? button("Show all " + count(list.length) + " rows", { class: "ib" }, function () { all = true; draw(); }) : "",
			leftOut(now) ? el("p", { class: "cap" }, "This page holds the first " + count(now.rows.length) + " of " + count(now.rows.length + leftOut(now)) + "; all are in the JSON report.") : "");
	}
	function choose(t) {
		now = t;
		all = false;
		TABLES.forEach(function (o) {
			o.tab.setAttribute("aria-selected", String(o === t));
			o.tab.tabIndex = o === t ? 0 : -1;
		});
		panel.setAttribute("aria-label", t.name);
		draw();
	}
	function asText() {
		return [now.columns.map(function (c) { return c.title; })].concat(rows().map(function (r) { return now.columns.map(function (c) { var v = c.value(r); return v === null || v === undefined ? "" : shown(v); }); }))
			.map(function (line) { return line.join("\t"); }).join("\n");
	}
	section.append(el("h2", { class: "vh" }, "Tables"), el("div", { class: "lede" }, tabs, el("div", { class: "tools" }, box.node, copyButton("Copy as TSV", asText, "ib"))), panel, more);
	choose(TABLES[0]);
	return { search: box.input };
}

function copyButton(words, text, kind) {
	return button(words, { class: kind }, function (e) {
		var b = e.currentTarget;
		function said(done) {
			b.textContent = done ? "Copied" : "Not allowed here";
			setTimeout(function () { b.textContent = words; }, 1500);
		}
		if (!navigator.clipboard)
			return said(false);
		navigator.clipboard.writeText(text()).then(function () { said(true); }, function () { said(false); });
	});
}

var tables = null;
function drawTables() {
	tables = makeTables();
}
