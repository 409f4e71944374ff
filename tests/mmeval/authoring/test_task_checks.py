import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.authoring.sample_checks import PROMPTED_ROWS
from mmeval.authoring.task_checks import CheckTally, check
from mmeval.backend.capabilities import Capabilities
from mmeval.findings.finding import Finding, Subject
from mmeval.model_backends.empty import EmptyBackend
from mmeval.run.options import BackendSpec
from mmeval.task.task import TaskOverrides
from tests.support import tiny_media
from tests.support.task_folder import installed, task, write_files, write_rows

Row = dict[str, Any]
ROW: Row = {"id": "a", "input": "q", "references": ["r"], "level": "easy"}
CODE = base64.b64encode(tiny_media.picture(size=(20, 20))).decode()
PLAIN: Row = {"id": "0", "input": "q", "reference": "r"}
PICTURE: Row = {**ROW, "input": "see <<image1>>", "media": {"image1": "p.png"}}
MEDIA = {
    "p.png": tiny_media.picture(),
    "page.bin": tiny_media.picture("JPEG"),
}


def named(**more: Any) -> Row:
    return {**PLAIN, "id": "a", **more}


def findings(folder: Path, more: str = "", *rows: Row, **options: Any) -> list[Finding]:
    """The findings of one task with these lines (the file's own are 1 to 5) and
    rows."""
    write_files(folder, {"t.yaml": task("t", f"dataset_path: rows\n{more}")})
    write_rows(folder / "rows", *(rows or (ROW,)))
    for name, content in MEDIA.items():
        (folder / "rows" / name).write_bytes(content)
    return list(check(["t"], [folder], **options))


@pytest.mark.parametrize(
    ("more", "row"),
    [
        (
            "prompt: 'Look: {{ input }}'\ninput_modalities: [text, image]\nbreakdown: "
            "level\nfilter: {level: easy}",
            PICTURE,
        ),
        ("", {**ROW, "input": "read <<document1>>", "media": {"document1": "p.png"}}),
        ("", {**ROW, "input": "turn <<3d2>>", "bundled_tags": ["3d2"]}),
        ("", {"input": "q", "reference": "r", "preference": "x", "median": 2}),
        (
            "output_modalities: [text]",
            {**ROW, "references": ["a <<code1>>"], "media": {}},
        ),
    ],
    ids=["all keys", "a page as PNG", "a texture", "labels like keys", "code is text"],
)
def test_a_sound_task_has_no_finding(tmp_path: Path, more: str, row: Row) -> None:
    assert findings(tmp_path, more, row) == []


def test_only_the_samples_that_are_asked_hold_the_kinds_of_the_task(
    tmp_path: Path,
) -> None:
    keys = "input_modalities: [text]\nfilter: {level: hard}"
    assert findings(tmp_path, keys, PICTURE, {**PLAIN, "level": "hard"}) == []
    assert len(findings(tmp_path, keys, {**PICTURE, "level": "hard"})) == 1


def test_the_prompt_is_made_of_the_first_samples_alone(tmp_path: Path) -> None:
    rows = [named(id=f"{i}") for i in range(PROMPTED_ROWS + 2)]
    found = findings(tmp_path, "prompt_fields: gone\nprompt: '{{ gone }}'", *rows)
    prompts = [one for one in found if "prompt" in one.cause]
    assert len(prompts) == PROMPTED_ROWS


def test_a_row_that_cannot_be_asked_has_no_other_findings_and_as_many_rows_are_read_as_asked(
    tmp_path: Path,
) -> None:
    torn = {
        "id": "b",
        "input": "<<image1>>",
        "media": {"image1": "gone.png"},
        "level": "easy",
    }
    more, tally = "breakdown: [level, field]\nfilter: {level: easy}", CheckTally()
    rows = ({**ROW, "field": "law"}, torn, {"input": "q", "level": "hard"})
    found = findings(tmp_path, more, *rows, tally=tally)
    assert [(one.kind, one.subject.sample) for one in found] == [("bad_sample", "b")]
    assert (tally.tasks, tally.sound_tasks) == (["t"], [])
    bare = {"id": "b", "input": "q"}
    assert findings(tmp_path, "breakdown: gone", ROW, bare, rows=1) == [], (
        "what some later row may have is not missed"
    )
    (lacks,) = findings(tmp_path, "", ROW, bare, rows=2)
    assert "needs a reference" in lacks.cause


