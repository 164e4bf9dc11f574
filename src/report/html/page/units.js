/* units.js - the program's units of work: how long they took, and how many of them were recorded whole. */

function unitPlace(f) {
	return f && f.name ? functionName(f) + (f.file ? " (" + place(f) + ")" : "") : "?";
}

/* "64 scopes named request", "64 iterations of the loop in main (run.py:9), each with step (run.py:4)". */
function unitWords(f) {
	if (f.kind === "scope")
		return plural(f.count, "scope") + " named " + (f.name || "?");
	if (f.kind === "task")
		return plural(f.count, "task") + " of " + unitPlace(f);
	return (f.kind === "item" ? plural(f.count, "work item") + " of a pool"
				  : plural(f.count, "iteration") + " of the loop in " + unitPlace(f.looper)) +
		", each with " + unitPlace(f);
}

function unitCoverage(f) {
	if (f.whole === f.count || f.none === f.count)
		return f.none === f.count ? "no calls were recorded" : "every call in them was recorded";
	return [
		f.whole ? count(f.whole) + " recorded whole" : "",
		f.partial ? count(f.partial) + " in part" +
				(f.thinned ? " (" + count(f.thinned) + " only thinned out)" : "")
			  : "",
		f.none ? count(f.none) + " without calls" : ""
	].filter(Boolean)
		.join(", ");
}

function drawUnits() {
	var u = report.units, section = byId("latency"), words;
	if (!u)
		return;
	words = "p50 " + dur(u.p50_us) + ", p90 " + dur(u.p90_us) + ", p99 " + dur(u.p99_us) + ", longest " +
		dur(u.max_us) + "; " + unitCoverage(u) + ".";
	if (section.hidden)
		openSection("latency", "Latency")
			.append(lede("Units of work",
				"Half take " + dur(u.p50_us) + " or less, the longest " + dur(u.max_us)));
	section.append(el("div", { class: "panel after", id: "units" },
		el("h3", null, "Units of work: " + unitWords(u)), el("p", { class: "cap" }, words)));
}
