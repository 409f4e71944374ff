import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.report.table_formats.layouts import markdown_tables
from mmeval.results.layout import Table
from mmeval.tasks.unim.tables.layout import ALL, FAMILIES, MODALITIES, layout
from mmeval.tasks.unim.tables.pool import NUMBERS
from tests.support.stored_runs import Row, labels, stored, trial

FIELD = "UniM by field: {} (%)"
DOMAIN = "UniM by domain: {} (%)"
OTHER = "UniM by {} (%)"
MEANING, STRUCTURE, COHERENCE = (FAMILY := [family.title for family in FAMILIES])
BY_DOMAIN = "Natural science: mean of domains"
BY_INSTANCE = "Natural science: mean of instances"
CAPABILITY = OTHER.format("capability")
HALF: dict[str, float | str] = dict.fromkeys(NUMBERS, 0.5)
BY_HAND = [
    trial(
        "m1",
        {**HALF, "strict_structure": 1.0},
        labels("math", "easy", capabilities=["C1", "C10"]),
    ),
    trial("m2", "unsupported", labels("math", "hard", capabilities=["C1"])),
    trial("p1", "unsupported", labels("physics", "hard")),
    trial(
        "a1",
        {**HALF, "strict_structure": 0.25, "semantic_correctness": 1.0},
        labels("art", "hard"),
    ),
]
"""Two domains of one field and one of another: half of math is taken, nothing of
physics."""
Trials = Iterable[Row] | Mapping[str, Iterable[Row]]


def tables(folder: Path, rows: Trials, **more: Any) -> dict[str, Table]:
    """By title; ``rows`` are those of one task, or by task."""
    tasks = rows if isinstance(rows, Mapping) else {"unim_all": rows}
    return {table.title: table for table in layout(stored(folder, tasks, **more))}


def cells(table: Table) -> dict[Any, dict[str, Any]]:
    """Cells by the first cell of their row and by header."""
    return {
        row[0]: dict(zip(table.headers[1:], row[1:], strict=True)) for row in table.rows
    }


def field(
    folder: Path, rows: Trials, family: str = MEANING, **more: Any
) -> dict[Any, dict[str, Any]]:
    return cells(tables(folder, rows, **more)[FIELD.format(family)])


def domain(
    folder: Path, rows: Trials, family: str = STRUCTURE, **more: Any
) -> dict[Any, dict[str, Any]]:
    return cells(tables(folder, rows, **more)[DOMAIN.format(family)])


def notes(folder: Path, rows: Trials, **more: Any) -> str:
    return "\n".join(tables(folder, rows, **more)[FIELD.format(MEANING)].notes)


def some(line: Mapping[str, Any], names: str) -> list[Any]:
    return [line[name.strip()] for name in names.split(",")]


def test_the_tables_are_those_of_the_paper_and_its_other_slices(tmp_path: Path) -> None:
    found = tables(tmp_path, BY_HAND)
    others = [OTHER.format(name) for name in ("difficulty", "capability")]
    *titles, _ = found
    assert (
        titles
        == [title.format(name) for title in (FIELD, DOMAIN) for name in FAMILY] + others
    )
    assert [found[title].headers[0] for title in list(found)[-3:]] == [
        "Difficulty",
        "Capability",
        "Combination",
    ]
    assert FAMILY == ["meaning and quality", "structure", "coherence"]
    numbers = (
        "tau,SC,GQ,SQCS abs,SQCS rel,StS abs,LeS abs,StS rel,LeS rel,HC,SH,ICS "
        "abs,ICS rel"
    )
    assert ",".join(column.header for column in ALL.columns) == numbers
    row = "|Natural science: mean of instances|  100.0|   50.0|   33.3|   16.7|1/3"
    assert row in markdown_tables(found.values())
    assert CAPABILITY not in tables(tmp_path / "b", [trial("a", 0.5, labels())])
    assert list(layout(stored(tmp_path / "c", {"other": BY_HAND}, layout="mmmg"))) == []


