/* secret: what looks secret is not recorded, what is common in our field is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/secret.h"

/* '|' stands for the NUL behind each argument. */
static const char *redacted(const char *arguments)
{
	static char out[4096];
	size_t len = strlen(arguments), n;
	/* Of exactly this size, so that a read past the end is found. */
	char *argv = malloc(len);

	memcpy(argv, arguments, len);
	for (size_t i = 0; i < len; i++)
		if (argv[i] == '|')
			argv[i] = 0;
	n = isc_secret_redact(argv, len, out, sizeof(out) - 1);
	free(argv);
	for (size_t i = 0; i < n; i++)
		if (out[i] == 0)
			out[i] = '|';
	out[n] = 0;
	return out;
}

static const char *const secrets[][2] = {
	{"serve|--api-key=abc|", "serve|--api-key=***|"},
	{"serve|--api-key|abc|x|", "serve|--api-key|***|x|"},
	{"serve|--api-key|-abc|x|", "serve|--api-key|***|x|"},
	{"-token=abc|", "-token=***|"},
	{"--apikey|abc|", "--apikey|***|"},
	{"--hubAuthToken|abc|", "--hubAuthToken|***|"},
	{"--PASSWORD|abc|", "--PASSWORD|***|"},
	{"--passwd=a b c|", "--passwd=***|"},
	{"--db-pass|abc|", "--db-pass|***|"},
	{"--aws-secret-access-key|abc/d+e|", "--aws-secret-access-key|***|"},
	{"--credentials=/x.json|", "--credentials=***|"},
	{"--auth|user:pw|", "--auth|***|"},
	{"--api-tokens|a,b|", "--api-tokens|***|"},
	{"env|HF_TOKEN=abc|python|", "env|HF_TOKEN=***|python|"},
	{"AWS_SECRET_ACCESS_KEY=a=b=c|", "AWS_SECRET_ACCESS_KEY=***|"},
	{"+model.hub.token=abc|", "+model.hub.token=***|"},
	{"--use-auth-token|--port|80|", "--use-auth-token|--port|80|"},
	{"--use-auth-token|--password|abc|", "--use-auth-token|--password|***|"},
	{"-H|Authorization: Bearer abc.def|", "-H|Authorization: ***|"},
	{"-H|X-Api-Key: abc|", "-H|X-Api-Key: ***|"},
	{"https://user:pw@host/x|", "https://***@host/x|"},
	{"--url=https://ghp@host/x?a=b|", "--url=https://***@host/x?a=b|"},
	{"postgres://u:p@ss@db:5432/x|", "postgres://***@db:5432/x|"},
	{"http://host/x?a=1&access_token=abc&b=2#f|", "http://host/x?a=1&access_token=***&b=2#f|"},
	{"{\"api_key\": \"a b\", \"n\": 1}|", "{\"api_key\": ***, \"n\": 1}|"},
	{"-c|openai.api_key = 'abc'; main()|", "-c|openai.api_key = ***; main()|"},
	{"-c|os.environ['HF_TOKEN'] = 'abc'; f()|", "-c|os.environ['HF_TOKEN'] = ***; f()|"},
	{"sh|-c|HF_TOKEN=abc python x.py|", "sh|-c|HF_TOKEN=***|"},
	{"sh|-c|cd x; HF_TOKEN=abc python x.py --password hunter2 --port 80|",
	 "sh|-c|cd x; HF_TOKEN=*** python x.py --password *** --port 80|"},
	{"hf_abcdefghij1234567890ABCDEFG|", "***|"},
	{"--model=x,sk-abcdefghij1234567890|", "--model=x,***|"},
	/* Cut by the one who gave it: no NUL at the end. */
	{"--api-key=ab", "--api-key=***"},
	{"--token|ab", "--token|***"},
	{"https://us:pw@h", "https://***@h"},
	{"Authorization: ", "Authorization: "},
};

