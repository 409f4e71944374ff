"""Changes over a finished run whose outcome is kept, one at a time: the same command
never gives a stale number."""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import pytest

from mmeval.metrics.text import exact_match
from mmeval.run.kept import key
from tests.support.cli import Ended
from tests.support.finished_run import (
    PROMPT,
    ROWS,
    TASK,
    TEMPLATE,
    FinishedRun,
)
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_media import picture

Change = Callable[[FinishedRun, pytest.MonkeyPatch], tuple[str, ...]]
"""Makes one change, and returns the flags to add to the same command."""

SETTINGS = (
    "--limit 1",
    "--limit 2",
    "--limit 0.5",
    "--offset 1",
    "--limit 2 --offset 1",
    "--limit 2 --sample_shuffle 1",
    "--limit 2 --sample_shuffle 2",
    "--limit 2 --stratify level",
    '--samples {"look":[0]}',
    '--samples {"look":[1,2]}',
    "--repeats 2",
    "--gen_kwargs max_gen_toks=17",
    "--gen_kwargs temperature=1",
    "--system_instruction Short.",
    "--skip_metric judge_grade",
    "--skip_metric exact_match",
    '--metric_args {"exact_match":{"ignore_case":true}}',
    '--metric_args {"exact_match":{"ignore_punctuation":true}}',
    "--profile official",
    "--refusals unscored",
    "--refusals 0",
    "--max_unscored 1",
    "--bootstrap_iters 0",
    "--bootstrap_iters 500",
    "--predict_only true",
    "--strict true",
    "--retry_on_error 3",
    "--max_connections 2",
    "--judge_patience 5",
    "--reasoning_tags <a>,</a>",
    '--metadata {"note":"x"}',
    "--judge_args gen_temperature=1",
    "--judge_args gen_max_gen_toks=64",
    "--judge_args timeout=7",
    "--protocol single",
    "--seed 1",
    "--table full",
    "--table none",
    "--model_tag other",
    "--run_id other",
    "--fresh",
)
TASK_CHANGES = (
    ("version: 1.0", "version: 2.0"),
    ("max_gen_toks: 16", "max_gen_toks: 32"),
    ("metric: judge_grade", "metric: wer"),
    ("metric: exact_match", "metric: exact_match\n    ignore_case: true"),
    ("metric: judge_grade", "metric: includes"),
    ("metric: judge_grade", "metric: judge_yes_no"),
    ("metric_list:", "repeats: 2\nmetric_list:"),
    ("metric_list:", "filter: {level: 0}\nmetric_list:"),
    ("metric_list:", "breakdown: [level]\nmetric_list:"),
    ("metric_list:", "cluster_key: level\nmetric_list:"),
    ("metric_list:", "missing_output: 0.0\nmetric_list:"),
    ("metric_list:", "expected: {rows: 4}\nmetric_list:"),
    ("metric_list:", "roles: {judge: {max_gen_toks: 99}}\nmetric_list:"),
    ("metric_list:", "prompt: {system: Be brief.}\nmetric_list:"),
    ("dataset_path: data", "dataset_path: data2"),
    ("dataset_path: data", "dataset_path: data\ndataset_kwargs: {media_folder: other}"),
)
FILES = (
    "journal/",
    "samples/",
    "trials/",
    "scores/look/*/plan.json",
    "scores/look/*/scores.jsonl",
    "scores/look/*/verdicts.jsonl",
    "run.json",
    "results_",
    "kept/",
)


class Case(NamedTuple):
    name: str
    change: Change


def settings() -> Iterator[Case]:
    for flags in SETTINGS:

        def change(
            _run: FinishedRun, _patch: pytest.MonkeyPatch, flags: str = flags
        ) -> tuple[str, ...]:
            return tuple(flags.split(" "))

        yield Case(f"setting {flags}", change)


def task_files() -> Iterator[Case]:
    for before, after in TASK_CHANGES:

        def change(
            run: FinishedRun,
            _patch: pytest.MonkeyPatch,
            before: str = before,
            after: str = after,
        ) -> tuple[str, ...]:
            _copy_of_data(run)
            run.write_task(TASK.replace(before, after))
            return ()

        yield Case(f"task file {after!r}", change)


