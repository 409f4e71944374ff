import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest

from mmeval.errors import PluginError
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric, metric
from mmeval.metric.derived import Derivation, derivations, with_derived
from mmeval.metric.model import HubModel
from mmeval.metric.scoring.score_set import ScoreSet, lines_so_far
from mmeval.program.prompt_file import JudgePrompt
from mmeval.records.score import Score
from mmeval.system.json_lines import sealed, to_line

UNIT = (0.0, 1.0)
PIECES = {"a": UNIT, "b": UNIT}
SWITCHES = {"of": ["a", "b"], "combine": "product"}
ENTRY = {
    "metric": "overall",
    "switches": SWITCHES,
    "profile": "standard",
    "pieces": {"a": [0, 1], "b": [0, 1]},
}
PLAN = {"metrics": [{"metric": "m"}, ENTRY], "outputs": ["a", "b"]}
RULED = Score(0.5, evidence={"missing_output": True})
LOST = Score.unscored("lost")
SILENT = Score.inapplicable("no sound")
NO_JUDGE = Score.unavailable("no judge")


def product(ranges: Mapping[str, tuple[float, float]] = PIECES) -> Derivation:
    return Derivation(bind(load_metric("overall"), {"of": list(ranges)}), ranges)


def row(
    index: int = 0, digest: str = "d", status: str = "ok", **scores: Score | float
) -> dict[str, Any]:
    given = {
        n: (s if isinstance(s, Score) else Score(s)).to_json()
        for n, s in scores.items()
    }
    return {
        "i": index,
        "n": 0,
        "s": f"s{index}",
        "d": digest,
        "status": status,
        "scores": given,
    }


def line(*args: Any, **scores: Any) -> bytes:
    return sealed(to_line(row(*args, **scores)))


@pytest.mark.parametrize(
    ("pieces", "status", "reason", "bounds"),
    [
        ({"a": Score(0.5), "b": NO_JUDGE}, "unavailable", "b: no judge", None),
        *(
            ({"a": other, "b": SILENT}, "inapplicable", "b: no sound", None)
            for other in (Score(0.5), LOST, NO_JUDGE)
        ),
        ({"a": SILENT, "b": NO_JUDGE}, "inapplicable", "a: no sound", None),
        ({"a": Score(0.5), "b": LOST}, "unscored", None, (0.0, 0.5)),
        (
            {"a": Score(0.5), "b": Score.unscored("x", bounds=(0.5, 1.0))},
            "unscored",
            None,
            (0.25, 0.5),
        ),
    ],
)
def test_a_piece_without_a_score_decides(
    pieces: Any, status: str, reason: str | None, bounds: Any
) -> None:
    found = product().scores(pieces)["overall"]
    assert (found.status, found.value, found.bounds) == (status, None, bounds)
    assert reason in (None, found.reason)


def test_there_is_no_score_while_a_piece_is_missing_and_a_ruled_one_is_passed_on() -> (
    None
):
    assert product().scores({"a": Score(0.0)}) == {}
    assert product().scores({"a": RULED, "b": NO_JUDGE}) == {"overall": RULED}
    assert product().scores({"a": Score(0.5), "b": Score(0.5)})["overall"].value == 0.25
    endless = product({"a": UNIT, "b": (0.0, math.inf)})
    assert endless.scores({"a": Score(0.5), "b": LOST})["overall"].bounds is None


def test_a_row_gets_what_follows_from_its_scores_as_they_are_now() -> None:
    stale = row(a=0.5, b=0.5, overall=Score.unscored("b: gone"))
    assert with_derived(stale, [product()])["scores"]["overall"]["value"] == 0.25
    assert list(with_derived(row(a=0.5, overall=1.0), [product()])["scores"]) == ["a"]
    failed = row(status="failed", a=0.5, b=0.5)
    assert with_derived(failed, [product()]) == failed


def test_rows_of_a_run_under_way_have_it_unless_their_plan_is_damaged(
    tmp_path: Path,
) -> None:
    scores = ScoreSet(tmp_path, "t", PLAN)
    lines = line(0, a=0.5, b=0.5), line(1, a=1.0)
    scores.add(b"".join(lines))
    scores.close()
    rows = [json.loads(one) for one in lines_so_far(scores.folder)]
    assert [sorted(found["scores"]) for found in rows] == [["a", "b", "overall"], ["a"]]
    for damage in (b"", b"[]", b'{"metrics": 3}', b'{"metrics": [3]}'):
        (scores.folder / "plan.json").write_bytes(damage)
        assert [*lines_so_far(scores.folder)] == [*lines]


