from pathlib import Path
from typing import Any

import pytest

from mmeval.authoring.finding import TaskFinding
from mmeval.authoring.sample_checks import MAX_DAMAGED, MAX_REPEATED, PROMPTED_ROWS
from mmeval.authoring.validate import CheckTally, check
from mmeval.errors import UnknownNameError
from mmeval.installation import install_command
from mmeval.task.task import TaskOverrides
from tests.support import tiny_media
from tests.support.task_folder import installed, task, write_files, write_rows

Row = dict[str, Any]
ROW: Row = {"id": "a", "input": "q", "references": ["r"], "level": "easy"}
PLAIN: Row = {"id": "0", "input": "q", "reference": "r"}
PICTURE: Row = {**ROW, "input": "see <<image1>>", "media": {"image1": "p.png"}}
MEDIA = {
    "p.png": tiny_media.picture(),
    "page.bin": tiny_media.picture("JPEG"),
    "torn.png": b"\x89PNG\r\n\x1a\n picture",
    "sound.png": b"fLaC sound",
    "empty.png": b"",
    "odd.png": b"\x00\x01\x02",
    **{f"{number}.wav": b"RIFF\x04\x00\x00\x00WAVE" for number in range(MAX_DAMAGED + 2)},
}
SOUNDS = [
    {**PLAIN, "id": f"{i}", "input": "<<audio1>>", "media": {"audio1": f"{i}.wav"}} for i in range(MAX_DAMAGED + 2)
]


def named(**more: Any) -> Row:
    return {**PLAIN, "id": "a", **more}


def findings(folder: Path, more: str = "", *rows: Row, **options: Any) -> list[TaskFinding]:
    """The findings of one task with these lines (the file's own are 1 to 5) and rows."""
    write_files(folder, {"t.yaml": task("t", f"dataset_path: rows\n{more}")})
    write_rows(folder / "rows", *(rows or (ROW,)))
    for name, content in MEDIA.items():
        (folder / "rows" / name).write_bytes(content)
    return list(check(["t"], [folder], **options))


@pytest.mark.parametrize(
    ("more", "row"),
    [
        (
            "prompt: 'Look: {{ input }}'\ninput_modalities: [text, image]\nbreakdown: level\nfilter: {level: easy}",
            PICTURE,
        ),
        ("", {**ROW, "input": "read <<document1>>", "media": {"document1": "p.png"}}),
        ("", {**ROW, "input": "read <<document1>>", "media": {"document1": "page.bin"}}),
        ("", {**ROW, "input": "hear <<audio1: a dog barks>>"}),
        ("", {**ROW, "input": "turn <<3d2>>", "bundled_tags": ["3d2"]}),
        ("", {"input": "q", "reference": "r", "preference": "x", "median": 2}),
        ("output_modalities: [text]", {**ROW, "references": ["a <<code1>>"], "media": {}}),
    ],
    ids=["all keys", "a page as PNG", "a page as JPEG", "a caption", "a texture", "labels like keys", "code is text"],
)
def test_a_sound_task_has_no_finding(tmp_path: Path, more: str, row: Row) -> None:
    assert findings(tmp_path, more, row) == []