def test_a_field_has_the_mean_of_its_domains_and_of_its_instances(
    tmp_path: Path,
) -> None:
    found = field(tmp_path / "a", BY_HAND, STRUCTURE)
    every = found["All: mean of domains"]
    assert some(found[BY_DOMAIN], "StS abs, StS rel") == [100.0, 25.0]  # (50 + 0) / 2
    assert found[BY_INSTANCE]["StS rel"] == pytest.approx(100 / 3)
    # The relative mean is not the product of the others.
    assert some(every, "StS abs, StS rel, Scored") == [
        62.5,
        pytest.approx((50 + 0 + 25) / 3),
        "2/30 domains",
    ]
    assert found["All: mean of instances"]["Lacks"] == "2 unsupported"
    taus = field(tmp_path / "b", BY_HAND)
    assert taus[BY_DOMAIN]["tau"] == 25.0
    assert taus[BY_INSTANCE]["tau"] == pytest.approx(100 / 3)


@pytest.mark.parametrize(("switches", "eta"), [({}, 0.7), ({"eta": 0.6}, 0.6)])
def test_sqcs_of_means_has_the_weight_of_the_run(
    tmp_path: Path, switches: dict[str, float], eta: float
) -> None:
    metrics = {
        "unim_all": {
            name: {"outputs": [name], "switches": switches} for name in NUMBERS
        }
    }
    found = field(tmp_path, BY_HAND, metrics=metrics)["All: mean of instances"]
    assert found["SQCS of means"] == pytest.approx(75 * (eta + (1 - eta) * 0.5))


def test_domains_stand_in_the_order_of_the_paper_and_one_without_hard_instances_is_not_0(
    tmp_path: Path,
) -> None:
    found = domain(tmp_path / "a", [trial("a", 0.5, labels("art", "hard"))], COHERENCE)
    empty = {
        **dict.fromkeys(("HC", "SH", "ICS abs", "ICS rel")),
        "Scored": "0/0",
        "Lacks": "has no hard instance",
    }
    assert (list(found), found["20 Philosophy"]) == (["17 Art", "20 Philosophy"], empty)
    # Where no level is known no domain lacks instances of it.
    assert list(domain(tmp_path / "b", [trial("a", 0.5, labels("art", ""))])) == [
        "17 Art"
    ]
    words = ("pets", "astrology", "mathematics", "env_science")
    rows = [
        trial(word, 0.5, {**labels(word), "field": "natural_science"}) for word in words
    ]
    names = [
        "1 Math",
        "10 Env. Science",
        "30 Pets (natural_science)",
        "astrology (natural_science)",
    ]
    assert list(domain(tmp_path / "c", rows)) == names
    assert "not in the paper: astrology." in notes(tmp_path / "d", rows)


def test_an_instance_counts_in_each_of_its_other_slices(tmp_path: Path) -> None:
    found = tables(tmp_path, BY_HAND)
    difficulty, capability, combination = (
        {name: some(row, "tau, StS abs, Scored") for name, row in cells(table).items()}
        for table in list(found.values())[-3:]
    )
    assert difficulty == {
        "easy": [100.0, 100.0, "1/1"],
        "easy, natural science": [100.0, 100.0, "1/1"],
        "hard": [pytest.approx(100 / 3), 25.0, "1/3"],
        "hard, natural science": [0.0, None, "0/2"],
        "hard, social science": [100.0, 25.0, "1/1"],
    }
    assert capability == {
        "C1 perceptual understanding": [50.0, 100.0, "1/2"],
        "C10 planning": [100.0, 100.0, "1/1"],
    }
    assert combination == {"I->I": [50.0, 62.5, "2/4"]}


def test_samples_whose_data_are_broken_are_in_no_mean(tmp_path: Path) -> None:
    rows = [
        trial("a", 0.5, labels()),
        trial("b", "bad_sample", labels()),
        trial("row 7", "bad_sample", {}),
    ]
    found = tables(tmp_path, rows)
    whole = cells(found[FIELD.format(MEANING)])["All: mean of instances"]
    math = cells(found[DOMAIN.format(MEANING)])
    notes = "\n".join(found[FIELD.format(MEANING)].notes)
    assert some(whole, "SC, tau, Scored, Lacks") == [50.0, 100.0, "1/3", "2 bad"]
    assert some(math["1 Math"], "SC, tau, Scored, Lacks") == [
        50.0,
        100.0,
        "1/2",
        "1 bad",
    ]
    assert ("bad: 2 samples" in notes, ": b, row 7." in notes, "no field" in notes) == (
        True,
        True,
        False,
    )


