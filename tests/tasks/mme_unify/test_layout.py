"""The tables of MME-Unify's paper, made of score rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.aggregate.aggregators import mean
from mmeval.results.layout import Cell, Table
from mmeval.tasks.mme_unify.averages import steps
from mmeval.tasks.mme_unify.layout import layout
from tests.support.stored_runs import Row, numbers_of, stored, trials

PIECES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("sipu", "mitiu", "vpu"), ("mme_unify_choice",)),
    **dict.fromkeys(("civg", "vp"), ("mme_unify_fvd",)),
    "tvg": ("mme_unify_fvd", "mme_unify_fid"),
    **{
        "fir": ("lpips",),
        "tie": ("clip_image_similarity", "clip_text_similarity"),
        "tig": ("clip_image_similarity",),
    },
    **dict.fromkeys(("csq", "al", "sd"), ("mme_unify_choice", "mme_unify_image")),
    **{
        "iee": ("mme_unify_explanation", "mme_unify_image"),
        "vcot": ("mme_unify_action", "mme_unify_location"),
    },
}
Value = float | str
"""A score, or a status of it."""


def score(value: Value, weight: int) -> Row:
    known = (
        {"value": value, "status": "scored"}
        if not isinstance(value, str)
        else {"value": None, "status": value}
    )
    return {**known, "weight": weight}


def rows(
    task: str, *answers: Sequence[Value] | str, weights: Sequence[int] = ()
) -> list[Row]:
    """An answer is a score of each piece of the task, or what became of it."""
    return trials(
        one
        if isinstance(one, str)
        else {
            name: score(value, weight)
            for name, value in zip(PIECES[task], one, strict=True)
        }
        for one, weight in zip(answers, weights or [1] * len(answers), strict=True)
    )


def tables(
    folder: Path,
    tasks: Mapping[str, Sequence[Row]],
    *,
    profile: str = "standard",
    switches: Mapping[str, str] | None = None,
    **ours: Any,
) -> list[Table]:
    named = {f"mme_unify_{name}": own for name, own in tasks.items()}
    results: list[Row] = []
    metrics: dict[str, Row] = {}
    for name, own in tasks.items():
        task = f"mme_unify_{name}"
        how, options = (steps, {"profile": profile}) if name == "vcot" else (mean, {})
        results += numbers_of(
            task,
            own,
            PIECES[name],
            "mme_unify_score",
            how,
            options,
            skip=name == "tvg",
        )
        entry = {
            "profile": profile,
            "switches": {"tie": "wrong", "of": [], **(switches or {})},
            "range": [0, 1],
        }
        metrics[task] = {piece: {**entry, "outputs": [piece]} for piece in PIECES[name]}
        made = {
            **entry,
            "outputs": ["mme_unify_score"],
            "of_averages": True,
            "pieces": list(PIECES[name]),
        }
        metrics[task]["mme_unify_score"] = made
    run = stored(
        folder,
        named,
        layout="mme_unify",
        numbers=[],
        results=results,
        metrics=metrics,
        **ours,
    )
    return list(layout(run))


def line(table: Table, row: int = 0) -> dict[str, Cell]:
    return dict(zip(table.headers, table.rows[row], strict=True))


def test_what_the_model_cannot_do_is_a_dash_and_counts_zero(tmp_path: Path) -> None:
    whole = {
        name: rows(name, [0.5] * len(pieces), [1.0] * len(pieces))
        for name, pieces in PIECES.items()
    }
    whole |= {
        name: rows(name, "unsupported", "unsupported")
        for name in ("civg", "tvg", "vp", "vcot")
    }
    second, third, fourth = tables(tmp_path, whole)
    found = line(second)
    assert found["Model"] == "m"
    assert found["SIPU"] == 75
    assert found["CIVG"] == "-"
    assert found["VCoT"] == "-"
    averages = [found[name] for name in ("Und. Avg", "Gen. Avg", "Unify Avg", "MME-U")]
    assert averages == pytest.approx([75, 37.5, 60, 57.5])
    assert [row[0] for row in third.rows] == ["IEE", "CSQ", "AL", "SD", "VCoT"]
    assert [row[0] for row in fourth.rows] == ["CIVG", "FIR", "TIE", "TIG", "TVG", "VP"]
    assert (
        line(fourth)["FVD"],
        line(fourth)["Strict"],
        line(fourth, 1)["1-LPIPS"],
    ) == ("-", "-", 75)
    assert line(third)["Text, action"] == 75
    assert line(third)["Image"] == 75
    assert line(third)["acc"] == 75
    assert line(third)["Scored"] == "2/2"


def test_a_part_without_one_of_its_scores_has_no_average(tmp_path: Path) -> None:
    some = {
        "sipu": rows("sipu", [1.0]),
        "mitiu": rows("mitiu", ["unscored"]),
        "csq": rows("csq", [1.0, "unavailable"]),
    }
    second, third = tables(tmp_path, some)
    found = line(second)
    names = ("SIPU", "MITIU", "VPU", "CSQ", "Und. Avg", "Unify Avg", "MME-U")
    assert [found[name] for name in names] == [100, *[None] * 6]
    assert (line(third)["Text, action"], line(third)["Image"], line(third)["acc"]) == (
        100,
        None,
        None,
    )
    assert any("MITIU, VPU" in note for note in second.notes)
    assert "Settings: profile standard, tie wrong." in second.notes


def test_what_is_missing_is_dropped_from_generation_and_counts_zero_in_strict(
    tmp_path: Path,
) -> None:
    some = {
        "tie": rows("tie", [0.8, 0.4], ["inapplicable", "inapplicable"]),
        "csq": rows("csq", [1.0, 1.0], "failed", [0.0, "unscored"]),
        "sipu": rows("sipu", "bad_sample", [1.0]),
    }
    for row in some["sipu"][:1]:
        row["status"] = "failed"
    second, third, fourth = tables(tmp_path, some)
    usual, strict = line(second), line(second, 1)
    assert (usual["TIE"], strict["TIE"]) == (pytest.approx(60), pytest.approx(30))
    assert (strict["CSQ"], strict["SIPU"]) == (pytest.approx(100 / 3), 100)
    assert (line(fourth)["Scored"], line(third)["Strict"]) == (
        "1/2",
        pytest.approx(100 / 3),
    )


def test_a_part_that_does_not_apply_is_left_out_of_strict_too(tmp_path: Path) -> None:
    lost = ["inapplicable", "inapplicable"]
    second, fourth = tables(
        tmp_path / "some", {"tvg": rows("tvg", [0.8, "inapplicable"], lost)}
    )
    assert (line(second)["TVG"], line(second, 1)["TVG"]) == (
        pytest.approx(80),
        pytest.approx(40),
    )
    assert line(fourth)["Strict"] == pytest.approx(40)
    second, _ = tables(tmp_path / "none", {"tvg": rows("tvg", lost)})
    assert (line(second)["TVG"], line(second, 1)["TVG"]) == (None, 0)


@pytest.mark.parametrize(
    ("vcot", "settings"),
    [
        ("paper", "step_images before, tie wrong, vcot paper"),
        ("official", "tie wrong, vcot official"),
    ],
)
def test_a_switch_without_a_value_or_an_effect_is_no_setting(
    vcot: str, settings: str, tmp_path: Path
) -> None:
    switches = {"vectors": "", "step_images": "before", "vcot": vcot}
    second, _ = tables(tmp_path, {"vcot": rows("vcot", [0.5, 0.5])}, switches=switches)
    assert second.notes[-1] == f"Settings: profile standard, {settings}."


@pytest.mark.parametrize(
    ("profile", "share"), [("standard", 4 / 6), ("official", 4 / 8)]
)
def test_the_steps_of_mazes_are_shares_of_all_steps(
    profile: str, share: float, tmp_path: Path
) -> None:
    some = {"vcot": rows("vcot", [0.5, 0.5], [0.75, 0.75], weights=[2, 4])}
    second, third = tables(tmp_path, some, profile=profile)
    assert [
        line(third)[name] for name in ("Text, action", "Location", "acc", "Strict")
    ] == pytest.approx([100 * share] * 4)
    assert line(second, 1)["VCoT"] == pytest.approx(100 * share)


def test_bundled_samples_are_said_and_another_run_has_no_tables(tmp_path: Path) -> None:
    (second,) = tables(
        tmp_path / "a", {"sipu": rows("sipu", [1.0])}, not_comparable=["mme_unify_sipu"]
    )
    assert any("bundled" in note for note in second.notes)
    assert tables(tmp_path / "b", {}) == []
