"""The product is what interfaces.yaml says, in both directions.

A name that is public and has no entry fails here, and so does an entry whose name is gone: write the entry in
interfaces.yaml (status planned becomes built), run tools/generate_icd.py.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "inferscope"
sys.path.insert(0, str(ROOT / "tools"))

import interfaces  # noqa: E402
from interfaces import Row  # noqa: E402

WHOLE = interfaces.read()
PYTHON = {row["name"]: row for row in WHOLE["python"] if row["kind"] != "magic"}
BUILT = {name: row for name, row in PYTHON.items() if interfaces.status(row) == "built"}
COMMANDS = [row for row in interfaces.built(WHOLE["commands"]) if row["name"]]
Target = Callable[[str], str]


# ---- the Python package ----

LOOK = """
import enum, inspect, json, types
import inferscope

def signature(thing):
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return None

def members(cls):
    return {
        name: {"signature": signature(value) if callable(value) else None, "doc": inspect.getdoc(value)}
        for name, value in vars(cls).items()
        if not name.startswith("_")
    }

def look(name):
    thing = getattr(inferscope, name)
    kind = "class" if isinstance(thing, type) else "function" if callable(thing) else "constant"
    if isinstance(thing, type) and issubclass(thing, enum.Enum):
        return {"kind": "enum", "values": [value.name for value in thing], "doc": inspect.getdoc(thing)}
    if isinstance(thing, type) and issubclass(thing, Exception):
        return {"kind": "exception", "doc": inspect.getdoc(thing)}
    found = {"kind": kind, "signature": signature(thing), "doc": inspect.getdoc(thing)}
    if kind == "class":
        found["members"] = members(thing)
    return found

stray = [
    name for name, value in vars(inferscope).items()
    if not name.startswith("_") and not isinstance(value, types.ModuleType) and name not in inferscope.__all__
]
print(json.dumps({"all": {name: look(name) for name in inferscope.__all__}, "stray": stray}))
"""


@pytest.fixture(scope="module")
def package(stage: Path) -> Callable[[str], dict[str, Any]]:
    """package(python): what that interpreter sees of the installed package."""
    (site,) = stage.glob("lib/python*/site-packages")
    seen: dict[str, dict[str, Any]] = {}

    def look(python: str) -> dict[str, Any]:
        if python not in seen:
            run = subprocess.run(
                [python, "-c", LOOK],
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site)},
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert run.returncode == 0, run.stderr
            seen[python] = json.loads(run.stdout)
        return seen[python]

    return look


def parameters(signature: str) -> list[tuple[str, str | None]]:
    """Names and defaults, without the types and without self."""
    head = ast.parse(f"def f{re.sub(r'<[^>]*>', '...', signature)}: ...").body[0]
    assert isinstance(head, ast.FunctionDef)
    args = head.args
    plain = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(args.defaults)), *args.defaults]
    found = [(arg.arg, ast.unparse(value) if value else None) for arg, value in zip(plain, defaults)]
    found += [(f"*{args.vararg.arg}", None)] if args.vararg else []
    found += [(a.arg, ast.unparse(v) if v else None) for a, v in zip(args.kwonlyargs, args.kw_defaults)]
    found += [(f"**{args.kwarg.arg}", None)] if args.kwarg else []
    return [item for item in found if item[0] not in ("self", "cls")]


def declared() -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Functions and classes by name, as the stubs and sources declare them; a stub wins."""
    found: dict[str, ast.FunctionDef | ast.ClassDef] = {}
    for file in [*sorted(PACKAGE.glob("*.py")), *sorted(PACKAGE.glob("*.pyi"))]:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[node.name] = node
    return found


def spelt(node: ast.FunctionDef, constructor: bool = False) -> str:
    """Its signature, without self; a constructor's without what it returns."""
    args = ast.parse(ast.unparse(node)).body[0].args  # type: ignore[attr-defined]
    args.args = [arg for arg in args.args if arg.arg not in ("self", "cls")]
    args.posonlyargs = [arg for arg in args.posonlyargs if arg.arg not in ("self", "cls")]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and not constructor else ""
    return f"({ast.unparse(args)}){returns}"


def same(signature: str) -> str:
    """Quotes around forward references are no difference, nor are blanks."""
    return re.sub(r"[\s'\"]", "", signature)


