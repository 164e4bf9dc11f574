"""vLLM on the CPU with a tiny model without weights: its files, its command, when it is ready."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
from pathlib import Path

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 1024,
    "max_position_embeddings": 2048,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
# Runs in vLLM's Python, which has the library; argument: the folder.
TOKENISER = """
import sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
t = Tokenizer(models.BPE())
t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
text = ["what does a model say about an image of tokens when requests come and go all day"] * 50
t.train_from_iterator(text, trainers.BpeTrainer(
    vocab_size=1024, special_tokens=["<s>", "</s>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
t.save(sys.argv[1] + "/tokenizer.json")
"""
SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


def write_model(python: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    subprocess.run([str(python), "-c", TOKENISER, str(folder)], check=True)
    names = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "model_max_length": 2048,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(names))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(python: Path, folder: Path) -> tuple[list[str], dict[str, str]]:
    model = folder / "model"
    write_model(python, model)
    port = free_port()
    (folder / "port").write_text(str(port))
    argv = [
        str(python), str(python.with_name("vllm")), "serve", str(model),
        "--served-model-name", "tiny", "--load-format", "dummy",
        "--enforce-eager", "--dtype", "bfloat16", "--max-model-len", "2048", "--max-num-batched-tokens", "2048",
        "--no-enable-prefix-caching", "--host", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip
    return argv, {**SETTINGS, "HOME": str(folder), "VLLM_CACHE_ROOT": str(folder / "cache")}


def ready_port(folder: Path) -> int | None:
    """The port, once the server answers there."""
    text = (folder / "port").read_text() if (folder / "port").exists() else ""
    if not re.fullmatch(r"\d+", text):
        return None
    connection = http.client.HTTPConnection("127.0.0.1", int(text), timeout=2)
    try:
        connection.request("GET", "/health")
        return int(text) if connection.getresponse().status == 200 else None
    except OSError:
        return None
    finally:
        connection.close()
