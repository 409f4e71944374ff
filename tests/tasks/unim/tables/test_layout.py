"""The tables of a run, by hand and against a plain count over as many trials as the data set has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.report.layout_text import markdown_tables
from mmeval.results.layout import Table
from mmeval.tasks.unim.domains import DOMAINS, FIELDS, LEVELS
from mmeval.tasks.unim.tables.layout import ALL, FAMILIES, MODALITIES, layout
from mmeval.tasks.unim.tables.pool import NUMBERS
from tests.support.unim_scores import Row, labels, random_trials, stored, trial

FIELD = "UniM by field: {} (%)"
DOMAIN = "UniM by domain: {} (%)"
MEANING, STRUCTURE, COHERENCE = "meaning and quality", "structure", "coherence"
Numbers = Mapping[Any, dict[str, Any]]
"""Cells by the first cell of their row and by header."""


def tables(folder: Path, rows: Iterable[Row], **more: Any) -> dict[str, Table]:
    return {table.title: table for table in layout(stored(folder, {"unim_all": rows}, **more))}


def cells(table: Table) -> Numbers:
    return {row[0]: dict(zip(table.headers[1:], row[1:], strict=True)) for row in table.rows}


def by_hand() -> list[Row]:
    """Two domains of one field and one of another: half of math is taken, nothing of physics."""
    values: dict[str, float | str] = dict.fromkeys(NUMBERS, 0.5)
    return [
        trial("m1", {**values, "strict_structure": 1.0}, labels("math", "easy", capabilities=["C1", "C10"])),
        trial("m2", "unsupported", labels("math", "hard", capabilities=["C1"])),
        trial("p1", "unsupported", labels("physics", "hard")),
        trial("a1", {**values, "strict_structure": 0.25, "semantic_correctness": 1.0}, labels("art", "hard")),
    ]


# --- by hand ----------------------------------------------------------------------------------------------------------


def test_the_tables_are_those_of_the_paper_and_its_other_slices(tmp_path: Path) -> None:
    assert list(tables(tmp_path, by_hand())) == [
        *(FIELD.format(name) for name in (MEANING, STRUCTURE, COHERENCE)),
        *(DOMAIN.format(name) for name in (MEANING, STRUCTURE, COHERENCE)),
        "UniM by difficulty (%)",
        "UniM by capability (%)",
        "UniM by combination of modalities (%)",
    ]


def test_a_field_has_the_mean_of_its_domains_and_of_its_instances(tmp_path: Path) -> None:
    found = cells(tables(tmp_path, by_hand())[FIELD.format(STRUCTURE)])

    assert found["Natural science: mean of domains"]["StS abs"] == 100.0
    assert found["Natural science: mean of domains"]["StS rel"] == 25.0  # (50 + 0) / 2
    assert found["Natural science: mean of instances"]["StS rel"] == pytest.approx(100 / 3)
    assert found["All: mean of domains"]["StS abs"] == 62.5
    assert found["All: mean of domains"]["StS rel"] == pytest.approx((50 + 0 + 25) / 3)
    assert found["All: mean of domains"]["Scored"] == "2/30 domains"
    assert found["All: mean of instances"]["Lacks"] == "2 unsupported"


def test_tau_is_the_share_of_what_is_taken(tmp_path: Path) -> None:
    found = cells(tables(tmp_path, by_hand())[FIELD.format(MEANING)])

    assert found["Natural science: mean of domains"]["tau"] == 25.0
    assert found["Natural science: mean of instances"]["tau"] == pytest.approx(100 / 3)
    assert found["Social science: mean of domains"]["tau"] == 100.0


def test_a_domain_of_which_nothing_is_taken_has_no_absolute_number_and_a_relative_0(tmp_path: Path) -> None:
    found = cells(tables(tmp_path, by_hand())[DOMAIN.format(STRUCTURE)])["2 Physics"]

    assert (found["StS abs"], found["StS rel"], found["Scored"]) == (None, 0.0, "0/1")


def test_sqcs_of_means_is_its_formula_on_the_means_with_the_weight_of_the_run(tmp_path: Path) -> None:
    metrics = {"unim_all": {name: {"outputs": [name], "switches": {}} for name in NUMBERS}}
    metrics["unim_all"]["sqcs"]["switches"] = {"eta": 0.6}
    usual = cells(tables(tmp_path / "a", by_hand())[FIELD.format(MEANING)])["All: mean of instances"]
    other = cells(tables(tmp_path / "b", by_hand(), metrics=metrics)[FIELD.format(MEANING)])["All: mean of instances"]

    assert usual["SQCS of means"] == pytest.approx(75 * (0.7 + 0.3 * 0.5))
    assert other["SQCS of means"] == pytest.approx(75 * (0.6 + 0.4 * 0.5))


def test_philosophy_has_no_hard_instance_and_is_not_0(tmp_path: Path) -> None:
    found = cells(tables(tmp_path, [trial("a", 0.5, labels("art", "hard"))])[DOMAIN.format(COHERENCE)])

    assert list(found) == ["17 Art", "20 Philosophy"]
    assert found["20 Philosophy"] == {
        **dict.fromkeys(("HC", "SH", "ICS abs", "ICS rel")),
        "Scored": "0/0",
        "Lacks": "has no hard instance",
    }


def test_an_instance_counts_in_each_of_its_capabilities(tmp_path: Path) -> None:
    found = cells(tables(tmp_path, by_hand())["UniM by capability (%)"])

    assert list(found) == ["C1 perceptual understanding", "C10 planning"]
    assert [row["tau"] for row in found.values()] == [50.0, 100.0]


@pytest.mark.parametrize("weight", [True, "x", -1, float("inf"), None], ids=str)
def test_a_soft_label_that_is_no_weight_is_none(tmp_path: Path, weight: object) -> None:
    rows = [trial("0", 0.5, labels(capabilities=["C7"]))]
    found = tables(tmp_path, rows, samples={"0": {"capability_weights": {"C7": weight}}})["UniM by capability (%)"]

    assert list(cells(found)) == ["C7 reasoning"]


def test_soft_labels_stand_beside_weight_1(tmp_path: Path) -> None:
    rows = [trial(str(at), float(at), labels(capabilities=["C7"])) for at in range(2)]
    weights = {"0": {"capability_weights": {"C7": 0.5}}, "1": {"capability_weights": {"C7": 1.5}}}
    found = cells(tables(tmp_path, rows, samples=weights)["UniM by capability (%)"])

    assert {name: row["HC"] for name, row in found.items()} == {"C7 reasoning": 50.0, "C7 reasoning, by weight": 75.0}


def test_without_capability_labels_there_is_no_table_by_capability(tmp_path: Path) -> None:
    assert "UniM by capability (%)" not in tables(tmp_path, [trial("a", 0.5, labels())])


def test_numbers_are_printed_as_percent_with_one_digit(tmp_path: Path) -> None:
    text = markdown_tables(tables(tmp_path, by_hand()).values())

    assert "|Natural science: mean of instances|  100.0|   50.0|   33.3|   16.7|1/3" in text


def test_domains_stand_in_the_order_of_the_paper_whatever_the_data_call_them(tmp_path: Path) -> None:
    words = ("pets", "astrology", "mathematics", "env_science")
    rows = [trial(word, 0.5, {**labels(word), "field": "natural_science"}) for word in words]
    found = tables(tmp_path, rows)

    assert list(cells(found[DOMAIN.format(STRUCTURE)])) == [
        "1 Math",
        "10 Env. Science",
        "30 Pets (natural_science)",
        "astrology (natural_science)",
    ]
    assert "Domains that the paper does not name: astrology." in found[FIELD.format(MEANING)].notes


# --- what is not known ------------------------------------------------------------------------------------------------


def notes(folder: Path, rows: Iterable[Row], **more: Any) -> tuple[str, ...]:
    return tables(folder, rows, **more)[FIELD.format(MEANING)].notes


def test_families_of_which_the_run_gives_no_number_are_left_out_but_for_tau(tmp_path: Path) -> None:
    values: dict[str, float | str] = dict.fromkeys(NUMBERS, "unavailable")
    rows = [trial("a", {**values, "strict_structure": 1.0}, labels())]
    found = tables(tmp_path, rows)

    assert COHERENCE not in "".join(found)
    assert cells(found[FIELD.format(MEANING)])["All: mean of domains"]["tau"] == 100.0
    assert cells(found[FIELD.format(MEANING)])["All: mean of instances"]["Lacks"] == "1 unavailable"


def test_what_was_lost_is_no_0_and_is_said(tmp_path: Path) -> None:
    values: dict[str, float | str] = dict.fromkeys(NUMBERS, 1.0)
    rows = [
        trial("a", values, labels()),
        trial("b", {**values, "semantic_correctness": "unscored"}, labels()),
        trial("c", "failed", labels()),
    ]
    found = tables(tmp_path, rows)
    line = cells(found[DOMAIN.format(MEANING)])["1 Math"]

    assert (line["SC"], line["tau"], line["Scored"], line["Lacks"]) == (100.0, 100.0, "1/3", "1 failed, 1 unscored")
    assert "Lacking: SC of 1: unscored for a test." in found[FIELD.format(MEANING)].notes


def test_a_number_that_nothing_here_gives_has_no_column_and_keeps_no_other_from_counting(tmp_path: Path) -> None:
    values: dict[str, float | str] = dict.fromkeys(NUMBERS, 1.0)
    rows = [trial("a", {**values, "unim_gq": "unavailable", "sqcs": "unavailable"}, labels())]
    found = tables(tmp_path, rows)
    line = cells(found[DOMAIN.format(MEANING)])["1 Math"]

    assert line == {"tau": 100.0, "SC": 100.0, "Scored": "1/1", "Lacks": ""}
    assert "SQCS abs" not in found["UniM by difficulty (%)"].headers
    assert not any(note.startswith("SQCS of means") for note in found[FIELD.format(MEANING)].notes)
    assert "Lacking: GQ of all, SQCS of all: unavailable for a test." in found[FIELD.format(MEANING)].notes


def test_a_domain_of_which_all_was_lost_is_left_out_of_the_mean_and_said(tmp_path: Path) -> None:
    rows = [trial("a", 0.5, labels("math")), trial("b", "failed", labels("physics"))]
    found = cells(tables(tmp_path, rows)[FIELD.format(STRUCTURE)])["Natural science: mean of domains"]

    assert (found["StS abs"], found["StS rel"], found["Lacks"]) == (50.0, 50.0, "1 without a value")


def test_a_domain_that_lost_one_of_the_numbers_of_a_row_is_without_a_value(tmp_path: Path) -> None:
    values: dict[str, float | str] = {**dict.fromkeys(NUMBERS, 0.5), "strict_structure": "unscored"}
    rows = [trial("a", 0.5, labels("math")), trial("b", values, labels("physics"))]
    found = cells(tables(tmp_path, rows)[FIELD.format(STRUCTURE)])["Natural science: mean of domains"]

    assert (found["LeS abs"], found["Scored"], found["Lacks"]) == (50.0, "1/10 domains", "1 without a value")


def test_where_no_level_is_known_no_domain_lacks_instances_of_it(tmp_path: Path) -> None:
    found = cells(tables(tmp_path, [trial("a", 0.5, labels("art", ""))])[DOMAIN.format(STRUCTURE)])

    assert list(found) == ["17 Art"]


def test_data_that_could_not_be_read_to_their_end_are_said(tmp_path: Path) -> None:
    found = tables(tmp_path, [trial("a", 0.5, labels())], unfinished={"unim_all": {}})

    assert "The data of unim_all could not be read to their end." in found[FIELD.format(MEANING)].notes


def test_samples_whose_data_are_broken_are_in_no_mean_and_are_said(tmp_path: Path) -> None:
    rows = [trial("a", 0.5, labels()), trial("b", "bad_sample", labels()), trial("row 7", "bad_sample", {})]
    found = tables(tmp_path, rows)

    whole, domain = (
        cells(found[FIELD.format(MEANING)])["All: mean of instances"],
        cells(found[DOMAIN.format(MEANING)])["1 Math"],
    )
    assert (whole["SC"], whole["tau"], whole["Scored"], whole["Lacks"]) == (50.0, 100.0, "1/3", "2 bad")
    assert (domain["SC"], domain["tau"], domain["Scored"], domain["Lacks"]) == (50.0, 100.0, "1/2", "1 bad")
    assert (
        "bad: 2 samples could not be asked because of the data, and are neither in tau nor in any mean: b, row 7."
        in found[FIELD.format(MEANING)].notes
    )
    assert not any("no field or domain" in note for note in found[FIELD.format(MEANING)].notes)


def test_a_domain_whose_samples_are_all_bad_is_told_apart_from_one_that_the_model_cannot_take(tmp_path: Path) -> None:
    rows = [trial("a", 0.5, labels("math")), trial("b", "bad_sample", labels("physics"))]
    found = cells(tables(tmp_path, rows)[FIELD.format(STRUCTURE)])["Natural science: mean of domains"]

    assert (found["StS abs"], found["StS rel"], found["Lacks"]) == (50.0, 50.0, "1 bad")


def test_what_is_bad_in_one_task_and_answered_in_another_counts_with_the_labels_of_that(tmp_path: Path) -> None:
    tasks = {"a": [trial("m", "bad_sample", {})], "b": [trial("m", 1.0, labels())]}
    found = {table.title: table for table in layout(stored(tmp_path, tasks))}

    assert cells(found[DOMAIN.format(STRUCTURE)])["1 Math"]["Scored"] == "1/1"
    assert not any(note.startswith("bad:") for note in found[FIELD.format(MEANING)].notes)


def test_a_number_whose_scoring_was_suspended_is_not_that_of_what_came_before(tmp_path: Path) -> None:
    gone = [{"task": "unim_all", "metric": "semantic_correctness", "suspended": True}]
    found = tables(tmp_path, [trial("a", 0.5, labels())], results=gone)
    line = cells(found[DOMAIN.format(MEANING)])["1 Math"]

    assert (line["SC"], line["GQ"]) == (None, 50.0)
    assert "Lacking: SC of 1: scoring was suspended." in found[FIELD.format(MEANING)].notes


def test_what_a_judge_has_not_come_to_is_lacking(tmp_path: Path) -> None:
    rows = [trial("a", {"strict_structure": 1.0, "lenient_structure": 1.0}, labels())]
    line = cells(tables(tmp_path, rows)[DOMAIN.format(STRUCTURE)])["1 Math"]

    assert (line["StS abs"], line["Scored"]) == (100.0, "1/1")
    assert any("not scored yet" in note for note in notes(tmp_path / "again", rows))


def test_bundled_and_partial_runs_say_so(tmp_path: Path) -> None:
    subset = {"unim_all": {"of": 100, "chosen": 1, "how": ["limit"]}}
    found = notes(tmp_path, [trial("a", 0.5, labels())], not_comparable=["unim_all"], subset=subset, left_out={"x": ""})

    assert "Made on bundled samples: these numbers do not compare with the paper's." in found
    assert "unim_all, subset: 1 of 100 samples." in found
    assert "Left out, no data here: x." in found


# --- pooling ----------------------------------------------------------------------------------------------------------


def test_a_trial_of_two_tasks_counts_once_and_repeats_count_each(tmp_path: Path) -> None:
    hard = [trial("m", 0.0, labels(), repeat=0), trial("m", 1.0, labels(), repeat=1)]
    math = [trial("m", 0.0, labels(), repeat=0), trial("n", 1.0, labels(), repeat=0)]
    found = {table.title: table for table in layout(stored(tmp_path, {"unim_hard": hard, "unim_math": math}))}

    assert cells(found[DOMAIN.format(STRUCTURE)])["1 Math"]["Scored"] == "3/3"
    assert cells(found[DOMAIN.format(STRUCTURE)])["1 Math"]["StS abs"] == pytest.approx(200 / 3)
    assert "1 trials belong to several tasks and count once." in found[FIELD.format(MEANING)].notes


def test_what_one_task_has_lost_another_may_have(tmp_path: Path) -> None:
    tasks = {"a": [trial("m", "failed", labels())], "b": [trial("m", 1.0, labels())]}
    found = {table.title: table for table in layout(stored(tmp_path, tasks))}

    assert cells(found[DOMAIN.format(STRUCTURE)])["1 Math"]["Scored"] == "1/1"


def test_only_the_trials_that_stand_behind_the_numbers_count(tmp_path: Path) -> None:
    asked = {"unim_all": {"repeats": 1, "samples": [[1, 1]]}}
    rows = [trial("a", 0.0, labels()), trial("b", 1.0, labels())]
    found = cells(tables(tmp_path, rows, asked=asked)[DOMAIN.format(STRUCTURE)])

    assert (found["1 Math"]["StS abs"], found["1 Math"]["Scored"]) == (100.0, "1/1")


def test_a_run_of_other_tasks_has_no_table(tmp_path: Path) -> None:
    run = stored(tmp_path, {"other": by_hand()})
    run.record["tasks"]["other"].update(loader="mmmg", layout="")

    assert list(layout(run)) == []


# --- against a plain count --------------------------------------------------------------------------------------------

HEADERS = {
    "SC": "semantic_correctness",
    "GQ": "unim_gq",
    "SQCS abs": "sqcs",
    "SQCS rel": "sqcs",
    "StS abs": "strict_structure",
    "LeS abs": "lenient_structure",
    "StS rel": "strict_structure",
    "LeS rel": "lenient_structure",
    "HC": "holistic_coherence",
    "SH": "stylistic_harmony",
    "ICS abs": "interleaved_coherence",
    "ICS rel": "interleaved_coherence",
}


class Whole:
    """All trials of the data set's size, and the tables made of them."""

    def __init__(self, folder: Path) -> None:
        self.rows = [row for row in random_trials() if row.get("error", {}).get("kind") != "bad_sample"]
        self.tables = tables(folder, random_trials())

    def counted(self, rows: Sequence[Row], header: str) -> float | None:
        """A cell of some rows in percent, one loop a number."""
        asked = len(rows)
        taken = [row for row in rows if row["status"] != "unsupported"]
        if header == "tau":
            return 100 * len(taken) / asked
        found = [row["scores"].get(HEADERS[header], {}).get("value") for row in taken]
        values: list[float] = [value for value in found if value is not None]
        if not taken:
            return 0.0 if header.endswith("rel") else None
        absolute = sum(values) / len(values)
        return 100 * absolute * (len(taken) / asked if header.endswith("rel") else 1)

    def domains(self, rows: Iterable[Row], header: str) -> float:
        """The mean of what is counted of each domain."""
        parts: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            parts[row["labels"]["domain"]].append(row)
        found = [self.counted(part, header) for part in parts.values()]
        values = [value for value in found if value is not None]
        return sum(values) / len(values)

    def where(self, keep: Callable[[Row], bool]) -> list[Row]:
        return [row for row in self.rows if keep(row["labels"])]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(tmp_path_factory.mktemp("whole"))