def test_rows_without_a_label_that_others_have_are_counted(tmp_path: Path) -> None:
    rows = [named(id="0", level=None), named(id="1"), named(id="2")]
    for key in ("breakdown: [level]", "cluster_key: level"):
        (found,) = findings(tmp_path, key, ROW, *rows)
        assert (found.kind, found.count, found.of) == ("bad_sample", 3, 4)
        assert (found.severity, found.subject.sample) == ("warning", "0")


def test_a_data_set_of_the_hub_needs_a_commit_and_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "mmeval.dataset.hub.snapshot", lambda *_words, **_more: pytest.fail("fetched")
    )
    for revision, pins in (("main", 1), ("a" * 40, 0), ("a" * 39, 1)):
        write_files(
            tmp_path,
            {"t.yaml": task("t", f"dataset_path: org/absent\nrevision: {revision}")},
        )
        tally = CheckTally()
        *pinned, absent = check(["t"], [tmp_path], tally=tally)
        assert [(one.kind, one.severity, one.subject.line) for one in pinned] == [
            ("task_file", "warning", 6)
        ] * pins
        assert (absent.kind, absent.remedy, tally.sound_tasks) == (
            "missing_data",
            "mmeval prepare {TASK}",
            [],
        )
        assert absent.subject == Subject("t", name="org/absent")
    write_rows(tmp_path / "data", ROW)
    assert (
        list(check(["t"], [tmp_path], TaskOverrides(data_dir=tmp_path / "data"))) == []
    )


def test_a_task_package_that_cannot_be_imported_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "__init__.py": "raise RuntimeError('broken on import')",
        "t.yaml": task("vt", "dataset_path: rows"),
    }
    with installed(tmp_path, monkeypatch, {"validate_me": files}) as folders:
        write_rows(folders["validate_me"] / "rows", ROW)
        (found,) = check(["vt"])
    assert (found.kind, "broken on import" in found.cause) == ("plugin", True)


def test_every_fault_of_a_file_or_group_is_reported_once_and_does_not_hide_the_next_file(
    tmp_path: Path,
) -> None:
    lines = [
        (one.kind, one.subject.line)
        for one in findings(tmp_path, "repeats: 0\nprofile: x\n")
    ]
    assert lines == [("task_file", 6), ("task_file", 7)]
    number = "aggregate_metric_list:\n  - metric: exact_mach\n"
    write_files(
        tmp_path,
        {
            "g.yaml": "group: g\ntask: [t, u]\n",
            "h.yaml": f"group: h\ntask: t\n{number}",
        },
    )
    write_files(
        tmp_path,
        {"u.yaml": task("u", "repeats: 0"), "v.yaml": task("v", "dataset_path: rwos")},
    )
    findings(tmp_path)
    found = {}
    for name in ("g,t,u", "h"):
        places = dict.fromkeys(one.subject for one in check([name], [tmp_path]))
        found[name] = [(Path(one.file).name, one.line) for one in places]
    assert found == {"g,t,u": [("u.yaml", 5)], "h": [("h.yaml", 4)]}
    (misspelt,) = check(["v"], [tmp_path])
    assert (Path(misspelt.subject.file).name, "'rwos'" in misspelt.cause) == (
        "v.yaml",
        True,
    )


def test_a_folder_here_is_taken_before_what_is_installed_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = {"t.yaml": task("both_words", "dataset_path: rows")}
    with installed(tmp_path, monkeypatch, {"two_places": files}) as folders:
        write_rows(folders["two_places"] / "rows", ROW)
        write_files(
            tmp_path / "here", {"both_words/t.yaml": task("both_words", "loader: gone")}
        )
        monkeypatch.chdir(tmp_path / "here")
        with caplog.at_level("INFO", "mmeval"):
            found = list(check(["both_words"]))
        monkeypatch.chdir(folders["two_places"].parent)
        installed_ones = list(check(["both_words"]))
    assert ([one.kind for one in found], installed_ones) == (["task_file"], [])
    (record,) = caplog.records
    assert "both_words: " in record.getMessage()
    assert "two_places/both_words" in record.getMessage()


