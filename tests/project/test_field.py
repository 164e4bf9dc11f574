"""What tests/field/field.py calls right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.field import field
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "field"))
    import field

PROGRAM = field.Program(Path("p.py"), ("lock_contention", "hot_path"))


def verdict(**changes: Any) -> dict[str, Any]:
    fields = {
        "cause": "lock_contention", "kind": "fault", "share": 50.0, "confidence": 0.9, "withheld": None,
        "headline": "", "place": {"function": "Store.update"}, "holder": None, "saving_us": 50.0, "of_us": 100.0,
    }  # fmt: skip
    return {**fields, **changes}


def said(truth: dict[str, Any] | None = None, rows: list[dict[str, Any]] | None = None, **changes: Any) -> field.Said:
    default = {"where": "update", "share": 0.5, "serve_s": 10.0}
    return field.Said({**default, **(truth or {})}, {"verdict": verdict(**changes), "suggestions": rows or []})


def pair(*runs: field.Said, fixed_s: float = 5.0) -> field.Pair:
    sick, well = field.Form(PROGRAM, False), field.Form(PROGRAM, True)
    sick.alone, well.alone = [{"serve_s": 10.0}], [{"serve_s": fixed_s}]
    sick.runs += runs
    return field.Pair(sick, well)


def test_a_cause_is_right_if_somebody_who_knew_the_program_said_so() -> None:
    assert pair().cause_right(said())
    assert pair().cause_right(said(cause="hot_path"))
    assert not pair().cause_right(said(cause="gc_pauses"))
    assert not pair().cause_right(said(withheld="too little was seen"))


@pytest.mark.parametrize("where", ["update", "Store.update", "Store.update.<locals>.<listcomp>", "update (s.py:3)"])
def test_a_place_is_a_function_however_its_python_calls_it(where: str) -> None:
    assert pair().place_right(said({"where": where}))


def test_a_place_may_be_another_that_is_right_too_or_the_holder() -> None:
    assert pair().place_right(said({"where": "main", "also": ["Store.update"]}))
    assert pair().place_right(said({"where": "flush"}, holder={"function": "flush"}))
    assert not pair().place_right(said({"where": "main"}))


def test_a_suggestion_of_the_cause_is_a_place_and_another_is_not() -> None:
    rows = [{"rule": "lock_contention", "where": "flush (s.py:9)"}]
    assert pair().place_right(said({"where": "flush"}, rows))
    assert not pair().place_right(said({"where": "flush"}, [{"rule": "gc_pauses", "where": "flush (s.py:9)"}]))


def test_a_share_may_be_off_by_a_fifth_or_four_points() -> None:
    assert pair().size_right(said(share=59.0, saving_us=59.0))
    assert not pair().size_right(said(share=61.0, saving_us=61.0))
    assert pair(fixed_s=9.9).size_right(said({"share": 0.05}, share=8.9, saving_us=8.9))
    assert not pair(fixed_s=9.9).size_right(said({"share": 0.05}, share=9.1, saving_us=9.1))


def test_what_the_repair_saves_must_not_be_more_than_was_said() -> None:
    assert pair(fixed_s=4.8).size_right(said())
    assert not pair(fixed_s=4.6).size_right(said())
    assert not pair().size_right(said(saving_us=None))


def test_a_healthy_form_is_left_alone_by_a_limit_without_a_fault() -> None:
    limit: dict[str, Any] = {"cause": "native_compute", "kind": "limit"}
    assert field.left_alone(said(**limit))
    assert not field.left_alone(said(rows=[{"rule": "memory_growth", "kind": "fault"}], **limit))
    assert not field.left_alone(said(cause=None, kind=None))
    assert not field.left_alone(said(cause=None, kind=None, withheld="too little was seen"))
    assert not field.left_alone(said())


def test_runs_are_counted_and_not_the_best_of_them() -> None:
    one = pair(said(), said(cause="gc_pauses"), said(withheld="too little was seen"))
    marks = field.Marks([one])
    assert marks.causes == (1, 3)
    assert marks.withheld == (1, 3)
    assert not marks.met()


def test_the_truth_is_the_last_line_that_is_an_object() -> None:
    assert field.last_line('{"a": 1}\nwords\n{"a": 2}\nmore\n') == {"a": 2}
    with pytest.raises(ValueError, match="says nothing"):
        field.last_line("words\n")


def test_programs_are_chosen_by_how_their_names_begin(tmp_path: Path) -> None:
    for name in ("p01_reload", "p02_other"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "accepted.json").write_text('{"p01_reload": ["hot_path"]}')
    found = field.programs([tmp_path], ["p01"])
    assert [(program.name, program.causes) for program in found] == [("p01_reload", ("hot_path",))]
    assert len(field.programs([tmp_path], [])) == 2