def agree(found: Mapping[str, Any], wanted: Callable[[str], float | None], headers: Iterable[str]) -> None:
    for header in headers:
        assert found[header] == (None if (one := wanted(header)) is None else pytest.approx(one, abs=1e-9)), header


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_domains_agree_with_a_plain_count(whole: Whole, family: Any) -> None:
    found = cells(whole.tables[DOMAIN.format(family.title)])
    headers = [column.header for column in family.columns if column.kind != "of means"]
    for domain in DOMAINS:
        rows = whole.where(lambda labels, name=domain.name: labels["domain"] == name)  # type: ignore[misc]
        agree(found[f"{domain.number} {domain.title}"], lambda header, of=rows: whole.counted(of, header), headers)  # type: ignore[misc]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_fields_agree_with_a_plain_count(whole: Whole, family: Any) -> None:
    found = cells(whole.tables[FIELD.format(family.title)])
    headers = [column.header for column in family.columns if column.kind != "of means"]
    for word, title in {**FIELDS, "": "All"}.items():
        rows = whole.where(lambda labels, name=word: not name or labels["field"] == name)  # type: ignore[misc]
        agree(found[f"{title}: mean of instances"], lambda header, of=rows: whole.counted(of, header), headers)  # type: ignore[misc]
        agree(found[f"{title}: mean of domains"], lambda header, of=rows: whole.domains(of, header), headers)  # type: ignore[misc]


