#include "analyze/verdict/setup_calls.h"

#include "base/python_name.h"

/* A file ends like this, or has such a folder in it; name is the function without its class.  Not multiprocessing: what a
 * forked child does all lies below the call that started it. */
static const struct setup_call {
	const char *file, *name;
	enum isc_setup what;
} calls[] = {
	{"/torch/serialization.py", "load", ISC_SETUP_MODEL},
	{"/torch/nn/modules/module.py", "load_state_dict", ISC_SETUP_MODEL},
	{"/torch/nn/modules/", "__init__", ISC_SETUP_MODEL},
	{"/torch/jit/_serialization.py", "load", ISC_SETUP_MODEL},
	{"/torch/hub.py", "load", ISC_SETUP_MODEL},
	{"/torch/quantization/quantize.py", "quantize_dynamic", ISC_SETUP_MODEL},
	{"/torch/ao/quantization/quantize.py", "quantize_dynamic", ISC_SETUP_MODEL},
	{"/transformers/", "from_pretrained", ISC_SETUP_MODEL},
	{"/tokenizers/", "from_pretrained", ISC_SETUP_MODEL},
	{"/safetensors/", "load_file", ISC_SETUP_MODEL},
	{"/sentence_transformers/", "__init__", ISC_SETUP_MODEL},
	{"/diffusers/", "from_pretrained", ISC_SETUP_MODEL},
	{"/tensorflow/python/saved_model/load.py", "load", ISC_SETUP_MODEL},
	{"/keras/src/saving/saving_api.py", "load_model", ISC_SETUP_MODEL},
	{"/joblib/numpy_pickle.py", "load", ISC_SETUP_MODEL},
	{"/onnxruntime/capi/onnxruntime_inference_collection.py", "__init__", ISC_SETUP_MODEL},
	{"/onnx/__init__.py", "load", ISC_SETUP_MODEL},
	{"/onnx/__init__.py", "load_model", ISC_SETUP_MODEL},
	{"/json/__init__.py", "load", ISC_SETUP_FILE},
	{"/yaml/__init__.py", "load", ISC_SETUP_FILE},
	{"/tomllib/_parser.py", "load", ISC_SETUP_FILE},
	{"/configparser.py", "read", ISC_SETUP_FILE},
	{"/pandas/io/", "read_csv", ISC_SETUP_FILE},
	{"/pandas/io/", "read_parquet", ISC_SETUP_FILE},
	{"/pandas/io/", "read_json", ISC_SETUP_FILE},
	{"/numpy/lib/", "load", ISC_SETUP_FILE},
	{"/numpy/lib/", "loadtxt", ISC_SETUP_FILE},
	{"/numpy/lib/", "genfromtxt", ISC_SETUP_FILE},
	{"/httpx/_client.py", "__init__", ISC_SETUP_CLIENT},
	{"/httpx/_config.py", "create_ssl_context", ISC_SETUP_CLIENT},
	{"/requests/sessions.py", "__init__", ISC_SETUP_CLIENT},
	{"/aiohttp/client.py", "__init__", ISC_SETUP_CLIENT},
	{"/urllib3/poolmanager.py", "__init__", ISC_SETUP_CLIENT},
	{"/botocore/session.py", "create_client", ISC_SETUP_CLIENT},
	{"/boto3/session.py", "client", ISC_SETUP_CLIENT},
	{"/redis/client.py", "__init__", ISC_SETUP_CLIENT},
	{"/openai/_client.py", "__init__", ISC_SETUP_CLIENT},
	{"/grpc/_channel.py", "__init__", ISC_SETUP_CLIENT},
	{"/sqlalchemy/engine/create.py", "create_engine", ISC_SETUP_CLIENT},
	{"/ssl.py", "create_default_context", ISC_SETUP_CLIENT},
	{"/ssl.py", "load_default_certs", ISC_SETUP_CLIENT},
	{"/ssl.py", "do_handshake", ISC_SETUP_CONNECTION},
	{"/socket.py", "create_connection", ISC_SETUP_CONNECTION},
	{"/http/client.py", "connect", ISC_SETUP_CONNECTION},
	{"/httpcore/", "connect_tcp", ISC_SETUP_CONNECTION},
	{"/psycopg/connection.py", "connect", ISC_SETUP_CONNECTION},
	{"/psycopg2/__init__.py", "connect", ISC_SETUP_CONNECTION},
	{"/pymysql/connections.py", "connect", ISC_SETUP_CONNECTION},
	{"/subprocess.py", "__init__", ISC_SETUP_PROCESS},
	{"<frozen importlib._bootstrap>", "_find_and_load", ISC_SETUP_CODE},
	{"/importlib/__init__.py", "reload", ISC_SETUP_CODE},
	{"/re/_compiler.py", "compile", ISC_SETUP_CODE},
	{"/sre_compile.py", "compile", ISC_SETUP_CODE},
	{"/ast.py", "parse", ISC_SETUP_CODE},
	{"/jinja2/environment.py", "compile", ISC_SETUP_CODE},
	{"/torch/_dynamo/convert_frame.py", "__call__", ISC_SETUP_CODE},
	{"/torch/_inductor/", "compile_fx", ISC_SETUP_CODE},
	{"/torch/jit/_script.py", "script", ISC_SETUP_CODE},
	{"/torch/jit/_trace.py", "trace", ISC_SETUP_CODE},
	{"/numba/core/dispatcher.py", "compile", ISC_SETUP_CODE},
};

enum isc_setup isc_setup_of(const isc_frame *frame)
{
	if (frame->kind != ISC_FRAME_PYTHON)
		return ISC_SETUP_NONE;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (isc_python_function_is(&frame->name, calls[i].name) &&
		    isc_python_file_is(&frame->file, calls[i].file))
			return calls[i].what;
	}
	return ISC_SETUP_NONE;
}

const char *isc_setup_name(enum isc_setup what)
{
	static const char *const names[ISC_SETUPS] = {"none",	 "load_model",	  "read_file", "make_client",
						      "connect", "start_process", "compile"};

	return what < ISC_SETUPS ? names[what] : names[0];
}