def test_soft_labels_stand_beside_weight_1(tmp_path: Path) -> None:
    rows = [trial(str(at), float(at), labels(capabilities=["C7"])) for at in range(2)]
    weights = {
        "0": {"capability_weights": {"C7": 0.5}},
        "1": {"capability_weights": {"C7": 1.5}},
    }
    found = cells(tables(tmp_path, rows, samples=weights)[CAPABILITY])
    assert {name: row["HC"] for name, row in found.items()} == {
        "C7 reasoning": 50.0,
        "C7 reasoning, by weight": 75.0,
    }
    samples = {"0": {"capability_weights": {"C7": -1}}}  # no weight
    found = cells(tables(tmp_path / "none", rows[:1], samples=samples)[CAPABILITY])
    assert list(found) == ["C7 reasoning"]


LOST = [
    trial("a", 1.0, labels()),
    trial(
        "b",
        {**dict.fromkeys(NUMBERS, 1.0), "semantic_correctness": "unscored"},
        labels(),
    ),
    trial("c", "failed", labels()),
]
UNAVAILABLE = [
    trial(
        "a",
        {
            **dict.fromkeys(NUMBERS, 1.0),
            "unim_gq": "unavailable",
            "sqcs": "unavailable",
        },
        labels(),
    )
]
WITHOUT = [
    trial("m", {**HALF, "unim_gq": "inapplicable", "sqcs": "inapplicable"}, labels()),
    trial("n", 1.0, labels()),
]
GONE = [{"task": "unim_all", "metric": "semantic_correctness", "suspended": True}]
ALONE = {"numbers": ["strict_structure"]}


@pytest.mark.parametrize(
    ("rows", "more", "names", "wanted", "noted"),
    [
        (
            LOST,
            {},
            "SC, tau, Scored, Lacks",
            [100, 100, "1/3", "1 failed, 1 unscored"],
            "SC of 1: unscored",
        ),
        # A number that is unavailable has no column and keeps no other from counting.
        (
            UNAVAILABLE,
            {},
            "tau, SC, Scored, Lacks",
            [100, 100, "1/1", ""],
            "SQCS of all: unavailable",
        ),
        # An answer to which a number is inapplicable lacks nothing.
        (WITHOUT, {}, "GQ, SQCS abs, SC, Scored, Lacks", [100, 100, 75, "2/2", ""], ""),
        # A number whose scoring was suspended is not that of what came before.
        (
            [trial("a", 0.5, labels())],
            {"results": GONE},
            "SC, GQ",
            [None, 50],
            "SC of 1: scoring",
        ),
        (
            [trial("a", {"strict_structure": 1.0, "lenient_structure": 1.0}, labels())],
            {},
            "tau",
            [100],
            "not scored",
        ),
        (
            [trial("a", 1.0, labels())],
            ALONE,
            "Scored, Lacks",
            ["0/1", "1 unavailable"],
            "LeS of",
        ),
    ],
    ids=["lost", "unavailable", "inapplicable", "suspended", "not scored", "skipped"],
)
def test_what_is_lost_or_unavailable_is_no_0(
    tmp_path: Path,
    rows: list[Row],
    more: dict[str, Any],
    names: str,
    wanted: list[Any],
    noted: str,
) -> None:
    line = domain(tmp_path / "a", rows, MEANING, **more)["1 Math"]
    note = notes(tmp_path / "b", rows, **more)
    assert some(line, names) == wanted
    assert noted in note and ("Missing:" in note) is bool(noted)
    if rows is UNAVAILABLE:
        assert ",".join(line) == "tau,SC,Scored,Lacks"
        assert "SQCS of means" not in note
        assert (
            "SQCS abs"
            not in tables(tmp_path / "c", rows)[OTHER.format("difficulty")].headers
        )


def test_notes_of_bundled_partial_and_unfinished_runs(tmp_path: Path) -> None:
    of: dict[str, Any] = {
        "not_comparable": ["unim_all"],
        "left_out": {"x": ""},
        "unfinished": {"unim_all": {}},
    }
    of["subset"] = {"unim_all": {"of": 100, "chosen": 1, "how": ["limit"]}}
    found = notes(tmp_path, [trial("a", 0.5, labels())], **of)
    for words in ("bundled", "unim_all, subset: 1 of 100", ": x.", "unim_all "):
        assert words in found


