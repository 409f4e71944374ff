from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest

from mmeval import plugins
from mmeval.errors import PluginError
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric, metric
from mmeval.metric.derived import Derivation, derivations, with_derived
from mmeval.metric.model import HubModel
from mmeval.program.prompt_file import JudgePrompt
from mmeval.records.score import Score
from mmeval.scoring.score_set import ScoreSet, finished_rows, lines_so_far

PIECES = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
ENTRY = {
    "metric": "overall",
    "switches": {"of": ["a", "b"], "combine": "product"},
    "profile": "standard",
    "pieces": {"a": [0, 1], "b": [0, 1]},
}
PLAN = {"metrics": [{"metric": "m"}, ENTRY], "outputs": ["a", "b"]}


def product(ranges: Mapping[str, tuple[float, float]] = PIECES) -> Derivation:
    return Derivation(bind(load_metric("overall"), {"of": list(ranges)}), ranges)


def row(index: int = 0, digest: str = "d", status: str = "ok", **scores: Score | float) -> dict[str, Any]:
    given = {n: (s if isinstance(s, Score) else Score(s)).to_json() for n, s in scores.items()}
    return {"i": index, "n": 0, "s": f"s{index}", "d": digest, "status": status, "scores": given}


def line(*args: Any, **scores: Any) -> bytes:
    return json.dumps(row(*args, **scores)).encode() + b"\n"


def finished(run: Path, *lines: bytes) -> list[Any]:
    """The derived score of each trial in its finished row, None where there is none."""
    scores = ScoreSet(run, "t", PLAN)
    for one in lines:
        scores.add(one)
    scores.finish()
    rows = finished_rows(scores.folder, lambda index, repeat: True)
    return [found["scores"].get("overall") for found in rows]


def test_there_is_no_score_while_a_piece_is_missing() -> None:
    assert product().scores({"a": Score(0.0)}) == {}


def test_a_piece_that_is_unavailable_makes_it_unavailable_with_the_reason() -> None:
    found = product().scores({"a": Score(0.0), "b": Score.unavailable("no judge")})["overall"]
    assert (found.status, found.reason) == ("unavailable", "b: no judge")


def test_the_rule_for_a_missing_output_gives_the_same_score_and_no_product() -> None:
    ruled = Score(0.5, evidence={"missing_output": True})
    assert product().scores({"a": ruled, "b": ruled}) == {"overall": ruled}


def test_an_unscored_piece_lies_in_its_range_where_it_has_no_bounds_of_its_own() -> None:
    assert product().scores({"a": Score(0.5), "b": Score.unscored("x")})["overall"].bounds == (0.0, 0.5)
    endless = product({"a": (0.0, 1.0), "b": (0.0, math.inf)})
    assert endless.scores({"a": Score(0.5), "b": Score.unscored("x")})["overall"].bounds is None


def test_a_row_gets_what_follows_from_its_scores_as_they_are_now() -> None:
    stale = row(a=0.5, b=0.5, overall=Score.unscored("b: gone"))
    assert with_derived(stale, [product()])["scores"]["overall"]["value"] == 0.25
    left = with_derived(row(a=0.5, overall=1.0), [product()])
    assert list(left["scores"]) == ["a"]


def test_a_trial_without_an_answer_has_none() -> None:
    failed = row(status="failed")
    assert with_derived(failed, [product()]) == failed


def test_one_may_be_made_of_another(site: None) -> None:
    twice = Derivation(bind(load_metric("halved"), {"of": ["overall"]}), {"overall": (0.0, 1.0)})
    assert with_derived(row(a=0.5, b=1.0), [product(), twice])["scores"]["halved"]["value"] == 0.25


def test_pieces_that_come_one_after_the_other_are_put_together(tmp_path: Path) -> None:
    assert finished(tmp_path, line(a=0.5)) == [None]
    assert [score["value"] for score in finished(tmp_path, line(b=0.5))] == [0.25]


def test_a_piece_that_is_scored_later_replaces_what_followed_from_it(tmp_path: Path) -> None:
    (before,) = finished(tmp_path, line(a=0.5, b=Score.lost("gone")))
    (after,) = finished(tmp_path, line(b=1.0))
    assert (before["status"], before["bounds"], after["value"]) == ("unscored", [0.0, 0.5], 0.5)


def test_a_new_answer_takes_nothing_from_the_old_one(tmp_path: Path) -> None:
    finished(tmp_path, line(0, "old", a=1.0, b=1.0))
    assert finished(tmp_path, line(0, "new", a=0.5)) == [None]


def test_a_trial_is_covered_without_what_follows_from_others(tmp_path: Path) -> None:
    finished(tmp_path, line(0, a=1.0, b=1.0), line(1, a=0.5))
    scores = ScoreSet(tmp_path, "t", PLAN)
    assert (scores.covers(0, 0, "d"), scores.covers(1, 0, "d")) == (True, False)


