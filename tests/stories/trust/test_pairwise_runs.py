"""A judge that compares the answers of three runs, in pairs and in both orders."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mmeval import plugins
from mmeval.authoring.testing import PlantedJudge
from mmeval.backend.capabilities import Capabilities
from mmeval.media.encode import png
from mmeval.media.parts import Interleaved, media_part, text_part
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.cli import QUIET, Ended, mmeval
from tests.support.task_folder import write_rows

ROWS = 24
PAIRS = 3 * ROWS
TASK = """\
task: greys
dataset_path: data
output_modalities: [text, image]
metric_list:
  - metric: strict_structure
metadata: {version: 1}
"""
OFFSETS = {"near": 40, "middle": 55, "far": 70}
"""How far from the wanted grey a painter paints at most."""


class Painter:
    """Paints the wanted grey, but not exactly."""

    capabilities = Capabilities.of(("text",), ("text", "image"), "interleaved")

    def __init__(self, model: str) -> None:
        self._model = model

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "painter", "model": self._model}

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {}

    async def generate(self, request: Request) -> Response:
        words = request.messages[-1].content.words
        wanted = int(words.split()[-1].strip("."))
        random = np.random.default_rng([wanted, OFFSETS[self._model]])
        off = int(random.integers(0, OFFSETS[self._model]))
        picture = png(Image.new("L", (16, 16), wanted + off))
        parts = (text_part(f"By {self._model}: "), media_part(picture))
        return Response(output=Interleaved(parts))

    async def close(self) -> None:
        """Does nothing."""


class CountedJudge(PlantedJudge):
    """A planted judge that counts its calls. While it is ``mute``, one order of each
    pair gets no verdict."""

    calls = 0
    mute = False

    async def generate(self, request: Request) -> Response:
        CountedJudge.calls += 1
        words = request.messages[-1].content.words
        far_is_first = words.find("By far") < words.find("By middle")
        if CountedJudge.mute and "By far" in words and far_is_first:
            return Response.failed("server", "out of order")
        return await super().generate(request)


@dataclass
class Painted:
    """Three runs of painters, from the best to the worst."""

    folder: Path

    @property
    def runs(self) -> list[Path]:
        return [self.folder / "runs" / name / "default" for name in OFFSETS]

    def compare(self, judge: str, *flags: str | Path) -> Ended:
        CountedJudge.calls = 0
        return mmeval(
            "compare",
            *self.runs,
            "--pairwise",
            *("--judge", f"planted,model={judge}"),
            *flags,
        )

    def result(self, judge: str, *flags: str | Path) -> Mapping[str, Any]:
        ended = self.compare(judge, "--format", "json", *flags)
        assert ended.code in (0, 3), ended.err
        result: Mapping[str, Any] = json.loads(ended.out)
        return result


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Painted:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    plugins.register("mmeval.model_backends", "planted", CountedJudge)
    plugins.register("mmeval.model_backends", "painter", Painter)
    (tmp_path / "data").mkdir()
    Image.new("L", (16, 16)).save(tmp_path / "data/black.png")
    reference = {"text": "So: <<image1>>", "media": {"image1": "black.png"}}
    rows = []
    for number in range(ROWS):
        question = f"Draw grey {30 + 7 * number}."
        rows.append({"input": question, "reference": reference})
    write_rows(tmp_path / "data", *rows)
    (tmp_path / "greys.yaml").write_text(TASK)
    for name in OFFSETS:
        ended = mmeval(
            *("--tasks", tmp_path / "greys.yaml"),
            *("--model", "painter", "--model_args", f"model={name}"),
            *("--output_path", tmp_path / "runs", "--model_tag", name),
            *QUIET,
        )
        assert ended.code in (0, 3), ended.err
    return Painted(tmp_path)


def values(result: Mapping[str, Any]) -> dict[str, float]:
    """The strengths of the runs."""
    strengths = result["pairs"]["strength"]
    return {name: row["value"] for name, row in strengths.items()}


def test_an_honest_judge_ranks_three_runs(painted: Painted) -> None:
    strengths = values(painted.result("honest"))
    assert sorted(strengths, key=strengths.__getitem__) == ["far", "middle", "near"]


def test_each_strength_has_an_interval(painted: Painted) -> None:
    for row in painted.result("honest")["pairs"]["strength"].values():
        low, high = row["ci95"]
        assert low < row["value"] < high


def is_within(strengths: Mapping[str, float], judge: Mapping[str, Any]) -> bool:
    """True if all strengths are in the intervals of a judge."""
    for name, row in judge["pairs"]["strength"].items():
        low, high = row["ci95"]
        if not low <= strengths[name] <= high:
            return False
    return True


def test_a_favourite_side_does_not_move_the_strengths(painted: Painted) -> None:
    honest = painted.result("honest")
    assert is_within(values(painted.result("first-option")), honest)


def test_in_one_order_alone_a_favourite_side_moves_them(painted: Painted) -> None:
    honest = painted.result("honest")
    painted.compare("first-option")
    [file] = (
        file
        for file in painted.runs[0].glob("pairs/*/compared/*.jsonl")
        if "first-option" in file.read_text()
    )
    ratings = [json.loads(line) for line in file.read_text().splitlines()]
    one_order = [row for row in ratings if row["first"] == row["a"]]
    file_of_one_order = write_rows(painted.folder, *one_order) / "test.jsonl"
    ended = mmeval("agree", file_of_one_order, "--format", "json")
    assert not is_within(values(json.loads(ended.out)), honest)


def test_a_favourite_side_is_shown(painted: Painted) -> None:
    side = painted.result("first-option")["pairs"]["first_side"]
    assert side["share"] > 0.6
    assert side["p"] < 0.01


def test_an_honest_judge_has_no_favourite_side(painted: Painted) -> None:
    assert painted.result("honest")["pairs"]["first_side"]["p"] > 0.05


def test_every_pair_is_compared_in_both_orders(painted: Painted) -> None:
    result = painted.result("first-option")
    assert CountedJudge.calls == 2 * PAIRS
    assert result["pairs"]["comparisons"] == PAIRS


def test_both_orders_are_kept_and_can_be_read_by_agree(painted: Painted) -> None:
    painted.compare("first-option")
    [file] = painted.runs[0].glob("pairs/*/compared/*.jsonl")
    ended = mmeval("agree", file, "--format", "json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["pairs"]["comparisons"] == 2 * PAIRS


def test_the_result_is_kept(painted: Painted) -> None:
    result = painted.result("honest")
    [file] = painted.runs[0].glob("pairs/*/compared/*.json")
    assert json.loads(file.read_text()) == result


def test_a_judge_that_never_decides_gives_no_ranking(painted: Painted) -> None:
    ended = painted.compare("constant", "--format", "json")
    assert ended.code == 3
    pairs = json.loads(ended.out)["pairs"]
    assert pairs["refused"] == "no finite estimate"
    assert pairs["components"] == [["far"], ["middle"], ["near"]]


def test_the_run_makes_the_calls_that_the_dry_run_names(painted: Painted) -> None:
    dry = painted.compare("honest", "--dry_run")
    assert CountedJudge.calls == 0
    painted.compare("honest")
    assert f"in {CountedJudge.calls} calls" in dry.out


def test_nothing_is_asked_twice(painted: Painted) -> None:
    first = painted.compare("honest")
    again = painted.compare("honest")
    assert CountedJudge.calls == 0
    assert again.out == first.out
    assert "in 0 calls" in painted.compare("honest", "--dry_run").out


def test_a_larger_sample_adds_to_a_smaller_one(painted: Painted) -> None:
    painted.compare("honest", "--sample", "8")
    assert CountedJudge.calls == 2 * 3 * 8
    painted.compare("honest", "--sample", "10")
    assert CountedJudge.calls == 2 * 3 * 2


def test_a_spent_budget_is_continued(painted: Painted) -> None:
    stopped = painted.compare("honest", "--budget_calls", "30")
    made = CountedJudge.calls
    assert stopped.code == 3, stopped.err
    dry = painted.compare("honest", "--dry_run")
    assert dry.code == 0, dry.err
    painted.compare("honest")
    assert made + CountedJudge.calls == 2 * PAIRS


def test_a_lost_verdict_is_asked_again_and_nothing_else(
    painted: Painted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountedJudge, "mute", True)
    flags = ("--retry_on_error", "0", "--judge_patience", "0")
    ended = painted.compare("honest", *flags)
    assert ended.code == 3
    assert "mmeval score" not in ended.err
    monkeypatch.setattr(CountedJudge, "mute", False)
    dry = painted.compare("honest", "--dry_run")
    assert painted.compare("honest").code == 0
    assert 0 < CountedJudge.calls <= PAIRS
    assert f"in {CountedJudge.calls} calls" in dry.out


def test_another_rubric_is_another_question(painted: Painted) -> None:
    painted.compare("honest", "--sample", "8")
    rubric = painted.folder / "rubric.txt"
    rubric.write_text("The brighter picture is better.")
    painted.compare("honest", "--sample", "8", "--rubric", rubric)
    assert CountedJudge.calls == 2 * 3 * 8


def test_the_answers_of_a_run_with_itself_need_no_judge(painted: Painted) -> None:
    painted.compare("honest")
    CountedJudge.calls = 0
    ended = mmeval(
        "compare",
        *(f"a={painted.runs[0]}", f"b={painted.runs[0]}"),
        *("--pairwise", "--judge", "planted,model=honest", "--format", "json"),
    )
    assert CountedJudge.calls == 0
    assert json.loads(ended.out)["without_judge"] == ROWS


def test_a_bundled_run_that_never_loses_has_no_strength(painted: Painted) -> None:
    runs = []
    for model in ("reference", "empty"):
        run = ("--tasks", "rubric_example", "--model", model, *QUIET)
        mmeval(*run, "--output_path", painted.folder / "bundled")
        runs.append(painted.folder / "bundled" / model / "default")
    judged = ("--pairwise", "--judge", "planted", "--format", "json")
    ended = mmeval("compare", *runs, *judged)
    pairs = json.loads(ended.out)["pairs"]
    assert (ended.code, pairs["refused"]) == (3, "not connected")
    assert pairs["players"]["reference"]["win_rate_half"] == 1.0


def test_the_runs_keep_their_results(painted: Painted) -> None:
    before = [sorted(run.glob("results_*.json")) for run in painted.runs]
    painted.compare("honest", "--sample", "8")
    assert [sorted(run.glob("results_*.json")) for run in painted.runs] == before


@pytest.mark.parametrize(
    "flags",
    [
        ("--sample", "0"),
        ("--ties", "none"),
        ("--tasks", "reds"),
        ("--rubric", "none.txt"),
        ("--format", "csv"),
        ("--alpha", "0.1"),
        ("--plan",),
    ],
)
def test_what_cannot_be_compared_in_pairs_is_refused(
    flags: tuple[str, ...], painted: Painted
) -> None:
    assert painted.compare("honest", *flags).code in (2, 4)
    assert CountedJudge.calls == 0


def test_a_judge_is_refused_without_pairs(painted: Painted) -> None:
    ended = mmeval("compare", *painted.runs, "--judge", "planted")
    assert ended.code == 2
    assert "--pairwise" in ended.err