def test_a_plan_names_the_derived_metrics_that_can_be_computed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    endless = {**ENTRY, "pieces": {"a": [None, 1], "b": [0, None]}}
    (found,) = derivations(
        {
            "metrics": [
                {"metric": "m"},
                {**ENTRY, "lacks": [{"kind": "missing_role"}]},
                endless,
            ]
        }
    )
    assert found.ranges == {"a": (-math.inf, 1), "b": (0, math.inf)}
    with caplog.at_level(logging.WARNING):
        assert derivations({"metrics": [{**ENTRY, "metric": "elsewhere"}]}) == []
    assert [(record.levelname, record.args[0]) for record in caplog.records] == [  # type: ignore[index]
        ("WARNING", "elsewhere")
    ]


def odd(scores: Mapping[str, Score], *, of: Sequence[str] = ()) -> Score:
    value = next(iter(scores.values())).value
    if value == 0.25:
        raise ValueError("no such luck")
    return Score(3.0) if value == 0.75 else Score(0.5, evidence={"set": {1, 2}})


@pytest.mark.parametrize(
    ("value", "word"),
    [(0.25, "ValueError: no such luck"), (0.75, "0..1"), (0.5, "evidence")],
)
def test_one_that_misbehaves_leaves_its_own_score_out(value: float, word: str) -> None:
    made = Derivation(
        bind(metric(range=(0, 1), version="1", source="")(odd), {"of": ["a"]}),
        {"a": UNIT},
    )
    twice = Derivation(
        bind(
            metric(range=(0, 1), version="1", source="", name="twice")(odd),
            {"of": ["odd"]},
        ),
        {"odd": UNIT},
    )
    scores = with_derived(row(a=value), [made, twice])["scores"]
    assert (scores["a"]["value"], scores["odd"]["status"]) == (value, "unscored")
    assert word in scores["odd"]["reason"] and "twice" in scores


def with_model(
    scores: Any, *, of: Any = (), model: Annotated[str, HubModel(("a",))] = "o/n"
) -> float:
    return 0.0


def with_prompt(
    scores: Any, *, of: Any = (), prompt: Annotated[str, JudgePrompt()] = "a"
) -> float:
    return 0.0


def asking(scores: Any, *, of: Any = ()) -> Iterator[Any]:
    yield []


def test_one_that_needs_more_than_scores_is_refused() -> None:
    functions: tuple[tuple[Any, str], ...] = (
        (lambda scores, *, word="": 0.0, "the switch 'of'"),
        (with_model, "'model'"),
        (with_prompt, "'prompt'"),
        (lambda scores, judge, *, of=(): 0.0, "a role"),
        (asking, "a role"),
    )
    for function, word in functions:
        with pytest.raises(PluginError, match=word):
            metric(range=(0, 1), version="1", source="")(function)


def taking(**scores: Score | float) -> Score | None:
    """What a metric that takes missing pieces gets for the pieces a, b and c, of which
    the run skips c."""

    @metric(range=(0, 1), version="1", source="tests", takes_missing=True)
    def counted(
        scores: Mapping[str, Score], *, of: Sequence[str] = ("a", "b", "c")
    ) -> Score:
        return Score(1.0, evidence={name: scores[name].status for name in of})

    given = {
        name: one if isinstance(one, Score) else Score(one)
        for name, one in scores.items()
    }
    return Derivation(bind(counted), PIECES).scores(given).get("counted")


@pytest.mark.parametrize(
    ("a", "b", "statuses"),
    [
        (SILENT, NO_JUDGE, ["inapplicable", "unavailable"]),
        (Score(0.5), LOST, ["scored", "unscored"]),
    ],
)
def test_a_metric_that_takes_missing_pieces_gets_what_there_is(
    a: Score, b: Score, statuses: list[str]
) -> None:
    assert taking(a=a, b=b) == Score(
        1.0, evidence=dict(zip("abc", [*statuses, "unavailable"], strict=True))
    )
    assert taking(a=a) is None
    assert taking(a=RULED, b=b) == RULED
