/* table_list.js - the tables of a report. */

var processField = field("process", "process_id", "text");
function names(title, key) {
	return column(title, function (r) { return r[key] ? plainNames(r[key]) : r[key]; }, "mono");
}
/* The judged part comes first where it is known; without it the column is left out, and the next one sorts. */
var judgedField = field("judged", "judged_us", "time", true);
function allTables() {
	return [
		{
			name: "Functions",
			rows: report.functions,
			sort: 2,
			columns: [
				column("function", functionName), column("where", place, "mono"), judgedField,
				field("own time", "self_us", "time", true), field("total", "total_us", "time"),
				field("calls", "calls", "count"), field("CPU by samples", "cpu_self_us", "time"),
				field("of it native", "native_us", "time"), field("seen", "source"), processField
			]
		},
		{
			name: "Lines",
			rows: report.lines,
			sort: 2,
			columns: [
				column("line", place, "mono"),
				column("function",
					function (r) { return r.function ? plainNames(r.function) : r.function; }),
				judgedField, field("CPU time", "self_us", "time", true),
				field("of it native", "native_us", "time"), field("samples", "samples", "count"),
				processField
			]
		},
		{
			name: "Kernels",
			rows: report.kernels,
			sort: 3,
			columns: [
				field("kernel", "name", "mono"), field("class", "class"),
				field("GPU", "device_id", "text"), field("total", "total_us", "time", true),
				field("count", "count", "count"), field("mean", "mean_us", "time"),
				field("longest", "max_us", "time"), names("launched from", "launched_from")
			]
		},
		{
			name: "Copies",
			rows: report.copies,
			sort: 2,
			columns: [
				field("kind", "kind"), field("GPU", "device_id", "text"),
				field("total", "total_us", "time", true), field("count", "count", "count"),
				field("bytes", "bytes", "bytes"), field("GB/s", "gb_per_s", "number"),
				field("pageable", "pageable_pct", "pct")
			]
		},
		{
			name: "Scopes",
			rows: report.scopes,
			sort: 2,
			columns: [
				field("scope", "name"), field("count", "count", "count"),
				field("total", "total_us", "time", true), field("mean", "mean_us", "time"),
				field("p50", "p50_us", "time"), field("p90", "p90_us", "time"),
				field("p99", "p99_us", "time"), field("longest", "max_us", "time")
			]
		},
		{
			name: "Units",
			rows: report.units ? report.units.families : [],
			sort: 2,
			columns: [
				column("units", unitWords), field("count", "count", "count"),
				field("total", "total_us", "time", true), field("whole", "whole", "count"),
				field("partial", "partial", "count"), field("of it thinned", "thinned", "count"),
				field("without calls", "none", "count"), field("p50", "p50_us", "time"),
				field("p90", "p90_us", "time"), field("p99", "p99_us", "time"),
				field("longest", "max_us", "time"), processField
			]
		},
		{
			name: "Threads",
			rows: report.threads,
			sort: 3,
			columns: [
				column("thread", function (r) { return r.name || r.thread_id; }),
				field("id", "thread_id", "text"), processField, judgedField,
				field("time", "wall_us", "time"), field("on CPU", "on_cpu_us", "time", true)
			].concat(STATE_ORDER.map(function (k) { return field(stateWords(k), k, "time"); }))
		},
		{
			name: "GPUs",
			rows: report.gpus,
			sort: 0,
			columns: [
				field("GPU", "device_id", "text"), field("name", "name"),
				field("span", "span_us", "time"), field("busy", "busy_pct", "pct", true),
				field("idle", "idle_pct", "pct"), field("compute", "compute_pct", "pct"),
				field("copies", "copy_pct", "pct"), field("collectives", "comm_pct", "pct"),
				field("kernels", "kernel_count", "count"), field("to the GPU", "h2d_bytes", "bytes"),
				field("back", "d2h_bytes", "bytes")
			]
		},
		{
			name: "System calls",
			rows: report.syscalls,
			sort: 3,
			columns: [
				field("call", "name"), names("slowest at", "where"), field("count", "count", "count"),
				field("total", "total_us", "time", true), field("mean", "mean_us", "time"),
				field("over 50 us", "slow", "count"), field("longest", "max_us", "time"),
				field("bytes", "bytes", "bytes"), field("errors", "errors", "count"),
				column("which",
					function (r) {
						return (r.errnos || []).map(function (e) { return e.name; }).join(", ");
					})
			]
		},
		{
			name: "Memory",
			rows: report.memory ? report.memory.sites : [],
			sort: 1,
			columns: [
				names("where", "where"), field("bytes", "bytes", "bytes", true),
				field("count", "count", "count"), field("at the peak", "peak_bytes", "bytes"),
				field("still there", "live_bytes", "bytes"), field("samples", "samples", "count")
			]
		},
		{
			name: "Processes",
			rows: report.program.processes,
			sort: 2,
			columns: [
				field("process", "process_id", "text"),
				column("command", function (r) { return (r.argv || []).join(" "); }, "mono"),
				field("time", "wall_us", "time", true), field("parent", "parent_id", "text"),
				column("traced", function (r) { return r.traced ? "yes" : "no"; }),
				field("events", "events", "count")
			]
		},
		{
			name: "Counters",
			rows: report.counters,
			sort: 1,
			columns: [
				field("counter", "name"), field("count", "count", "count"),
				field("least", "min", "number"), field("most", "max", "number"),
				field("mean", "mean", "number"), field("last", "last", "number")
			]
		},
		{
			name: "Marks",
			rows: report.marks,
			sort: 1,
			columns: [field("mark", "name"), field("count", "count", "count")]
		},
	];
}