def test_a_trial_of_two_tasks_counts_once_and_repeats_count_each(
    tmp_path: Path,
) -> None:
    hard = [trial("m", 0.0, labels(), repeat=0), trial("m", 1.0, labels(), repeat=1)]
    tasks = {
        "unim_hard": hard,
        "unim_math": [
            trial("m", 0.0, labels(), repeat=0),
            trial("n", 1.0, labels(), repeat=0),
        ],
    }
    assert some(domain(tmp_path / "a", tasks)["1 Math"], "Scored, StS abs") == [
        "3/3",
        pytest.approx(200 / 3),
    ]
    assert "\n1 trials " in notes(tmp_path / "b", tasks)


@pytest.mark.parametrize(("state", "of"), [("failed", labels()), ("bad_sample", {})])
def test_what_one_task_has_lost_another_may_have(
    tmp_path: Path, state: str, of: Row
) -> None:
    tasks = {"a": [trial("m", state, of)], "b": [trial("m", 1.0, labels())]}
    assert domain(tmp_path / "a", tasks)["1 Math"]["Scored"] == "1/1"
    assert "bad" not in notes(tmp_path / "b", tasks)


def test_only_the_trials_that_stand_behind_the_numbers_count(tmp_path: Path) -> None:
    asked = {"unim_all": {"repeats": 1, "samples": [[1, 1]]}}
    found = domain(
        tmp_path, [trial("a", 0.0, labels()), trial("b", 1.0, labels())], asked=asked
    )
    assert some(found["1 Math"], "StS abs, Scored") == [100.0, "1/1"]


def with_items(row: Row, **pieces: Sequence[float] | str) -> Row:
    """A trial with items of some modalities, in the evidence of their metrics; a word
    is a piece's status."""
    scores = {
        f"{name}_quality": {"value": None, "status": own, "reason": f"{own} for a test"}
        if isinstance(own, str)
        else {
            "value": sum(own) / len(own),
            "status": "scored",
            "evidence": {
                "items": [
                    {"label": f"i{at}", "quality": one} for at, one in enumerate(own)
                ]
            },
        }
        for name, own in pieces.items()
    }
    lost = [name for name, own in scores.items() if own["status"] == "unavailable"]
    gq = {"evidence": {"gq_partial": True, "without": lost}} if lost else {}
    return {
        **row,
        "scores": {
            **row["scores"],
            **scores,
            "unim_gq": {**row["scores"]["unim_gq"], **gq},
        },
    }


def test_the_items_of_each_modality_stand_in_a_table_of_their_own(
    tmp_path: Path,
) -> None:
    # Two answers of two fields: their texts are not judged, and the second has no
    # sound.
    first = with_items(
        trial("m", 0.5, labels("math")),
        text="unavailable",
        image=[0.25, 0.75, 1.0],
        audio=[1.0],
    )
    second = with_items(
        trial("a", 0.5, labels("art")),
        text="unavailable",
        image=[0.0],
        audio="inapplicable",
    )
    outputs = (
        *NUMBERS,
        "text_quality",
        "image_quality",
        "audio_quality",
        "video_quality",
    )
    metrics = {
        "unim_all": {
            name: {"outputs": [name], "switches": {}, "range": [0, 1]}
            for name in outputs
        }
    }
    found = tables(
        tmp_path,
        [first, second, trial("p", "failed", labels("physics"))],
        metrics=metrics,
    )
    titles = list(found)

    headers = (
        "Modality",
        "Items",
        "Answers",
        "Mean",
        "Natural science",
        "Social science",
        "Lacks",
    )
    assert found[MODALITIES].headers == headers
    assert found[MODALITIES].rows == (
        ("text", "0", "0", None, None, None, "unavailable"),
        ("image", "4", "2", 50.0, pytest.approx(200 / 3), 0.0, ""),
        ("audio", "1", "1", 100.0, 100.0, None, ""),
    )
    # It stands below the fields and above the domains; a quality that lacks items is
    # partial.
    at = titles.index(MODALITIES)
    assert titles[at - 1 : at + 2] == [
        FIELD.format(COHERENCE),
        MODALITIES,
        DOMAIN.format(MEANING),
    ]
    partial = [
        note
        for note in found[FIELD.format(MEANING)].notes
        if "text_quality (2)" in note
    ]
    assert [re.findall(r"\d+ answers", note) for note in partial] == [["2 answers"]]