def test_every_public_name_has_its_entry(package: Callable[[str], dict[str, Any]], python: str) -> None:
    seen = package(python)
    lacking = [name for name in seen["all"] if name not in BUILT]
    assert not lacking, f"public names without an entry of status built in interfaces.yaml: {', '.join(lacking)}"
    gone = [name for name in BUILT if name not in seen["all"]]
    assert not gone, f"described in interfaces.yaml, and not in inferscope.__all__: {', '.join(gone)}"
    assert not seen["stray"], f"public and not in __all__: {seen['stray']}"


def test_names_are_of_the_kind_and_signature_described(package: Callable[[str], dict[str, Any]], python: str) -> None:
    for name, seen in package(python)["all"].items():
        row = BUILT[name]
        assert seen["kind"] == row["kind"], name
        assert seen.get("values", []) == row.get("values", []), name
        if row["kind"] == "constant":
            continue
        assert seen["doc"], f"{name} has no docstring"
        if row["kind"] in ("function", "class"):
            assert ">>>" in seen["doc"], f"the docstring of {name} has no example"
            if seen["signature"] is not None:
                assert parameters(seen["signature"]) == parameters(row["signature"]), name
        described = {member["name"]: member for member in row.get("members", [])}
        assert set(seen.get("members", {})) == set(described), name
        for member, facts in seen.get("members", {}).items():
            assert facts["doc"], f"{name}.{member} has no docstring"
            if facts["signature"] is not None and described[member]["kind"] == "method":
                assert parameters(facts["signature"]) == parameters(described[member]["signature"]), member


def test_types_are_those_of_stubs_and_sources() -> None:
    nodes = declared()
    for name, row in BUILT.items():
        if row["kind"] not in ("function", "class"):
            continue
        node = nodes.get(name)
        assert node is not None, f"{name} is declared in no .py or .pyi of the package"
        if isinstance(node, ast.FunctionDef):
            assert same(spelt(node)) == same(row["signature"]), name
            continue
        methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        made = methods.get("__init__") or methods.get("__new__")
        assert same(spelt(made, constructor=True) if made else "()") == same(row["signature"]), name
        for member in row.get("members", []):
            if member["kind"] == "method":
                assert same(spelt(methods[member["name"]])) == same(member["signature"]), f"{name}.{member['name']}"
            elif member["name"] in methods:
                returns = methods[member["name"]].returns
                assert returns is not None and same(ast.unparse(returns)) == same(member["type"]), member["name"]


RAISED = {
    ("scope", "TypeError"): "inferscope.scope(1)",
    ("TraceBuffer", "ValueError"): "inferscope.TraceBuffer(0)",
    ("CpuCollector", "TypeError"): "inferscope.CpuCollector(object())",
    ("GpuCollector", "TypeError"): "inferscope.GpuCollector(object())",
    ("CPUProfiler", "inferscope.Error"): "inferscope.CPUProfiler('/nonexistent/libinferscope.so')",
    ("CPUProfiler", "ValueError"): "inferscope.CPUProfiler(interval_us=1)",
    ("ReportGenerator", "TypeError"): "inferscope.ReportGenerator([])",
    ("TimelineMerger", "ValueError"): "inferscope.TimelineMerger([], margin_us=-1)",
    ("BottleneckAnalyzer", "inferscope.Error"): "inferscope.BottleneckAnalyzer('/nonexistent.isc').analyze()",
}