def _copy_of_data(run: FinishedRun) -> None:
    """Writes the same rows with other pictures into another folder, and the pictures
    into another media folder."""
    rows = (run.folder / "data" / "test.jsonl").read_bytes()
    for folder in (run.folder / "data2", run.folder / "data" / "other"):
        (folder / "img").mkdir(parents=True)
        (folder / "img" / "a.png").write_bytes(picture(colour="green"))
    (run.folder / "data2" / "test.jsonl").write_bytes(rows)


def data_rows() -> Iterator[Case]:
    edits: dict[str, Callable[[list[dict[str, Any]], int], object]] = {
        "reference": lambda rows, place: rows[place].update(reference="new"),
        "no reference": lambda rows, place: rows[place].pop("reference"),
        "question": lambda rows, place: rows[place]["input"].update(
            text="What is <<image1>>?"
        ),
        "picture": lambda rows, place: rows[place]["input"].update(
            media={"image1": "img/b.png"}
        ),
        "id": lambda rows, place: rows[place].update(id="new"),
        "label": lambda rows, place: rows[place].update(level=7),
        "removed": lambda rows, place: rows.pop(place),
        "added": lambda rows, place: rows.insert(place, {**rows[place], "id": "new"}),
        "broken": lambda rows, place: rows[place].update(input=None),
    }
    for name, edit in edits.items():
        for place in range(ROWS):

            def change(
                run: FinishedRun,
                _patch: pytest.MonkeyPatch,
                edit: Callable[[list[dict[str, Any]], int], object] = edit,
                place: int = place,
            ) -> tuple[str, ...]:
                rows = run.usual_rows()
                edit(rows, place)
                run.write_rows(rows)
                return ()

            yield Case(f"row {place}, {name}", change)


def other_inputs() -> Iterator[Case]:
    def same_size(run: FinishedRun, _patch: pytest.MonkeyPatch) -> tuple[str, ...]:
        _replace_unnoticed(run.picture("a"))
        return ()

    def picture_replaced(
        run: FinishedRun, _patch: pytest.MonkeyPatch
    ) -> tuple[str, ...]:
        run.picture("a").write_bytes(picture(colour="blue"))
        return ()

    def picture_removed(
        run: FinishedRun, _patch: pytest.MonkeyPatch
    ) -> tuple[str, ...]:
        run.picture("a").unlink()
        return ()

    def prompt(run: FinishedRun, _patch: pytest.MonkeyPatch) -> tuple[str, ...]:
        (run.folder / "prompts" / "judge_grade.md").write_text("Strictly: " + PROMPT)
        return ()

    def prompt_removed(run: FinishedRun, _patch: pytest.MonkeyPatch) -> tuple[str, ...]:
        (run.folder / "prompts" / "judge_grade.md").unlink()
        return ()

    def version(_run: FinishedRun, patch: pytest.MonkeyPatch) -> tuple[str, ...]:
        patch.setattr(key, "__version__", "99.0")
        return ()

    def version_of_metric(
        _run: FinishedRun, patch: pytest.MonkeyPatch
    ) -> tuple[str, ...]:
        metric = replace(exact_match.exact_match, version="99")
        patch.setattr(exact_match, "exact_match", metric)
        return ()

    def code(run: FinishedRun, patch: pytest.MonkeyPatch) -> tuple[str, ...]:
        (run.folder / "mmeval").mkdir()
        (run.folder / "mmeval" / "new.py").write_text("")
        patch.setattr(key, "ROOT", run.folder)
        return ()

    def judge(_run: FinishedRun, _patch: pytest.MonkeyPatch) -> tuple[str, ...]:
        return ("--judge_args", "model=other")

    yield Case("picture, unnoticed by size and time", same_size)
    yield Case("picture replaced", picture_replaced)
    yield Case("picture removed", picture_removed)
    yield Case("prompt file", prompt)
    yield Case("prompt file removed", prompt_removed)
    yield Case("version of mmeval", version)
    yield Case("version of a metric", version_of_metric)
    yield Case("code of mmeval", code)
    yield Case("judge", judge)


