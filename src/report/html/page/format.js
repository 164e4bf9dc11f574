/* format.js - numbers for people, in the same words as the other reports. */

/* toFixed() rounds what lies just between two numbers up, and printf() to the even one: so do we, as the other reports
 * do. */
function fixed(value, digits) {
	var scaled = value * Math.pow(10, digits);
	var between = value * 8 % 1 === 0 && scaled % 1 === 0.5 && Math.floor(scaled) % 2 === 0;
	return (between ? Math.floor(scaled) / Math.pow(10, digits) : value).toFixed(digits);
}

function figures(value, unit) {
	return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + " " + unit;
}

function known(value) {
	return typeof value === "number" && isFinite(value) && value >= 0;
}

function two(n) {
	return String(n).padStart(2, "0");
}

function dur(us) {
	if (!known(us))
		return "?";
	if (us === 0)
		return "0";
	if (us < 0.9995)
		return fixed(us * 1e3, 0) + " ns";
	if (us < 999.5)
		return figures(us, "us");
	if (us < 999.5e3)
		return figures(us / 1e3, "ms");
	if (us < 120e6)
		return figures(us / 1e6, "s");
	var whole = Math.round(us < 7200e6 ? us / 1e6 : us / 60e6);
	return us < 7200e6 ? Math.floor(whole / 60) + " min " + two(whole % 60) + " s"
			   : Math.floor(whole / 60) + " h " + two(whole % 60) + " min";
}

/* A change: +3.2 ms, -40 us. */
function signed(us) {
	return typeof us !== "number" || !isFinite(us) ? "?" : (us > 0 ? "+" : us < 0 ? "-" : "") + dur(Math.abs(us));
}

function pct(value) {
	if (!known(value))
		return "?";
	return value > 0 && value < 0.005    ? "<0.01%"
		: value > 0 && value < 0.095 ? fixed(value, 2) + "%"
					     : fixed(value, 1) + "%";
}

function count(n) {
	return typeof n === "number" ? String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",") : "?";
}

function plural(n, one, many) {
	return count(n) + " " + (n === 1 ? one : many || one + "s");
}

function bytes(n) {
	if (!known(n))
		return "?";
	var units = ["B", "kB", "MB", "GB", "TB"], i = 0;
	while (n >= 1000 && i < 4) {
		n /= 1000;
		i++;
	}
	return i === 0 ? n + " B" : figures(n, units[i]);
}

function number(value) {
	if (typeof value !== "number")
		return "?";
	return Number.isInteger(value) ? count(Math.abs(value)).replace(/^/, value < 0 ? "-" : "")
				       : String(+value.toPrecision(4));
}

function sentence(text) {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/* The end of a path: what tells one file from another. */
function shortFile(file) {
	var at = file.lastIndexOf("site-packages/");
	if (at >= 0)
		return file.slice(at + 14);
	return file.split("/").slice(-2).join("/");
}

function place(o) {
	return o && o.file	? shortFile(o.file) + (o.line ? ":" + o.line : "")
		: o && o.module ? shortFile(o.module)
				: "";
}

/* Names of functions inside of a text, without what only Python wants to know: as the other reports have them. */
function plainNames(text) {
	return String(text).replace(/\.<locals>/g, "").replace(/<(lambda|listcomp|setcomp|dictcomp|genexpr)>/g, "($1)");
}

/* "<module>" means nothing to people. */
function functionName(o) {
	if (o.name === "<module>" && o.file)
		return "(module " + o.file.split("/").slice(/\/__init__\.py$/.test(o.file) ? -2 : -1).join("/") + ")";
	return plainNames(o.name);
}