def test_difficulties_agree_with_a_plain_count(whole: Whole) -> None:
    found = cells(whole.tables["UniM by difficulty (%)"])
    assert len(found) == 3 + 9
    for level in LEVELS:
        for word, title in {"": "", **FIELDS}.items():
            rows = whole.where(
                lambda labels, of=level, name=word: labels["difficulty"] == of and name in ("", labels["field"])  # type: ignore[misc]
            )
            name = f"{level}, {title.lower()}" if title else level
            agree(found[name], lambda header, of=rows: whole.counted(of, header), ["tau", *HEADERS])  # type: ignore[misc]


@pytest.mark.parametrize(
    ("label", "title"), [("capabilities", "capability"), ("combination", "combination of modalities")]
)
def test_other_slices_agree_with_a_plain_count(whole: Whole, label: str, title: str) -> None:
    found = cells(whole.tables[f"UniM by {title} (%)"])
    assert len(found) == (10 if label == "capabilities" else 35)
    for name, line in found.items():
        word = name.partition(" ")[0]
        rows = whole.where(lambda labels, of=word: of in ([labels[label]] if label == "combination" else labels[label]))  # type: ignore[misc]
        agree(line, lambda header, of=rows: whole.counted(of, header), ["tau", *HEADERS])  # type: ignore[misc]