def damage() -> Iterator[Case]:
    for pattern in FILES:
        for name, harm in HARMS.items():

            def change(
                run: FinishedRun,
                _patch: pytest.MonkeyPatch,
                pattern: str = pattern,
                harm: Callable[[Path], object] = harm,
            ) -> tuple[str, ...]:
                (file,) = _files(run, pattern)
                harm(file)
                return ()

            if pattern != "kept/" or name != "touched":  # only its content is read
                yield Case(f"{pattern} {name}", change)


def _files(run: FinishedRun, pattern: str) -> list[Path]:
    return sorted(run.path.glob(pattern)) if "*" in pattern else [*run.files(pattern)]


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[random.Random(file.name).randrange(len(content))] ^= 1
    file.write_bytes(content)


def _replace_unnoticed(file: Path) -> None:
    """Replaces a file by another of the same size, with the same time of change."""
    state = file.stat()
    _flip(file)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


HARMS: dict[str, Callable[[Path], object]] = {
    "flipped": _flip,
    "flipped, unnoticed by size and time": _replace_unnoticed,
    "truncated": lambda file: os.truncate(file, file.stat().st_size // 2),
    "empty": lambda file: os.truncate(file, 0),
    "removed": lambda file: file.unlink(),
    "touched": os.utime,
}

CASES = [*settings(), *task_files(), *data_rows(), *other_inputs(), *damage()]


def test_the_cases_are_more_than_a_hundred() -> None:
    assert len(CASES) > 100


@pytest.fixture
def run(tmp_path: Path) -> Iterator[FinishedRun]:
    with MockServer(reply=TEMPLATE) as server:
        yield FinishedRun(tmp_path, server)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_after_a_change_the_same_command_uses_no_kept_outcome(
    case: Case, run: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = case.change(run, monkeypatch)
    before = _results(run)
    ended = run.again(*flags)
    assert _is_read_again(ended, run, before), ended.out


def _results(run: FinishedRun) -> set[str]:
    return {file.name for file in (run.folder / "runs").rglob("results_*.json")}


def _is_read_again(ended: Ended, run: FinishedRun, before: set[str]) -> bool:
    """Returns True if a command failed, or computed and wrote its numbers.

    A command that uses a kept outcome writes no results file.
    """
    return ended.code not in (0, 3) or not _results(run) <= before


@pytest.mark.parametrize("pattern", FILES)
def test_after_damage_the_numbers_are_those_of_a_run_without_a_kept_outcome(
    pattern: str, run: FinishedRun
) -> None:
    (file,) = _files(run, pattern)
    _flip(file)
    damaged = run.again()
    rmtree(run.path / "kept", ignore_errors=True)
    without = run.again()
    assert (damaged.code, _table(damaged)) == (without.code, _table(without))


def _table(ended: Ended) -> list[str]:
    return ended.out.splitlines()[:3]


@pytest.mark.parametrize(
    "flags",
    [
        ("--metrics", "exact_match"),
        ("--metric_args", '{"exact_match": {"ignore_case": true}}'),
        ("--bootstrap_iters", "500"),
        ("--refusals", "unscored"),
        ("--max_unscored", "1"),
        ("--judge", "openai,model=other"),
        ("--judge_patience", "3"),
    ],
    ids=" ".join,
)
def test_scoring_with_another_setting_uses_no_kept_outcome(
    run: FinishedRun, flags: tuple[str, ...]
) -> None:
    run.score()
    before = _results(run)
    ended = run.score(*flags)
    assert _is_read_again(ended, run, before), ended.out


@pytest.mark.parametrize("case", [*damage()], ids=lambda case: case.name)
def test_after_damage_scoring_uses_no_kept_outcome(
    case: Case, run: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmtree(run.path / "kept")
    run.results[-1].unlink()
    run.score()
    case.change(run, monkeypatch)
    before = _results(run)
    ended = run.score()
    assert _is_read_again(ended, run, before), ended.out