def test_what_is_raised_is_raised(stage: Path, python: str) -> None:
    described = {(name, why["type"]) for name, row in BUILT.items() for why in row.get("raises", [])}
    assert described == set(RAISED)
    (site,) = stage.glob("lib/python*/site-packages")
    for (_, kind), call in RAISED.items():
        code = (
            f"import inferscope\ntry:\n    {call}\nexcept {kind} as error:\n    assert str(error)\nelse:\n    exit(3)"
        )
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site)}
        run = subprocess.run(
            [python, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert run.returncode == 0, f"{call}: {run.stderr}"


# ---- events ----

TRACED = """
import gc
import json
import inferscope

def work():
    return len([1])

profiler = inferscope.Profiler(c_calls=True, memory=True)
profiler.start()
with inferscope.scope("request"):
    inferscope.mark_event("answered", {"tokens": 7})
    inferscope.counter("queue", 2)
    work()
for _ in range(20):
    bytearray(5_000_000)
gc.collect()
print(json.dumps(profiler.stop()))
"""
TYPES = {"str": str, "int": int, "float": float, "dict": dict, "list": list}


def test_event_dictionaries_have_the_fields_described(stage: Path, python: str, tmp_path: Path) -> None:
    part = WHOLE["events"]
    if interfaces.status(part) == "planned":
        assert "TraceBuffer" not in BUILT, "event dictionaries are there: describe them"
        return
    (site,) = stage.glob("lib/python*/site-packages")
    run = subprocess.run(
        [python, "-c", TRACED],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    events = json.loads(run.stdout)
    described = {row["event_type"]: row for row in interfaces.built(part["types"])}
    # Samples come when they come, waits with the hooks of `run` alone, memory moves where there are nodes
    # (tests/e2e/memory), and GPUs are where they are (tests/e2e/gpu); everything else was done above.
    found = {event["event_type"] for event in events}
    elsewhere = {"cpu_sample", "cpu_syscall", "gil_wait", "lock_wait", "numa_migration"}
    elsewhere |= {name for name, row in described.items() if any("_GPU_" in kind for kind in row["records"])}
    assert set(described) - elsewhere <= found <= set(described)
    for event in events:
        fields = {row["name"]: row for row in [*part["every"], *described[event["event_type"]]["fields"]]}
        assert set(event) == set(fields), event
        for name, value in event.items():
            row = fields[name]
            kinds = tuple(TYPES[word] for word in row["type"].split(" | "))
            assert isinstance(value, kinds) or (value is None and row.get("nullable")), (name, event)
        assert event["start_us"] == event["start_ns"] // 1000 and event["end_us"] == event["end_ns"] // 1000
        assert event["start_ns"] <= event["end_ns"]


# ---- C ----


@pytest.mark.parametrize("compiler", ["cc", "c++"])
@pytest.mark.parametrize("header", interfaces.built(WHOLE["c"]), ids=lambda row: row["header"])
def test_headers_declare_what_is_described(tmp_path: Path, header: Row, compiler: str) -> None:
    """The compiler compares: a second declaration must agree with the first, types of members must be the same."""
    text = (ROOT / "include" / header["header"]).read_text()
    lines = [f"#include <{header['header']}>", "#include <stdint.h>"]
    if compiler == "c++":
        lines += ["#include <type_traits>", 'extern "C" {']
    for row in interfaces.built(header["names"]):
        if row["kind"] == "function":
            inline = re.search(rf"static inline [^;{{]*\b{row['name']}\(", text) is not None
            lines.append(f"{'static inline ' if inline else ''}{row['declaration']};")
        elif row["kind"] == "macro" and "value" in row:
            lines.append(f"static char check_{row['name']}[{row['name']} == {row['value']} ? 1 : -1];")
            lines.append(
                f"void *use_{row['name']}(void); void *use_{row['name']}(void) {{ return check_{row['name']}; }}"
            )
        for member in row.get("members", []) if compiler == "cc" else []:
            of = f"__typeof__((({row['name']} *)0)->{member['name']})"
            lines.append(f'_Static_assert(__builtin_types_compatible_p({of}, {member["type"]}), "{member["name"]}");')
    if compiler == "c++":
        lines.append("}")
    file = tmp_path / ("x.c" if compiler == "cc" else "x.cc")
    file.write_text("\n".join(lines) + "\n")
    command = [compiler, "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "-c", str(file), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_members_are_all_of_them() -> None:
    for header in interfaces.built(WHOLE["c"]):
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / header["header"]).read_text(), flags=re.DOTALL)
        for row in header["names"]:
            if row["kind"] != "struct":
                continue
            body = re.search(rf"typedef struct {row['name']} \{{(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
            assert body
            names = re.findall(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])?;", body.group(1))
            found = [pointer or plain for pointer, plain in names]
            assert found == [member["name"] for member in row["members"]], row["name"]


# ---- commands ----


def options_of_help(text: str) -> dict[str, str | None]:
    """{"--name" or "-x": what it takes} of --help."""
    found: dict[str, str | None] = {}
    for letter, taken, name, value in re.findall(
        r"^ +(?:-(\w)(?: ([A-Z]+))?,? ?)?(?:--([a-z-]+)(?:=(\S+))?)?(?=  |$)", text, re.MULTILINE
    ):
        if name:
            found[f"--{name}"] = value or None
        elif letter:
            found[f"-{letter}"] = taken or None
    return found


def options_described(command: Row) -> dict[str, str | None]:
    found: dict[str, str | None] = {"--help": None}
    for option in interfaces.built(command["options"]):
        name = f"--{option['name']}" if "name" in option else f"-{option['letter']}"
        found[name] = option.get("argument")
    if command.get("options_of") == "settings":
        for row in WHOLE["settings"]:
            if "option" in row:
                found[f"--{row['option']}"] = row.get("argument")
            if "negated" in row:
                found[f"--{row['negated']}"] = None
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=lambda row: row["name"])
def test_help_offers_what_is_described(inferscope: Command, command: Row) -> None:
    run = inferscope(*command["name"].split(), "--help", plain=True)
    assert run.returncode == 0 and run.stderr == ""
    assert options_of_help(run.stdout) == options_described(command)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda row: row["name"])