def test_the_counts_of_a_row_are_all_of_its_instances(whole: Whole) -> None:
    for title, table in whole.tables.items():
        for line in cells(table).values():
            if "domains" not in line["Scored"]:
                scored, _, of = line["Scored"].partition("/")
                lacks = [int(part.split()[0]) for part in filter(None, line["Lacks"].split(", "))]
                assert int(scored) + sum(lacks) == int(of), title


def test_the_identities_of_the_published_tables_hold_by_domain(tmp_path: Path) -> None:
    values = [dict.fromkeys(NUMBERS, at / 40) for at in range(40)]
    for at, one in enumerate(values):
        one["stylistic_harmony"] = (39 - at) / 40
        one["interleaved_coherence"] = 0.8 * one["holistic_coherence"] + 0.2 * one["stylistic_harmony"]
    rows = [
        trial(f"{at}", "unsupported" if at % 3 == 0 else one, labels(("math", "art")[at % 2]))
        for at, one in enumerate(values)
    ]
    found = tables(tmp_path, rows)
    tau = {name: row["tau"] for name, row in cells(found[DOMAIN.format(MEANING)]).items()}
    for name, row in cells(found[DOMAIN.format(COHERENCE)]).items():
        assert row["ICS abs"] == pytest.approx(0.8 * row["HC"] + 0.2 * row["SH"])
        assert row["ICS rel"] == pytest.approx(tau[name] / 100 * row["ICS abs"])