static const char *const plain[] = {
	"vllm|serve|meta-llama/Llama-3.1-8B|--max-tokens|256|--port=8000|",
	"--max-tokens=256|",
	"--max_new_tokens=20|",
	"--tokenizer|/models/x|",
	"--tokenizer=/models/x|",
	"--tokenizer-mode|auto|",
	"--skip-tokenizer-init|--x|",
	"--num-tokens|5|",
	"--prompt-tokens|5|",
	"num_key_value_heads=8|",
	"--num-keys|3|",
	"--pad-token|<pad>|",
	"eos_token_id=2|",
	"--author|me|",
	"--keyframes|3|",
	"--keyword=a|",
	"/usr/bin/python3|train.py|--lr=1e-4|",
	"https://host:8080/path?a=b|",
	"user@host|",
	"a=b|",
	"--|",
	"-|",
	"||",
	"=|",
	"--=x|",
	"--flag|",
	"sk-learn|",
	"hf_hub_download|",
	"ünïcode=\xff\xfe|",
};

static void values_that_look_secret_are_replaced(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		assert_string_equal(redacted(secrets[i][0]), secrets[i][1]);
}

static void what_is_no_secret_stays(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_string_equal(redacted(plain[i]), plain[i]);
}

static void an_argument_that_does_not_fit_is_left_out_whole(void **state)
{
	static const char argv[] = "python\0--api-key=abcdef\0x";
	char out[64];

	(void)state;
	for (size_t room = 0; room < sizeof(out); room++) {
		size_t n;

		memset(out, '#', sizeof(out));
		n = isc_secret_redact(argv, sizeof(argv), out, room);
		assert_true(n <= room);
		assert_true(n == 0 || n == 7 || n == 21 || n == 23);
		assert_int_equal(out[room], '#');
		if (n > 7)
			assert_string_equal(out + 7, "--api-key=***");
	}
	assert_int_equal(isc_secret_redact("", 0, out, sizeof(out)), 0);
}

/* Whatever the bytes: nothing is read or written out of bounds (sanitizers see
 * it), the number of arguments stays, and a known secret behind a known name is
 * never there. */
static void no_input_breaks_it_and_the_count_of_arguments_stays(void **state)
{
	static const char letters[] = "-=:\"' /@?&tokenkeysk-hf_A1\\{}[],;#+.\0\0\xc3";
	uint64_t seed = 42;
	char out[512];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len, n, in_nuls = 0, out_nuls = 0;
		char *argv;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		len = seed >> 33 & 63;
		argv = malloc(len + 25);
		for (size_t i = 0; i < len; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			argv[i] = letters[(seed >> 33) % (sizeof(letters) - 1)];
		}
		memcpy(argv + len, "\0--x-password=QZQZQZ\0end", 25);
		n = isc_secret_redact(argv, len + 24, out, sizeof(out));
		assert_null(memmem(out, n, "QZQZQZ", 6));
		for (size_t i = 0; i < len + 24; i++)
			in_nuls += argv[i] == 0;
		for (size_t i = 0; i < n; i++)
			out_nuls += out[i] == 0;
		assert_int_equal(in_nuls, out_nuls);
		free(argv);
	}
}

static void names_are_judged_word_by_word(void **state)
{
	(void)state;
	assert_true(isc_secret_name("openaiApiKey", 12));
	assert_true(isc_secret_name("access_tokens", 13));
	assert_false(isc_secret_name("tokens", 6));
	assert_false(isc_secret_name("detokenizer", 11));
	assert_false(isc_secret_name("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_that_look_secret_are_replaced),
		cmocka_unit_test(what_is_no_secret_stays),
		cmocka_unit_test(an_argument_that_does_not_fit_is_left_out_whole),
		cmocka_unit_test(no_input_breaks_it_and_the_count_of_arguments_stays),
		cmocka_unit_test(names_are_judged_word_by_word),
	};

	return cmocka_run_group_tests_name("secret", tests, NULL, NULL);
}