def test_a_page_for_every_command_names_its_options_and_no_other(inferscope: Command, command: Row) -> None:
    if command.get("internal"):
        return
    words = command["name"].split()
    page = ROOT / "docs" / f"{words[0]}.md"
    text = page.read_text()
    assert f"inferscope {command['name']} " in text or f"inferscope {command['name']}\n" in text
    offered = {name for name in options_of_help(inferscope(*words, "--help", plain=True).stdout) if name[1] == "-"}
    opposites = {f"--{name[5:]}" for name in offered if name.startswith("--no-")}
    opposites |= {f"--no-{name[2:]}" for name in offered}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
    assert offered - named == {"--help"}
    assert named - offered <= opposites, f"{page.name} names options that there are not"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda row: row["name"])
def test_help_fits_a_terminal(inferscope: Command, command: Row) -> None:
    lines = inferscope(*command["name"].split(), "--help", plain=True).stdout.splitlines()
    assert lines[0].startswith(f"Usage: inferscope {command['name']}")
    assert max(map(len, lines)) < 80
    # Nothing is broken in the middle of a sentence but at the right edge.
    about = "\n".join(lines).split("\n\n")[0].splitlines()
    rows = [line for line in about if not line.startswith(("Usage:", "  or:"))]
    assert all(len(row) + len(after.split()[0]) >= 75 for row, after in zip(rows, rows[1:]))


def test_the_overview_lists_the_commands(inferscope: Command) -> None:
    text = inferscope("--help").stdout
    shown = set(re.findall(r"^  (\w+) ", text, re.MULTILINE))
    assert shown == {row["name"].split()[0] for row in COMMANDS if not row.get("internal")}
    assert "--help" in text and "--version" in text
    assert inferscope("--version").stdout == f"inferscope {WHOLE['version']}\n"


@pytest.mark.parametrize("row", [row for row in WHOLE["commands"] if interfaces.status(row) == "planned"], ids=str)
def test_a_planned_command_is_not_there(inferscope: Command, row: Row) -> None:
    assert inferscope(row["name"], "--help").returncode == 2


@pytest.mark.parametrize("command", COMMANDS, ids=lambda row: row["name"])
def test_a_planned_option_is_not_there(inferscope: Command, command: Row) -> None:
    for option in command["options"]:
        if interfaces.status(option) == "planned":
            run = inferscope(*command["name"].split(), f"--{option['name']}", "x")
            assert run.returncode == 2 and "unknown option" in run.stderr


# ---- settings ----


def shown(text: str) -> dict[str, tuple[str, str]]:
    """config show as {key: (value, origin)}."""
    rows = (re.fullmatch(r"(\w+) +(.*?)  +(\S.*)", line) for line in text.splitlines())
    return {row.group(1): (row.group(2), row.group(3)) for row in rows if row}


def value_of(row: Row) -> tuple[str, str]:
    """A value that is not the default, and how it is shown."""
    if row["type"] == "bool":
        return ("1", "true") if row["default"] == "false" else ("0", "false")
    if row["type"] == "choice":
        value = next(choice for choice in row["choices"] if choice != row["default"])
        return value, value
    if row["type"] in ("count", "number", "budget"):
        return str(row["range"][1]), str(row["range"][1])
    return ("a=b", "a=b") if row["type"] == "labels" else ("other.md", "other.md")