def test_the_relative_mean_of_domains_is_not_the_product_of_the_others(tmp_path: Path) -> None:
    found = tables(tmp_path, by_hand())
    line = cells(found[FIELD.format(STRUCTURE)])["All: mean of domains"]
    tau = cells(found[FIELD.format(MEANING)])["All: mean of domains"]["tau"]

    assert (tau, line["StS abs"], line["StS rel"]) == (50.0, 62.5, 25.0)


def test_the_families_hold_the_thirteen_numbers_of_the_paper() -> None:
    assert [column.header for column in ALL.columns] == [
        *("tau", "SC", "GQ", "SQCS abs", "SQCS rel"),
        *("StS abs", "LeS abs", "StS rel", "LeS rel"),
        *("HC", "SH", "ICS abs", "ICS rel"),
    ]


# --- quality ----------------------------------------------------------------------------------------------------------


def with_items(row: Row, **pieces: Sequence[float] | str) -> Row:
    """A trial with items of some modalities, in the evidence of their metrics; a word is a piece's status."""
    scores = {
        f"{name}_quality": {"value": None, "status": own, "reason": f"{own} for a test"}
        if isinstance(own, str)
        else {"value": sum(own) / len(own), "status": "scored", "evidence": {"items": _items(own)}}
        for name, own in pieces.items()
    }
    lost = [name for name, own in scores.items() if own["status"] == "unavailable"]
    gq = {"evidence": {"gq_partial": True, "without": lost}} if lost else {}
    return {**row, "scores": {**row["scores"], **scores, "unim_gq": {**row["scores"]["unim_gq"], **gq}}}


