from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mmeval.authoring.finding import TaskFinding
from mmeval.authoring.sample_checks import MAX_DAMAGED, MAX_REPEATED
from mmeval.authoring.validate import CHECKS, CheckTally, check
from mmeval.errors import UnknownNameError
from mmeval.installation import install_command
from mmeval.task.task import TaskOverrides
from tests.support import tiny_media
from tests.support.task_folder import installed, task, write_files, write_rows

PNG = tiny_media.picture()
ROW = {"id": "a", "input": "q", "references": ["r"], "level": "easy"}


def findings(folder: Path, more: str = "", *rows: dict[str, Any], **options: Any) -> list[TaskFinding]:
    """What is found in one task with these lines (the file's own are 1 to 5) and rows."""
    write_files(folder, {"t.yaml": task("t", f"dataset_path: rows\n{more}")})
    write_rows(folder / "rows", *(rows or (ROW,)))
    return list(check(["t"], [folder], **options))


def test_a_sound_task_has_no_finding(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/p.png").write_bytes(PNG)
    row = {**ROW, "input": "see <<image1>>", "media": {"image1": "p.png"}}
    more = "prompt: 'Look: {{ input }}'\ninput_modalities: [text, image]\nbreakdown: level\nfilter: {level: easy}"
    assert findings(tmp_path, more, row) == []


@pytest.mark.parametrize(
    ("more", "rows", "expected"),
    [
        ("requires_mmeval: '>=99'", [ROW], ("requires", 6, "needs mmeval >=99")),
        ("repeats: 0", [ROW], ("schema", 6, "repeats: must be at least 1")),
        ("repeats: [1", [ROW], ("schema", 7, "not valid YAML")),
        ("loader: gone", [ROW], ("plugins", 6, "unknown loader 'gone'")),
        ("prompt: '{{ gone }}'", [ROW], ("plugins", 6, "the template reads 'gone'")),
        ("test_split: gone", [ROW], ("dataset", 5, "gone")),
        ("filter: {level: hard}", [ROW], ("dataset", 6, "no sample is left")),
        ("", [{"id": "a"}], ("rows", 1, 'rows/test.jsonl: row 1: "input" is missing')),
        ("", [ROW, ROW], ("ids", 1, "the id 'a' stands more than once")),
        ("input_modalities: [image]", [ROW], ("modalities", 6, "sample 'a' holds text")),
        ("output_modalities: per_sample", [ROW], ("modalities", 6, "output_modalities is per_sample")),
        (
            "output_modalities: per_sample",
            [{**ROW, "output_modalities": [["text"]]}],
            ("modalities", 6, "output_modalities is per_sample"),
        ),
        ("", [{"id": "a", "input": "q"}], ("references", 2, "no reference, which 'exact_match' needs")),
        ("breakdown: levle", [ROW], ("labels", 6, "no sample has the label 'levle'; did you mean \"level\"")),
        ("cluster_key: none", [ROW], ("labels", 6, "no sample has the label 'none'")),
        ("prompt_fields: gone\nprompt: '{{ gone }}'", [ROW], ("prompt", 7, "lacks what the prompt reads")),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_a_fault_is_found_by_its_check_at_its_line(
    tmp_path: Path, more: str, rows: list[dict[str, Any]], expected: tuple[str, int, str]
) -> None:
    name, line, message = expected
    found = findings(tmp_path, more, *rows)[0]
    assert found.check == name
    assert (found.severity, found.file, found.line) == ("error", tmp_path / "t.yaml", line)
    assert message in found.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"fLaC sound", "is announced as image, its content is audio/flac"),
        (b"", "is empty"),
        (b"\x00\x01\x02", "is of no known type"),
    ],
    ids=["other kind", "empty", "unknown"],
)
def test_a_medium_that_is_not_what_it_is_announced_as_is_found(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/p.png").write_bytes(content)
    found = findings(tmp_path, "", {**ROW, "input": "see <<image1>>", "media": {"image1": "p.png"}})
    assert [(one.check, message in one.message) for one in found] == [("media", True)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"rubrik": ["met?"]},
            "row 1, sample 'a': no answer to it can be scored by 'rubric_judge': "
            'the row has no label \'rubric\' for its rubric; it has "rubrik": did you mean "rubric"?',
        ),
        ({"rubric": [{"criterion": "met?", "weight": 0}]}, "criterion 1 has the weight 0"),
    ],
    ids=["misspelt", "malformed"],
)
def test_a_rubric_that_cannot_be_used_is_found(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    text = task("t", "dataset_path: rows").replace("exact_match", "rubric_judge")
    write_files(tmp_path, {"t.yaml": text})
    write_rows(tmp_path / "rows", {**ROW, **row})
    found = [*check(["t"], [tmp_path], roles=frozenset(("judge",)))]

    assert [(one.check, one.severity, one.line) for one in found] == [("rubrics", "error", 2)]
    assert said in found[0].message


def test_a_medium_that_is_not_there_is_found(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "", {**ROW, "input": "see <<image1>>", "media": {"image1": "gone.png"}})
    assert (found.check in ("media", "rows"), "gone.png" in found.message) == (True, True)


def test_a_data_set_of_the_hub_without_a_commit_is_a_warning(tmp_path: Path) -> None:
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: org/name\nrevision: main")})
    first = next(check(["t"], [tmp_path]))  # found before anything is fetched
    assert (first.check, first.severity, first.line) == ("revision", "warning", 6)


def test_data_given_with_data_dir_need_no_commit(tmp_path: Path) -> None:
    write_rows(tmp_path / "data", ROW)
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: org/name\nrevision: main")})
    assert list(check(["t"], [tmp_path], TaskOverrides(data_dir=tmp_path / "data"))) == []


METRIC = """
from mmeval.metric.contract import metric

@metric(range=(0, 1), version="1", source="test", needs=["no_such_module:audio"])
def needy(trial):
    return 1.0
"""


def test_a_metric_that_cannot_be_computed_here_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "task: t\ndataset_path: rows\nmetric_list:\n  - metric: needy\nmetadata: {version: 1}\n"
    files = {"needy_metric.py": METRIC, "t.yaml": text}
    more = "[mmeval.metrics]\nneedy = pkg_validate_metric.needy_metric:needy\n"
    with installed(tmp_path, monkeypatch, {"validate_metric": files}, more=more) as folders:
        write_rows(folders["validate_metric"] / "rows", ROW)
        (found,) = check(["validate_metric/t"])
    assert (found.check, found.severity) == ("metrics", "warning")
    assert install_command("audio") in found.message


def test_every_fault_of_a_file_is_a_finding_of_its_own(tmp_path: Path) -> None:
    found = findings(tmp_path, "repeats: 0\nprofile: x\n")
    assert [(one.check, one.line) for one in found] == [("schema", 6), ("schema", 7)]


def test_one_broken_task_does_not_hide_the_next(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.yaml": task("a", "repeats: 0"), "b.yaml": task("b", "loader: gone")})
    assert [one.check for one in check(["a,b"], [tmp_path])] == ["schema", "plugins"]


def test_a_fault_that_repeats_is_told_a_few_times_and_counted(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": str(i), "input": "q"} for i in range(MAX_REPEATED + 4)]
    found = findings(tmp_path, "", *rows)
    assert len(found) == MAX_REPEATED + 1
    assert "4 more findings of this kind" in found[-1].message


def test_a_row_that_cannot_be_asked_is_one_of_the_samples_and_nothing_else_is_said_of_it(tmp_path: Path) -> None:
    torn = {"id": "b", "input": "<<image1>>", "media": {"image1": "gone.png"}, "level": "easy"}
    more, tally = "breakdown: [level, field]\nfilter: {level: easy}", CheckTally()

    found = findings(tmp_path, more, {**ROW, "field": "law"}, torn, {"input": "q", "level": "hard"}, tally=tally)

    assert [one.message.partition("test.jsonl: ")[2] for one in found] == ['row 2: media image1 "gone.png" is missing']
    assert (tally.samples, tally.sound) == (2, [])


def test_only_as_many_rows_are_read_as_asked(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [ROW, {"id": "b", "input": "q"}]
    assert findings(tmp_path, "", *rows, rows=1) == []
    assert [one.check for one in findings(tmp_path, "", *rows, rows=2)] == ["references"]


def test_a_group_that_aggregates_an_unknown_number_is_found(tmp_path: Path) -> None:
    write_files(tmp_path, {"g.yaml": "group: g\ntask: t\naggregate_metric_list:\n  - metric: exact_mach\n"})
    findings(tmp_path)
    (found,) = check(["g"], [tmp_path])
    assert (found.check, found.line, found.file) == ("plugins", 4, tmp_path / "g.yaml")


def test_a_task_package_that_cannot_be_imported_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"__init__.py": "raise RuntimeError('broken on import')", "t.yaml": task("vt", "dataset_path: rows")}
    with installed(tmp_path, monkeypatch, {"validate_me": files}) as folders:
        write_rows(folders["validate_me"] / "rows", ROW)
        (found,) = check(["vt"])
    assert (found.check, "broken on import" in found.message) == ("package", True)


def test_a_name_that_selects_nothing_is_an_error_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown task"):
        list(check(["unknown_task"], [tmp_path]))


def test_a_finding_reads_as_file_line_severity_message_check() -> None:
    assert str(TaskFinding(Path("t.yaml"), 3, "error", "is odd", "schema")) == "t.yaml:3: error: is odd [schema]"


def test_every_check_has_its_own_short_name_and_one_line() -> None:
    assert len({name for name, _ in CHECKS}) == len(CHECKS)
    assert all(name.isidentifier() and "\n" not in description for name, description in CHECKS)


def test_a_reference_that_holds_more_than_is_asked_for_is_a_warning(tmp_path: Path) -> None:
    rows = [{"id": str(i), "input": "q", "reference": "a <<image1>>"} for i in range(MAX_REPEATED + 1)]

    found = findings(tmp_path, "output_modalities: [text]", *rows)

    assert {(one.check, one.severity, one.line) for one in found[:-1]} == {("answers", "warning", 6)}
    assert found[0].message.endswith("a reference of sample '0' holds image, which output_modalities leaves out")
    assert (found[-1].severity, found[-1].message) == (
        "warning",
        "task 't': 1 more findings of this kind (--verbosity DEBUG names them)",
    )


def test_a_filter_on_an_unknown_label_is_reported(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "filter: {levle: easy}")

    assert "no sample is left; no sample has the label 'levle'; did you mean \"level\"?" in found.message


def test_a_misspelt_folder_is_told_once_with_its_place(tmp_path: Path) -> None:
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rwos")})

    (found,) = check(["t"], [tmp_path])

    assert str(found).startswith(f"{tmp_path / 't.yaml'}:5: error: task 't': dataset_path: there is no folder 'rwos'")


def test_a_damaged_picture_is_named_with_its_row_file_and_reason(tmp_path: Path) -> None:
    write_files(tmp_path, {"rows/.keep": ""})
    (tmp_path / "rows/p.png").write_bytes(b"\x89PNG\r\n\x1a\n picture")

    (found,) = findings(tmp_path, "", {**ROW, "input": "see <<image1>>", "media": {"image1": "p.png"}})

    assert (found.check, found.severity) == ("decoding", "error")
    assert "row 1, sample 'a', image1: " in found.message
    assert "p.png: it cannot be decoded" in found.message


def test_of_many_damaged_media_some_are_told_and_the_others_counted(tmp_path: Path) -> None:
    write_files(tmp_path, {"rows/.keep": ""})
    rows = []
    for number in range(MAX_DAMAGED + 2):
        (tmp_path / f"rows/{number}.wav").write_bytes(b"RIFF\x04\x00\x00\x00WAVE")
        rows.append({"id": str(number), "input": "<<audio1>>", "reference": "r", "media": {"audio1": f"{number}.wav"}})

    found = findings(tmp_path, "", *rows)

    assert {one.check for one in found} == {"decoding"}
    assert len(found) == MAX_DAMAGED + 1
    assert found[-1].message.endswith("2 more findings of this kind (--verbosity DEBUG names them)")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"refrence": "r"}, 'the key "refrence" is taken as a label; did you mean "reference"?'),
        ({"refernces": ["r"]}, 'did you mean "references"?'),
        ({"reference": "r", "inputs": "q"}, 'did you mean "input"?'),
        ({"reference": "r", "medai": {"image1": "p.png"}}, 'did you mean "media"?'),
        ({"reference": "r", "metadatas": {"level": 1}}, 'labels stand beside "input"'),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_a_label_that_was_most_likely_meant_as_a_key_is_a_warning_with_its_row(
    tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    found = findings(tmp_path, "", {"id": "0", "input": "q", "reference": "r"}, {"id": "a", "input": "q", **row})

    (doubt,) = (one for one in found if one.check == "keys")
    assert doubt.severity == "warning"
    assert "row 2: " in doubt.message
    assert said in doubt.message


def test_a_label_is_no_misspelling_where_the_row_has_the_key(tmp_path: Path) -> None:
    assert findings(tmp_path, "", {"input": "q", "reference": "r", "preference": "x", "median": 2}) == []


def test_a_row_without_an_input_says_what_it_calls_so(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "", {"inputs": "q", "reference": "r"})

    assert found.message.endswith('"input" is missing; is it what the row calls "inputs"?')


def test_a_tag_in_an_input_without_a_medium_is_a_warning_with_its_row(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "", {**ROW, "input": "see <<image9>>"})

    assert (found.check, found.severity) == ("tags", "warning")
    assert "row 1, sample 'a': the tag <<image9>> in the input has no medium" in found.message


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({"input": "hear <<audio1: a dog barks>>"}, id="its caption follows"),
        pytest.param({"input": "turn <<3d2>>", "bundled_tags": ["3d2"]}, id="its file belongs to another tag"),
    ],
)
def test_a_tag_that_lacks_its_medium_on_purpose_is_no_mistake(tmp_path: Path, row: dict[str, Any]) -> None:
    assert findings(tmp_path, "", {**ROW, **row}) == []


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_document_may_be_the_picture_of_its_page(tmp_path: Path, form: str) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.bin").write_bytes(tiny_media.picture(form))
    row = {**ROW, "input": "read <<document1>>", "media": {"document1": "a.bin"}}

    assert findings(tmp_path, "", row) == []