@pytest.mark.parametrize(
    ("more", "rows", "place", "words"),
    [
        ("requires_mmeval: '>=99'", [ROW], ("requires", 6), [">=99"]),
        ("repeats: 0", [ROW], ("schema", 6), ["repeats: "]),
        ("repeats: [1", [ROW], ("schema", 7), ["YAML"]),
        ("loader: gone", [ROW], ("plugins", 6), ["'gone'"]),
        ("prompt: '{{ gone }}'", [ROW], ("plugins", 6), ["'gone'"]),
        ("test_split: gone", [ROW], ("dataset", 5), ["gone"]),
        ("filter: {level: hard}", [ROW], ("dataset", 6), ["no sample"]),
        ("filter: {levle: easy}", [ROW], ("dataset", 6), ["'levle'", '"level"']),
        ("", [{"id": "a"}], ("rows", 1), ['rows/test.jsonl: row 1: "input"']),
        ("", [{"inputs": "q", "reference": "r"}], ("rows", 1), ['"inputs"']),
        ("", [{**PICTURE, "media": {"image1": "gone.png"}}], ("rows", 1), ["gone.png"]),
        ("", [ROW, ROW], ("ids", 1), ["'a'"]),
        ("input_modalities: [image]", [ROW], ("modalities", 6), ["'a' holds text"]),
        ("output_modalities: per_sample", [ROW], ("modalities", 6), ["row 1, sample 'a': output_modalities"]),
        ("output_modalities: per_sample", [{**ROW, "output_modalities": [["text"]]}], ("modalities", 6), ["row 1"]),
        (
            "output_modalities: per_sample",
            [{**ROW, "output_modalitys": ["text"]}],
            ("modalities", 6),
            ["task 't': ", "test.jsonl: row 1, sample 'a'", '"output_modalitys": did', '"output_modalities"?'],
        ),
        ("", [{"id": "a", "input": "q"}], ("references", 2), ["'exact_match'"]),
        ("breakdown: levle", [ROW], ("labels", 6), ["'levle'", '"level"']),
        ("cluster_key: none", [ROW], ("labels", 6), ["'none'"]),
        ("prompt_fields: gone\nprompt: '{{ gone }}'", [ROW], ("prompt", 7), ["gone"]),
        ("", [{**PICTURE, "media": {"image1": "sound.png"}}], ("media", 1), ["audio/flac"]),
        ("", [{**PICTURE, "media": {"image1": "empty.png"}}], ("media", 1), ["is empty"]),
        ("", [{**PICTURE, "media": {"image1": "odd.png"}}], ("media", 1), ["no known type"]),
        (
            "",
            [{**PICTURE, "media": {"image1": "torn.png"}}],
            ("decoding", 1),
            ["row 1, sample 'a', image1: ", "torn.png: "],
        ),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else str(value)[:60],
)
def test_a_fault_is_an_error(
    tmp_path: Path, more: str, rows: list[Row], place: tuple[str, int], words: list[str]
) -> None:
    found = next(one for one in findings(tmp_path, more, *rows) if one.check == place[0])
    assert (found.check, found.line, found.severity, found.file) == (*place, "error", tmp_path / "t.yaml")
    assert [word for word in words if word not in found.message] == []
    assert found.message.count("task 't'") <= 1


@pytest.mark.parametrize(
    ("more", "rows", "place", "words"),
    [
        (
            "",
            [PLAIN, {"id": "a", "input": "q", "refrence": "r"}],
            ("keys", 1),
            ["row 2: ", '"refrence"', '"reference"?'],
        ),
        ("", [PLAIN, {"id": "a", "input": "q", "refernces": ["r"]}], ("keys", 1), ['"references"?']),
        ("", [PLAIN, named(inputs="q")], ("keys", 1), ['"input"?']),
        ("", [PLAIN, named(medai={"image1": "p.png"})], ("keys", 1), ['"media"?']),
        ("", [PLAIN, named(metadatas={"level": 1})], ("keys", 1), ['beside "input"']),
        ("", [{**ROW, "input": "see <<image9>>"}], ("tags", 1), ["row 1, sample 'a'", "<<image9>>"]),
        ("output_modalities: [text]", [named(reference="a <<image1>>")], ("answers", 6), ["'a' holds image"]),
        (
            "breakdown: [level]",
            [ROW, named(id="b", levle="x")],
            ("labels", 6),
            ["1 of 2", "row 2, sample 'b'", '"level"?'],
        ),
        ("cluster_key: level", [ROW, named(id="b", level=None)], ("labels", 6), ["1 of 2", "row 2, sample 'b'"]),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else str(value)[:60],
)
def test_a_likely_mistake_is_a_warning(
    tmp_path: Path, more: str, rows: list[Row], place: tuple[str, int], words: list[str]
) -> None:
    (found,) = (one for one in findings(tmp_path, more, *rows) if one.severity == "warning")
    assert (found.check, found.line) == place
    assert [word for word in words if word not in found.message] == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"rubrik": ["met?"]}, ["row 1, sample 'a'", "'rubric_judge'", '"rubric"?']),
        ({"rubric": [{"criterion": "met?", "weight": 0}]}, ["criterion 1", "weight 0"]),
    ],
    ids=["misspelt", "malformed"],
)
def test_a_rubric_that_cannot_be_used_is_found(tmp_path: Path, row: Row, words: list[str]) -> None:
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rows").replace("exact_match", "rubric_judge")})
    write_rows(tmp_path / "rows", {**ROW, **row})
    (found,) = check(["t"], [tmp_path], roles=frozenset(("judge",)))
    assert (found.check, found.severity, found.line) == ("rubrics", "error", 2)
    assert [word for word in words if word not in found.message] == []