def _items(qualities: Sequence[float]) -> list[Row]:
    return [{"label": f"i{at}", "quality": one} for at, one in enumerate(qualities)]


def of_quality(folder: Path, *rows: Row) -> dict[str, Table]:
    outputs = (*NUMBERS, "text_quality", "image_quality", "audio_quality", "video_quality")
    metrics = {"unim_all": {name: {"outputs": [name], "switches": {}, "range": [0, 1]} for name in outputs}}
    return tables(folder, rows, metrics=metrics)


def judged_quality(folder: Path) -> dict[str, Table]:
    """Two answers of two fields: their texts are not judged, and the second has no sound."""
    first = with_items(trial("m", 0.5, labels("math")), text="unavailable", image=[0.25, 0.75, 1.0], audio=[1.0])
    second = with_items(trial("a", 0.5, labels("art")), text="unavailable", image=[0.0], audio="inapplicable")
    return of_quality(folder, first, second, trial("p", "failed", labels("physics")))


def test_the_items_of_each_modality_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    found = judged_quality(tmp_path)[MODALITIES]

    assert found.headers == ("Modality", "Items", "Answers", "Mean", "Natural science", "Social science", "Lacks")
    assert found.rows == (
        ("text", "0", "0", None, None, None, "unavailable"),
        ("image", "4", "2", 50.0, pytest.approx(200 / 3), 0.0, ""),
        ("audio", "1", "1", 100.0, 100.0, None, ""),
    )