def test_settings_have_the_defaults_described(inferscope: Command) -> None:
    rows = shown(inferscope("config", "show").stdout)
    assert rows == {row["key"]: (row["default"], "default") for row in WHOLE["settings"]}


@pytest.mark.parametrize("row", WHOLE["settings"], ids=lambda row: row["key"])
def test_a_setting_is_set_by_its_option_variable_and_file_and_nothing_else(
    inferscope: Command, tmp_path: Path, row: Row
) -> None:
    key, (value, seen) = row["key"], value_of(row)
    if "option" in row:
        option = f"--{row['option']}"
        run = inferscope("config", "show", option, *([value] if "argument" in row else []))
        assert shown(run.stdout)[key] == (seen, option)
    if "negated" in row:
        assert shown(inferscope("config", "show", f"--{row['negated']}").stdout)[key] == (
            "false",
            f"--{row['negated']}",
        )
    if "environment" in row:
        run = inferscope("config", "show", env={row["environment"]: value})
        assert shown(run.stdout)[key] == (seen, row["environment"])
    (tmp_path / ".inferscope.yaml").write_text(f"{key}: {value if row['type'] != 'labels' else '{a: b}'}\n")
    run = inferscope("config", "show")
    if row.get("in_file", True):
        assert shown(run.stdout)[key] == (seen, f"{tmp_path}/.inferscope.yaml:1")
    else:
        assert run.returncode == 2 and "a file cannot set this" in run.stderr


@pytest.mark.parametrize("row", [row for row in WHOLE["settings"] if "range" in row], ids=lambda row: row["key"])
def test_a_value_outside_its_range_is_refused(inferscope: Command, tmp_path: Path, row: Row) -> None:
    low, high = row["range"]
    for value, right in ((high, True), (high + 1, False), (low - 1, False), (low, row["type"] != "budget")):
        (tmp_path / ".inferscope.yaml").write_text(f"{row['key']}: {value}\n")
        assert (inferscope("config", "show").returncode == 0) == right, value


@pytest.mark.parametrize("row", [row for row in WHOLE["settings"] if "choices" in row], ids=lambda row: row["key"])
def test_a_choice_takes_its_words_and_no_other(inferscope: Command, row: Row) -> None:
    for word in row["choices"]:
        assert inferscope("config", "show", f"--{row['option']}", word).returncode == 0
    assert inferscope("config", "show", f"--{row['option']}", "something").returncode == 2


def test_an_option_takes_the_words_described_and_no_other(inferscope: Command) -> None:
    """With traces that are not there: 3 when the word was taken, 2 when it was refused."""
    described = [(c["name"], o) for c in COMMANDS for o in c["options"] if "choices" in o]
    assert {name for name, _ in described} == {"analyze", "diff", "export"}
    for name, option in described:
        traces = ["a.isc", "b.isc"] if name == "diff" else ["a.isc"]
        codes = {
            word: inferscope(name, *traces, f"--{option['name']}", word).returncode
            for word in [*option["choices"], "something"]
        }
        assert codes == {**dict.fromkeys(option["choices"], 3), "something": 2}, name


# ---- the report ----


def test_the_report_has_the_names_described_and_planned_ones_are_empty(inferscope: Command, target: Target) -> None:
    report = inferscope("run", "--", target("scopes.c")).report
    assert list(report) == [row["name"] for row in WHOLE["report"]["names"]]
    full = [
        row["name"] for row in WHOLE["report"]["names"] if interfaces.status(row) == "planned" and report[row["name"]]
    ]
    assert not full, f"planned, and not empty any more: {full}"
    assert {warning.id for warning in report.warnings} <= set(WHOLE["report"]["warnings"])


def test_a_report_of_a_planned_format_is_refused(inferscope: Command) -> None:
    for row in (row for row in WHOLE["formats"] if row["name"].endswith(" report")):
        run = inferscope("run", "--report", f"r{row['ending']}", "--", "true")
        assert (run.returncode == 0) == ("written_by" in row), row["name"]