def test_parameters_of_a_misspelt_role_are_warned_of_with_their_line(
    tmp_path: Path,
) -> None:
    metrics = (
        "[{metric: rubric_judge, criteria: level}, {metric: semantic_correctness}]"
    )
    roles = "{juge: {top_k: 1}, other: {top_k: 1}, captioner.audio: {top_k: 1}}"
    lines = f"metric_list: {metrics}\nroles: {roles}\n"
    write_files(
        tmp_path,
        {"t.yaml": f"task: t\nmetadata: {{version: 1}}\ndataset_path: rows\n{lines}"},
    )
    write_rows(tmp_path / "rows", ROW)
    found = [
        f
        for f in check(["t"], [tmp_path], roles=frozenset({"judge"}))
        if "uses the role" in f.cause
    ]
    assert [(f.severity, f.subject.line, '"judge"' in f.cause) for f in found] == [
        ("warning", 5, True)
    ]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"options": "['oak', 'ash']"}, "literal"),
        ({"options": '["oak", "ash"]'}, "literal"),
        ({"reference": "['oak', 'ash']"}, "literal"),
        ({"thumbnail": CODE}, "media_columns"),
    ],
)
def test_a_text_that_nobody_means_is_named_once(
    tmp_path: Path, more: Row, word: str
) -> None:
    rows = [{**named(**more), "id": row_id} for row_id in "ab"]
    found = findings(tmp_path, "", *rows)
    (warning,) = found
    assert (warning.severity, word in warning.cause) == ("warning", True)


@pytest.mark.parametrize("text", ["[sic] an oak", '{"tree": "oak"}', "{oak}"])
def test_a_text_with_brackets_may_be_meant(tmp_path: Path, text: str) -> None:
    found = findings(tmp_path, "", named(note=text))
    assert found == []


def test_media_of_prompts_that_most_servers_do_not_take_are_counted(
    tmp_path: Path,
) -> None:
    files = {"a.flac": tiny_media.sound("flac"), "b.bmp": tiny_media.picture("BMP")}
    media = {"audio1": "a.flac", "image1": "b.bmp"}
    row = {**PLAIN, "input": "<<audio1>> <<image1>>", "media": media}
    write_files(tmp_path, {"t.yaml": task("t", "dataset_path: rows\n")})
    write_rows(tmp_path / "rows", row)
    for name, content in files.items():
        (tmp_path / "rows" / name).write_bytes(content)
    found = list(check(["t"], [tmp_path]))
    assert [(one.kind, one.severity, one.count) for one in found] == [
        ("unsupported", "note", 1)
    ] * 2
    causes = " ".join(one.cause for one in found)
    assert "audio/flac as WAV" in causes
    assert "image/bmp as PNG" in causes


class Able(EmptyBackend):
    """A backend that takes and gives some kinds alone."""

    def __init__(
        self, takes: tuple[str, ...], gives: tuple[str, ...] = ("text",)
    ) -> None:
        self.capabilities = Capabilities.of(takes, gives)


@pytest.mark.parametrize(
    ("kinds", "severities"),
    [
        ("[text]", []),
        ("[text, audio]", ["error"]),
        ("[audio]\npartial_output: true", ["error"]),
        ("[text, audio]\npartial_output: true", ["note"]),
    ],
    ids=["all", "some", "none of them", "some will do"],
)
def test_a_model_that_does_not_give_what_is_wanted_is_found(
    tmp_path: Path, kinds: str, severities: list[str]
) -> None:
    model = {"model": Able(("text",))}
    found = findings(tmp_path, f"output_modalities: {kinds}", backends=model)
    unsupported = [one for one in found if one.kind == "unsupported"]
    assert [one.severity for one in unsupported] == severities