def test_it_stands_below_the_fields_and_above_the_domains(tmp_path: Path) -> None:
    titles = list(judged_quality(tmp_path))

    assert titles.index(FIELD.format(COHERENCE)) + 1 == titles.index(MODALITIES)
    assert titles.index(MODALITIES) + 1 == titles.index(DOMAIN.format(MEANING))


def test_a_quality_that_lacks_items_is_said_to_be_partial(tmp_path: Path) -> None:
    notes = judged_quality(tmp_path)[FIELD.format(MEANING)].notes

    assert "GQ is partial in 2 answers, without the items that they may have for text_quality (2)." in notes


def test_an_answer_to_which_a_number_is_inapplicable_lacks_nothing(tmp_path: Path) -> None:
    row = trial("m", {**dict.fromkeys(NUMBERS, 0.5), "unim_gq": "inapplicable", "sqcs": "inapplicable"}, labels("math"))
    found = tables(tmp_path, [row, trial("n", 1.0, labels("math"))])
    line = cells(found[DOMAIN.format(MEANING)])["1 Math"]

    assert (line["GQ"], line["SQCS abs"], line["SC"], line["Scored"], line["Lacks"]) == (100.0, 100.0, 75.0, "2/2", "")
    assert not any("GQ of" in note for note in found[FIELD.format(MEANING)].notes)