@pytest.mark.parametrize(
    ("more", "rows", "name", "most", "others"),
    [
        ("", [{"id": f"{i}", "input": "q"} for i in range(MAX_REPEATED + 4)], "references", MAX_REPEATED, "4 more"),
        ("", SOUNDS, "decoding", MAX_DAMAGED, "2 more"),
        (
            "output_modalities: [text]",
            [named(id=f"{i}", reference="a <<image1>>") for i in range(MAX_REPEATED + 1)],
            *("answers", MAX_REPEATED, "1 more"),
        ),
    ],
    ids=["references", "decoding", "answers"],
)
def test_a_fault_that_repeats_is_reported_a_few_times_and_counted(
    tmp_path: Path, more: str, rows: list[Row], name: str, most: int, others: str
) -> None:
    found = findings(tmp_path, more, *rows)
    assert ({one.check for one in found}, len(found), len({one.severity for one in found})) == ({name}, most + 1, 1)
    assert others in found[-1].message


@pytest.mark.parametrize("key", ["breakdown: [level]", "cluster_key: level"])
def test_rows_without_a_label_that_others_have_are_counted_after_the_first(tmp_path: Path, key: str) -> None:
    (found,) = findings(tmp_path, key, ROW, *(named(id=f"{i}") for i in range(MAX_REPEATED + 2)))
    assert "7 of 8" in found.message
    assert found.message.endswith("row 6, sample '4'; and 2 more")


def test_the_prompt_is_made_of_the_first_samples_alone(tmp_path: Path) -> None:
    rows = [named(id=f"{i}") if i < PROMPTED_ROWS else {**PLAIN, "id": f"{i}"} for i in range(PROMPTED_ROWS + 2)]
    prompts = [
        one for one in findings(tmp_path, "prompt_fields: gone\nprompt: '{{ gone }}'", *rows) if one.check == "prompt"
    ]
    assert len(prompts) == PROMPTED_ROWS


@pytest.mark.parametrize(("revision", "warned"), [("main", True), ("a" * 40, False), ("a" * 39, True)])
def test_a_data_set_of_the_hub_is_not_fetched_and_needs_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str, warned: bool
) -> None:
    monkeypatch.setattr("mmeval.dataset.hub.snapshot", lambda *_words, **_more: pytest.fail("fetched"))
    write_files(tmp_path, {"t.yaml": task("t", f"dataset_path: org/absent\nrevision: {revision}")})
    tally = CheckTally()
    *pinned, absent = check(["t"], [tmp_path], tally=tally)
    assert [(one.check, one.severity, one.line) for one in pinned] == [("revision", "warning", 6)] * warned
    assert (absent.check, absent.severity, absent.message.endswith("mmeval prepare t")) == ("dataset", "warning", True)
    assert tally.sound == [], "nothing can be measured on it"


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
    more = "[mmeval.metrics]\nneedy = pkg_validate_metric.needy_metric:needy\n"
    packages = {"validate_metric": {"needy_metric.py": METRIC, "t.yaml": text}}
    with installed(tmp_path, monkeypatch, packages, more=more) as folders:
        write_rows(folders["validate_metric"] / "rows", ROW)
        (found,) = check(["validate_metric/t"])
    assert (found.check, found.severity) == ("metrics", "warning")
    assert install_command("audio") in found.message