def test_a_kind_that_no_argument_can_declare_is_found_beside_those_that_one_can(
    tmp_path: Path,
) -> None:
    model = Able(("text",))
    model.capabilities = replace(model.capabilities, declarable=frozenset({"audio"}))
    found = findings(
        tmp_path,
        "output_modalities: [text, audio, video]\npartial_output: true",
        backends={"model": model},
        model=BackendSpec("empty", {}),
    )
    kinds = [kind for one in found for kind in ("audio", "video") if kind in one.cause]
    assert kinds == ["audio", "video"]


def of_group(folder: Path, *rows: Row, data: str) -> list[tuple[str, str]]:
    """The kinds and severities of a group: a task with these data, one whose folder is
    missing, and one whose filter keeps no row."""
    filtered = "dataset_path: rows\nfilter: {level: hard}"
    files = {
        "t.yaml": task("t", f"dataset_path: {data}"),
        "u.yaml": task("u", "dataset_path: gone"),
        "v.yaml": task("v", filtered),
        "g.yaml": "group: g\ntask: [t, u, v]\nmetadata: {version: 1}\n",
    }
    write_files(folder, files)
    write_rows(folder / "rows", *rows)
    return [(one.kind, one.severity) for one in check([str(folder / "g.yaml")])]


@pytest.mark.parametrize(
    ("data", "severity", "count"),
    [("rows", "warning", 2), ("gone", "error", 3)],
    ids=["of some", "of all"],
)
def test_missing_data_of_members_of_a_group_are_an_error_where_no_other_can_run(
    data: str, severity: str, count: int, tmp_path: Path
) -> None:
    found = of_group(tmp_path, ROW, data=data)
    assert found == [("missing_data", severity)] * count


@pytest.mark.parametrize(("strict", "severity"), [(False, "warning"), (True, "error")])
def test_what_metrics_lack_is_a_warning_where_others_can_be_computed_unless_strict(
    strict: bool, severity: str
) -> None:
    bundled, roles = TaskOverrides(data="bundled"), frozenset({"captioner"})
    found = check(["unim_hard"], overrides=bundled, roles=roles, strict=strict)
    lacks = [one for one in found if one.kind.startswith("missing")]
    assert {(one.subject.role, one.remedy, one.severity) for one in lacks} == {
        ("judge", "--judge openai,model=NAME", severity),
        ("", "", severity),
    }


def test_what_the_only_metric_lacks_is_an_error(tmp_path: Path) -> None:
    text = task("t", "dataset_path: rows").replace("exact_match", "rubric_judge")
    write_files(tmp_path, {"t.yaml": text})
    write_rows(tmp_path / "rows", {**PLAIN, "rubric": ["r"]})
    (found,) = check(["t"], [tmp_path])
    assert (found.kind, found.severity) == ("missing_role", "error")


def test_a_kind_that_no_captioner_takes_has_the_flag_that_adds_one() -> None:
    deaf, hearing = Able(("text", "image")), Able(("text", "audio"))
    overrides, roles = TaskOverrides(data="bundled"), frozenset(("judge", "captioner"))
    remedies = []
    for backends in (
        {"captioner": deaf},
        {"captioner": deaf, "captioner.audio": hearing},
    ):
        found = check(
            ["unim_hard"], overrides=overrides, roles=roles, backends=backends
        )
        remedies.append({one.remedy for one in found if one.kind == "unsupported"})
    assert "--role captioner.audio=BACKEND" in " ".join(remedies[0])
    assert "captioner.audio" not in " ".join(remedies[1])


def test_a_file_of_the_wrong_kind_is_found_though_another_row_uses_it_rightly(
    tmp_path: Path,
) -> None:
    as_sound = {**PLAIN, "id": "b", "input": "<<audio1>>", "media": {"audio1": "p.png"}}
    (found,) = findings(tmp_path, "", {**PICTURE, "id": "a"}, as_sound)
    assert (found.kind, found.subject.sample) == ("bad_sample", "b")