def test_a_row_without_a_label_of_the_slices_is_a_warning_with_its_row(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [ROW, {"id": "b", "input": "q", "reference": "r", "levle": "hard"}]

    (found,) = findings(tmp_path, "breakdown: [level]", *rows)

    assert (found.check, found.severity, found.line) == ("labels", "warning", 6)
    place = f"{tmp_path / 'rows/test.jsonl'}: row 2, sample 'b'"
    said = f'1 of 2 samples lacks the label \'level\': {place}; it has "levle": did you mean "level"?'
    assert found.message == f"task 't': {said}"


@pytest.mark.parametrize("key", ["breakdown: [level]", "cluster_key: level"])
def test_rows_without_a_label_that_others_have_are_counted_after_the_first(tmp_path: Path, key: str) -> None:
    rows = [{"id": str(i), "input": "q", "reference": "r"} for i in range(MAX_REPEATED + 2)]

    (found,) = findings(tmp_path, key, ROW, *rows)

    assert "7 of 8 samples lack the label 'level': " in found.message
    assert found.message.endswith("row 6, sample '4'; and 2 more")


def test_a_misspelt_output_modalities_of_a_row_is_told_with_its_place_and_the_right_name(tmp_path: Path) -> None:
    row = {**ROW, "output_modalitys": ["text"]}

    (found,) = (one for one in findings(tmp_path, "output_modalities: per_sample", row) if one.check == "modalities")

    assert found.message.startswith(f"task 't': {tmp_path / 'rows/test.jsonl'}: row 1, sample 'a': output_modalities")
    assert found.message.count("task 't'") == 1
    assert found.message.endswith('; it has "output_modalitys": did you mean "output_modalities"?')


def test_a_file_that_cannot_be_read_is_told_once_by_whatever_names_it_is_met(tmp_path: Path) -> None:
    files = {"g.yaml": "group: g\ntask: [t, u]\n", "u.yaml": task("u", "dataset_path: rows\nbrakdown: [level]")}
    write_files(tmp_path, files)
    findings(tmp_path)

    found = [*check(["g", "t", "u"], [tmp_path])]

    assert [(one.file, one.check) for one in found] == [(tmp_path / "u.yaml", "schema")]


def test_data_of_the_hub_that_are_not_here_are_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.dataset.hub.snapshot", lambda *_words, **_more: pytest.fail("fetched"))
    write_files(tmp_path, {"t.yaml": task("t", f"dataset_path: org/absent\nrevision: {'a' * 40}")})
    tally = CheckTally()

    (found,) = check(["t"], [tmp_path], tally=tally)

    assert (found.check, found.severity) == ("dataset", "warning")
    assert found.message.endswith("is not on this machine; fetch it: mmeval prepare t")
    assert tally.sound == [], "nothing can be measured on it"


def test_a_folder_here_is_taken_before_what_is_installed_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = {"t.yaml": task("both_words", "dataset_path: rows")}
    with installed(tmp_path, monkeypatch, {"two_places": files}) as folders:
        write_rows(folders["two_places"] / "rows", ROW)
        write_files(tmp_path / "here", {"both_words/t.yaml": task("both_words", "loader: gone")})
        monkeypatch.chdir(tmp_path / "here")
        with caplog.at_level("INFO", "mmeval"):
            found = list(check(["both_words"]))
        monkeypatch.chdir(folders["two_places"].parent)
        installed_ones = list(check(["both_words"]))

    assert [one.check for one in found] == ["plugins"]
    assert "both_words: the folder is checked" in caplog.text
    assert "two_places/both_words" in caplog.text
    assert installed_ones == []