def test_a_task_package_that_cannot_be_imported_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"__init__.py": "raise RuntimeError('broken on import')", "t.yaml": task("vt", "dataset_path: rows")}
    with installed(tmp_path, monkeypatch, {"validate_me": files}) as folders:
        write_rows(folders["validate_me"] / "rows", ROW)
        (found,) = check(["vt"])
    assert (found.check, "broken on import" in found.message) == ("package", True)


def test_every_fault_of_a_file_is_a_finding_of_its_own_and_does_not_hide_the_next_file(tmp_path: Path) -> None:
    assert [(one.check, one.line) for one in findings(tmp_path, "repeats: 0\nprofile: x\n")] == [
        ("schema", 6),
        ("schema", 7),
    ]
    write_files(tmp_path, {"a.yaml": task("a", "repeats: 0"), "b.yaml": task("b", "loader: gone")})
    assert [one.check for one in check(["a,b"], [tmp_path])] == ["schema", "plugins"]


def test_a_row_that_cannot_be_asked_is_one_of_the_samples_without_other_findings(tmp_path: Path) -> None:
    torn = {"id": "b", "input": "<<image1>>", "media": {"image1": "gone.png"}, "level": "easy"}
    more, tally = "breakdown: [level, field]\nfilter: {level: easy}", CheckTally()
    rows = ({**ROW, "field": "law"}, torn, {"input": "q", "level": "hard"})
    assert [(one.check, "row 2" in one.message) for one in findings(tmp_path, more, *rows, tally=tally)] == [
        ("rows", True)
    ]
    assert (tally.tasks, tally.samples, tally.media, tally.sound) == (1, 2, 0, [])


def test_media_of_files_are_counted_once(tmp_path: Path) -> None:
    tally = CheckTally()
    assert findings(tmp_path, "", PICTURE, {**PICTURE, "id": "b"}, tally=tally) == []
    assert (tally.samples, tally.media, [sound.samples for sound in tally.sound]) == (2, 1, [2])


def test_only_as_many_rows_are_read_as_asked(tmp_path: Path) -> None:
    rows: list[Row] = [ROW, {"id": "b", "input": "q"}]
    assert findings(tmp_path, "breakdown: gone", *rows, rows=1) == [], "what some later row may have is not missed"
    assert [one.check for one in findings(tmp_path, "", *rows, rows=2)] == ["references"]


def test_a_group_that_aggregates_an_unknown_number_is_found(tmp_path: Path) -> None:
    write_files(tmp_path, {"g.yaml": "group: g\ntask: t\naggregate_metric_list:\n  - metric: exact_mach\n"})
    findings(tmp_path)
    (found,) = check(["g"], [tmp_path])
    assert (found.check, found.line, found.file) == ("plugins", 4, tmp_path / "g.yaml")


def test_a_name_that_selects_nothing_is_an_error_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError) as caught:
        list(check(["unknown_task"], [tmp_path]))
    assert caught.value.name == "unknown_task"


def test_a_finding_reads_as_file_line_severity_message_check() -> None:
    assert str(TaskFinding(Path("t.yaml"), 3, "error", "odd", "schema")) == "t.yaml:3: error: odd [schema]"
    assert str(TaskFinding(Path("t.yaml"), 0, "error", "odd", "schema")) == "t.yaml: error: odd [schema]"


def test_a_misspelt_folder_is_reported_once_with_its_place(tmp_path: Path) -> None:
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rwos")})
    (found,) = check(["t"], [tmp_path])
    assert (found.check, found.line, "'rwos'" in found.message) == ("dataset", 5, True)
    assert "t.yaml" not in found.message


def test_a_file_that_cannot_be_read_is_reported_once_by_whatever_names_it_is_met(tmp_path: Path) -> None:
    files = {"g.yaml": "group: g\ntask: [t, u]\n", "u.yaml": task("u", "dataset_path: rows\nbrakdown: [level]")}
    write_files(tmp_path, files)
    findings(tmp_path)
    assert [(one.file, one.check) for one in check(["g", "t", "u"], [tmp_path])] == [(tmp_path / "u.yaml", "schema")]


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
    assert ([one.check for one in found], installed_ones) == (["plugins"], [])
    (record,) = caplog.records
    assert all(name in record.getMessage() for name in ("both_words: ", "two_places/both_words"))
