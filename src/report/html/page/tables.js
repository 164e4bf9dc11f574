/* tables.js - everything else as rows that sort and filter; also what the canvases show, for those who cannot see
 * them. */

var ROWS_SHOWN = 40, NARROW = 560, NARROW_COLUMNS = 3;

/* A column: title, value of a row, how to show it ("time", "count", ...), and whether its share of the largest is
 * drawn. */
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

/* How many rows the page does not hold: they are in the JSON report. */
function leftOut(t) {
	return (report.left_out || {})[t.name.toLowerCase()] || 0;
}

function isNumber(c) {
	return c.kind !== "text" && c.kind !== "mono";
}

function compare(c, down) {
	return function (a, b) {
		var x = c.value(a), y = c.value(b),
		    none = (x === null || x === undefined) - (y === null || y === undefined);
		if (none !== 0)
			return none; /* what is not known comes last, whichever way */
		var order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
		return down ? -order : order;
	};
}

/* Those that have rows. */
function fullTables() {
	return allTables().filter(function (t) { return t.rows && t.rows.length > 0; }).map(function (t) {
		/* A column in which nothing is known only takes room. */
		var sorted = t.columns[t.sort];
		t.columns = t.columns.filter(function (c) {
			return t.rows.some(function (r) {
				var v = c.value(r);
				return v !== null && v !== undefined && v !== "";
			});
		});
		t.sort = t.columns.indexOf(sorted) >= 0 ? t.columns.indexOf(sorted)
							: Math.min(t.sort, t.columns.length - 1);
		return t;
	});
}

function makeTables() {
	var TABLES = fullTables();
	if (TABLES.length === 0)
		return null;
	var section = openSection("tables", "Tables"), now = null, query = "", all = false, wide = false;
	var box = search("Filter rows", "filter rows", function (text) {
		query = text.toLowerCase();
		all = false;
		draw();
	});
	var panel = el("div", { class: "tw", tabindex: 0, role: "tabpanel", id: "table-panel" }),
	    more = el("div", { class: "more" });
	var tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Tables" }, TABLES.map(function (t, i) {
		t.column = t.columns[t.sort] || t.columns[0];
		t.down = isNumber(t.column);
		t.tab = button([t.name, " ", el("small", { class: "muted" }, count(t.rows.length + leftOut(t)))],
			{ role: "tab", "aria-selected": "false", "aria-controls": "table-panel", tabindex: i ? -1 : 0 },
			function () { choose(t); });
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
			found = found.filter(function (r) {
				return now.columns.some(function (c) {
					return String(SHOW[c.kind] ? SHOW[c.kind](c.value(r)) : c.value(r) || "")
						       .toLowerCase()
						       .indexOf(query) >= 0;
				});
			});
		return found.slice().sort(compare(now.column, now.down));
	}
	/* Where there is no room: what it is called, with its place below, and the figures that matter most. */
	function chosen() {
		if (wide || panel.clientWidth >= NARROW || now.columns.length <= NARROW_COLUMNS)
			return now.columns;
		var numbers = now.columns.filter(isNumber),
		    first = [now.column]
				    .concat(numbers.filter(function (c) {
					    return c.share || c.kind === "change" || c.kind === "points";
				    }),
					    numbers)
				    .filter(function (c, i, list) { return isNumber(c) && list.indexOf(c) === i; })
				    .slice(0, NARROW_COLUMNS - 1);
		return now.columns.filter(function (c, i) { return i === 0 || first.indexOf(c) >= 0; });
	}
	function below(columns) {
		var c = now.columns[1];
		return columns !== now.columns && c && !isNumber(c) ? c : null;
	}
	function cell(c, r, most, under) {
		var v = c.value(r), place = under ? under.value(r) : null;
		if (!isNumber(c))
			return el("td", null,
				v === null || v === undefined || v === ""
					? ""
					: el("span", { class: c.kind === "mono" ? "clip mono" : "clip", title: v }, v),
				place ? el("small", {
					class: under.kind === "mono" ? "clip mono muted" : "clip muted",
					title: place
				},
						place)
				      : null);
		var td = el("td", { class: c.share ? "num share" : "num" }, SHOW[c.kind](v));
		if (c.share && most > 0 && known(v))
			td.style.backgroundSize = v / most * 92 + "% 17px";
		return td;
	}
	function head(c) {
		var sorted = c === now.column;
		return el("th", {
			scope: "col",
			class: isNumber(c) ? "num" : null,
			"aria-sort": sorted ? (now.down ? "descending" : "ascending") : null
		},
			button(c.title + (sorted ? (now.down ? " \u2193" : " \u2191") : ""), null, function () {
				now.down = sorted ? !now.down : isNumber(c);
				now.column = c;
				draw();
				panel.querySelectorAll("th button")[chosen().indexOf(c)].focus();
			}));
	}
	function draw() {
		var list = rows(), cut = all ? list.slice(0, 5000) : list.slice(0, ROWS_SHOWN);
		var columns = chosen(), under = below(columns), most = columns.map(function (c) {
			return c.share ? Math.max.apply(null,
						 [0].concat(now.rows.slice(0, 20000).map(function (r) {
							return known(c.value(r)) ? c.value(r) : 0;
						})))
				       : 0;
		});
		panel.replaceChildren(el("table", { class: "data" }, el("caption", { class: "vh" }, now.name),
			el("thead", null, el("tr", null, columns.map(head))), el("tbody", null, cut.map(function (r) {
				return el("tr", null,
					columns.map(function (c, i) {
						return cell(c, r, most[i], i === 0 ? under : null);
					}));
			}))));
		box.found.textContent = query ? count(list.length) + " of " + count(now.rows.length) : "";
		more.replaceChildren(list.length > cut.length && !all
				? button("Show all " + count(list.length) + " rows", { class: "ib" },
					  function () {
						  all = true;
						  draw();
					  })
				: "",
			columns !== now.columns || (wide && panel.clientWidth < NARROW)
				? button(wide ? "Fewer columns" : "All " + now.columns.length + " columns",
					  { class: "ib" },
					  function () {
						  wide = !wide;
						  draw();
					  })
				: "",
			leftOut(now) ? el("p", { class: "cap" },
					       "This page holds the first " + count(now.rows.length) + " of " +
						       count(now.rows.length + leftOut(now)) +
						       "; all are in the JSON report.")
				     : "");
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
		return [now.columns.map(function (c) { return c.title; })]
			.concat(rows().map(function (r) {
				return now.columns.map(function (c) {
					var v = c.value(r);
					return v === null || v === undefined ? "" : shown(v);
				});
			}))
			.map(function (line) { return line.join("\t"); })
			.join("\n");
	}
	section.append(el("h2", { class: "vh" }, "Tables"),
		el("div", { class: "lede" }, tabs,
			el("div", { class: "tools" }, box.node, copyButton("Copy as TSV", asText, "ib"))),
		panel, more);
	choose(TABLES[0]);
	onRepaint(draw);
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