def test_rows_of_a_run_under_way_have_it(tmp_path: Path) -> None:
    scores = ScoreSet(tmp_path, "t", PLAN)
    scores.add(line(0, a=0.5, b=0.5) + line(1, a=1.0))
    scores.close()
    rows = [json.loads(one) for one in lines_so_far(scores.folder)]
    assert [sorted(found["scores"]) for found in rows] == [["a", "b", "overall"], ["a"]]


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"metrics": 3}', b'{"outputs": []}', b'{"metrics": [3]}'])
def test_a_damaged_plan_leaves_the_rows_as_they_are(damage: bytes, tmp_path: Path) -> None:
    scores = ScoreSet(tmp_path, "t", PLAN)
    scores.add(line(a=0.5, b=0.5))
    scores.close()
    (scores.folder / "plan.json").write_bytes(damage)
    assert [*lines_so_far(scores.folder)] == [line(a=0.5, b=0.5)]


def test_a_metric_that_is_not_here_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert derivations({"metrics": [{**ENTRY, "metric": "elsewhere"}]}) == []
    assert "elsewhere is not shown: unknown metric" in caplog.text


def test_one_that_is_unavailable_is_not_computed() -> None:
    assert derivations({"metrics": [{**ENTRY, "unavailable": "a is not here"}]}) == []


def halved(scores: Mapping[str, Score], *, of: Sequence[str] = ()) -> float:
    return sum(score.value or 0.0 for score in scores.values()) / 2


def odd(scores: Mapping[str, Score], *, of: Sequence[str] = ()) -> Score:
    value = next(iter(scores.values())).value
    if value == 0.25:
        raise ValueError("no such luck")
    return Score(3.0) if value == 0.75 else Score(0.5, evidence={"set": {1, 2}})


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    for function in (halved, odd):
        plugins.register("mmeval.metrics", function.__name__, metric(range=(0, 1), version="1", source="")(function))
    yield
    plugins._registered.cache_clear()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (0.25, "ValueError: no such luck"),
        (0.75, "the metric gave 3, outside its range 0..1"),
        (0.5, "the metric's evidence cannot be written"),
    ],
)
def test_one_that_misbehaves_leaves_its_own_score_out(value: float, reason: str, site: None) -> None:
    made = Derivation(bind(load_metric("odd"), {"of": ["a"]}), {"a": (0.0, 1.0)})
    scores = with_derived(row(a=value), [made])["scores"]
    assert (scores["a"]["value"], scores["odd"]["status"]) == (value, "unscored")
    assert scores["odd"]["reason"].startswith(reason)


def test_one_without_the_switch_of_is_refused() -> None:
    with pytest.raises(PluginError, match="it needs the switch of"):
        metric(range=(0, 1), version="1", source="")(lambda scores, *, word="": 0.0)


def with_model(scores: Any, *, of: Any = (), model: Annotated[str, HubModel(("a",))] = "o/n") -> float:
    return 0.0


def with_prompt(scores: Any, *, of: Any = (), prompt: Annotated[str, JudgePrompt()] = "a") -> float:
    return 0.0


@pytest.mark.parametrize("function", [with_model, with_prompt])
def test_one_that_would_open_a_model_or_a_prompt_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(PluginError, match="it is made of scores, so that it cannot use what its switch"):
        metric(range=(0, 1), version="1", source="")(function)


def test_one_that_would_ask_a_role_is_refused() -> None:
    with pytest.raises(PluginError, match="it cannot ask a role"):
        metric(range=(0, 1), version="1", source="")(lambda scores, judge, *, of=(): 0.0)


def taking(**scores: Score | float) -> Score:
    """What a metric that takes missing pieces is handed for the pieces a, b and c, of which the run skips c."""

    @metric(range=(0, 1), version="1", source="tests", takes_missing=True)
    def counted(scores: Mapping[str, Score], *, of: Sequence[str] = ("a", "b", "c")) -> Score:
        return Score(1.0, evidence={name: scores[name].status for name in of})

    given = {name: one if isinstance(one, Score) else Score(one) for name, one in scores.items()}
    found: Mapping[str, Score] = Derivation(bind(counted), PIECES).scores(given)
    return found["counted"] if found else Score.unscored("none yet")


def test_a_piece_that_is_inapplicable_makes_it_inapplicable_whatever_the_others_are() -> None:
    silent = Score.inapplicable("no sound")
    for other in (Score(0.5), Score.unscored("lost"), Score.unavailable("no judge")):
        found = product().scores({"a": other, "b": silent})["overall"]
        assert (found.status, found.reason, found.value) == ("inapplicable", "b: no sound", None)


def test_a_metric_that_takes_missing_pieces_is_handed_what_there_is() -> None:
    found = taking(a=Score.inapplicable("no sound"), b=Score.unavailable("no judge"))
    assert found.evidence == {"a": "inapplicable", "b": "unavailable", "c": "unavailable"}
    assert taking(a=0.5, b=Score.unscored("lost")).evidence == {"a": "scored", "b": "unscored", "c": "unavailable"}


def test_it_too_waits_for_its_pieces_and_follows_the_rule_for_a_missing_output() -> None:
    ruled = Score(0.0, evidence={"missing_output": True})

    assert taking(a=0.5).reason == "none yet"
    assert taking(a=ruled, b=Score.unavailable("no judge")) == ruled
