import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import MANIFEST, MissingAnswer
from mmeval.media import Interleaved, Part, text_part
from mmeval.records import ErrorInfo
from mmeval.tasks.unim.output.reading import UnimAnswers, read_output
from tests.support.interchange import row_sample
from tests.support.tiny_media import picture
from tests.support.unim import (
    FIRST,
    HARE,
    export_unim,
    response_to,
    tagged,
    unim_sample,
    unim_task,
)


def why_absent(
    answers: UnimAnswers, number: str = "1", repeat: int = 0, **sample: str
) -> str:
    found = answers.answer("unim", unim_sample(number, **sample), repeat)
    assert isinstance(found, MissingAnswer), found
    return found.reason


def record(
    content: str, modal: Mapping[str, Any] | None = None, number: str = "1", **more: Any
) -> dict[str, Any]:
    row = {"domain": "natural_science", "subdomain": "math", "id": number, **more}
    return {**row, "output": {"modal": dict(modal or {}), "content": content}}


def write_records(file: Path, *rows: dict[str, Any], indent: int | None = 2) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, indent=indent) + "\n" for row in rows))
    return file


def medium(file: Path, data: bytes = HARE.read()) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the answers of one domain lie."""
    return tmp_path / "mine" / "natural_science" / "math"


def test_records_one_after_the_other_are_answers_with_their_media(
    place: Path, tmp_path: Path
) -> None:
    modal = {"image1": "image/a.png", "code1": "print('}')", "text1": FIRST}
    others = (record(" ", {"text1": "words"}, number="2"), record("", number="3"))
    write_records(place / "out.jsonl", record(f"{FIRST} <code1>", modal), *others)
    medium(place / "image/a.png")
    answers = read_output(tmp_path / "mine")
    assert response_to(answers).output == tagged(
        f"{FIRST} <code1>", image1=HARE, code1="print('}')"
    )
    assert (response_to(answers, "2").text, response_to(answers, "3").output) == (
        "words",
        Interleaved(),
    )
    assert (answers.model, answers.counts, answers.remarks) == (
        "mine",
        {str(tmp_path / "mine"): 3},
        [],
    )


@pytest.mark.parametrize(
    "at", ["natural_science/math", "data/natural_science/math", ".", "here"]
)
def test_a_medium_is_found_where_either_script_searches_and_where_the_data_set_has_it(
    at: str, tmp_path: Path
) -> None:
    write_records(tmp_path / "here/out.jsonl", record(FIRST, {"image1": "image/a.png"}))
    medium(tmp_path / at / "image/a.png")
    assert response_to(read_output(tmp_path)).output == tagged(FIRST, image1=HARE)


def test_a_file_alone_and_a_list_are_read_too(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    file.write_text(json.dumps([record("a"), record("b", number="2")], indent=1))
    write_records(tmp_path / "other.jsonl", record("c", number="3"))
    answers = read_output(file)
    assert [response_to(answers, number).text for number in "12"] == ["a", "b"]
    assert why_absent(answers, "3")


@pytest.mark.parametrize("words", [{"domain": "General Area"}, {}])
def test_folder_names_fill_in_what_a_record_lacks(
    words: dict[str, str], tmp_path: Path
) -> None:
    row = {
        key: value
        for key, value in record("a", number=" 7 ").items()
        if key not in ("domain", "subdomain")
    }
    file = write_records(tmp_path / "general_area/25_food/image/out.jsonl", row | words)
    for answers in (read_output(tmp_path), read_output(file)):
        assert (
            response_to(answers, "7", domain="food", field="general_area").text == "a"
        )


def test_answers_are_matched_by_domain_id_repeat_and_question(place: Path) -> None:
    write_records(
        place / "out.jsonl", record("a", subdomain="Mathematics"), record("b", repeat=1)
    )
    answers = read_output(place)
    assert [response_to(answers, repeat=repeat).text for repeat in (0, 1)] == ["a", "b"]
    assert "'natural_science/physics/1'" in why_absent(answers, domain="physics")
    assert why_absent(answers, repeat=2)
    assert isinstance(answers.answer("unim", row_sample(0), 0), MissingAnswer)
    write_records(
        place / "out.jsonl", record("a", input={"content": "Draw a fox.", "modal": {}})
    )
    assert "'Draw a fox.'" in why_absent(read_output(place))
    assert response_to(read_output(place, any_instruction=True)).text == "a"
    for spelling in ("In <image1>?", "In  <<image1>>?\n", "In <image1: a hare>?"):
        write_records(
            place / "out.jsonl", record("a", input={"content": spelling, "modal": {}})
        )
        assert response_to(read_output(place), asked="In <image1>?").text == "a"


def test_the_first_good_answer_counts_in_all_files(place: Path) -> None:
    write_records(place / "a.jsonl", {**record("bad"), "output": 7}, record("first"))
    write_records(place / "b.jsonl", record("second"), record("third"))
    answers = read_output(place)
    assert response_to(answers).text == "first"
    assert answers.counts == {str(place): 1}
    broken, again = answers.remarks
    assert broken.startswith("records without an answer: 1 of ")
    assert again.startswith("repeated answers that are left out: 2.")
    assert "b.jsonl:1 " in again


def test_a_missing_file_leaves_its_tag_without_a_medium(place: Path) -> None:
    modal = {"image1": "image/a.png", "audio1": "audio/a b.wav"}
    # Names that no system holds are missing, too.
    odd = record(
        FIRST, {"image1": "a" * 5000, "image2": "\x00", "image3": ""}, number="2"
    )
    write_records(place / "out.jsonl", record(FIRST, modal), odd)
    answers = read_output(place)
    response = response_to(answers)
    assert response.output is not None
    found = [
        (part.kind, part.dangling)
        for part in response.output.parts
        if part.kind != "text"
    ]
    assert found == [("image", True), ("audio", True)]
    assert "'image/a.png'" in response.warnings[0]
    assert ": 5, " in answers.remarks[0] and "'image/a.png'" in answers.remarks[0]
    assert len(response_to(answers, "2").warnings) == 3


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"output": None}, "'output' must"),
        ({"output": {"content": 7}}, "'output' must"),
        ({"output": {"content": "", "modal": {"image1": 7}}}, "'output.modal' must"),
        (
            {"output": {"content": "", "modal": {"doc1": "a.pdf"}}},
            "'output.modal.doc1'",
        ),
        ({"mmeval": 7}, "'mmeval' must"),
    ],
)
def test_a_record_without_an_answer_is_named(
    row: dict[str, object], reason: str, place: Path
) -> None:
    write_records(
        place / "out.jsonl", {**record("bad"), **row}, record("good", number="2")
    )
    answers = read_output(place)
    assert response_to(answers, "2").text == "good"
    assert "out.jsonl:1: " in why_absent(answers) and reason in why_absent(answers)
    assert answers.remarks[0].startswith("records without an answer: 1 of 2.")
    assert answers.counts == {str(place): 2}


@pytest.mark.parametrize("bad", ['{"id": "9", "output": {"con', "[" * 10**5 + "7", "7"])
def test_what_is_no_record_costs_no_other_one(bad: str, place: Path) -> None:
    file = write_records(place / "out.jsonl", record("first"))
    file.write_text(
        f"{file.read_text()}{bad}\n{json.dumps(record('second', number='2'))}\n"
    )
    answers = read_output(place)
    assert [response_to(answers, number).text for number in "12"] == ["first", "second"]
    assert answers.remarks[0].startswith("records without an answer: 1 of 3.")


@pytest.mark.parametrize(
    "key",
    [{"id": None}, {"id": True}, {"domain": "x"}, {"repeat": -1}, {"repeat": True}],
)
def test_a_record_without_its_question_answers_nothing(
    key: dict[str, object], tmp_path: Path
) -> None:
    write_records(tmp_path / "out.jsonl", record("a") | key)
    answers = read_output(tmp_path)
    assert answers.remarks[0].startswith("records without an answer: 1 of 1.")
    assert why_absent(answers)


def test_what_leads_out_of_the_folder_is_a_missing_file_of_its_answer(
    place: Path, tmp_path: Path
) -> None:
    value = "image/out.png"
    medium(tmp_path / "secret.png")
    (place / "image").mkdir(parents=True)
    (place / "image/out.png").symlink_to(tmp_path / "secret.png")
    write_records(place / "out.jsonl", record(FIRST, {"image1": value}))
    answers = read_output(tmp_path / "mine")
    output = response_to(answers).output
    assert output is not None
    assert (output.raw, output.media()) == (FIRST, ())
    assert repr(value) in response_to(answers).warnings[0]
    assert answers.remarks[0].startswith("missing files of answers: 1,")
    assert answers.digest


def test_a_file_that_is_too_large_costs_its_record(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmeval.tasks.unim.output.record.MAX_MEDIUM_BYTES", 5000)
    medium(place / "image/huge.png", b"x" * 5001)
    huge = record(FIRST, {"image1": "image/huge.png"})
    write_records(place / "out.jsonl", huge, record("good", number="2"))
    answers = read_output(place)
    assert "larger" in why_absent(answers)
    assert response_to(answers, "2").text == "good"


def test_the_digest_covers_moved_media_and_not_their_place(
    place: Path, tmp_path: Path
) -> None:
    modal = {"image1": "/data/old/a.png"}
    write_records(place / "out.jsonl", record(FIRST, modal))

    def digest(name: str) -> str:
        moved = f"/data/old={tmp_path / name}"
        return read_output(tmp_path / "mine", media_root=moved).digest

    medium(tmp_path / "moved" / "a.png")
    first = digest("moved")
    (tmp_path / "moved").rename(tmp_path / "again")
    assert digest("again") == first
    medium(tmp_path / "again" / "a.png", picture(colour=9))
    assert digest("again") != first


def test_folders_without_answers_of_one_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out.jsonl")
    write_records(tmp_path / ".old/out.jsonl", record("a"))
    with pytest.raises(MissingDataError):
        read_output(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/out.jsonl").symlink_to(tmp_path / ".old/out.jsonl")
    with pytest.raises(UsageError, match="leads"):
        read_output(tmp_path / "mine")
    several = tmp_path / "several"
    export_unim(several / "a", unim_task([tagged("a")]))
    assert response_to(read_output(several)).text == "a"
    export_unim(several / "b", unim_task([tagged("b")]))
    with pytest.raises(UsageError, match="several"):
        read_output(several)
    (several / "a/natural_science/math/answers.jsonl").unlink()
    with pytest.raises(MissingDataError):
        read_output(several / "a")


def test_damaged_parts_and_manifests_are_refused(tmp_path: Path) -> None:
    export_unim(
        tmp_path / "m",
        unim_task([Interleaved((Part("reasoning", "hm"), text_part("a")))]),
    )
    file = tmp_path / "m/natural_science/math/answers.jsonl"
    row = json.loads(file.read_text())
    for parts in ("[", "7", "[7]", '[{"type": "smell"}]', "[" * 10**6):
        row["mmeval"]["parts"] = parts
        write_records(file, row)
        assert "'mmeval'" in why_absent(read_output(tmp_path / "m"))
    for manifest in ("{", '{"failed": 7}', '{"failed": [{"id": 7}]}'):
        (tmp_path / "m" / MANIFEST).write_text(manifest)
        with pytest.raises(UsageError, match=MANIFEST):
            read_output(tmp_path / "m")


def test_the_digest_covers_answers_media_and_failures(tmp_path: Path) -> None:
    export_unim(tmp_path / "m", unim_task([tagged(FIRST, image1=HARE), tagged("b")]))
    export_unim(
        tmp_path / "n",
        unim_task([tagged(FIRST, image1=HARE), ErrorInfo("timeout", "no reply")]),
    )
    found = [read_output(tmp_path / name).digest for name in "mnm"]
    file = tmp_path / "m/natural_science/math/answers.jsonl"
    file.write_text(file.read_text().replace('"b"', '"c"'))
    found.append(read_output(tmp_path / "m").digest)
    medium(tmp_path / "m/natural_science/math/image/img_0001_01.png", picture(colour=9))
    found.append(read_output(tmp_path / "m").digest)
    assert [found.index(one) for one in found] == [0, 1, 0, 3, 4]


def test_the_digest_of_answers_from_which_nothing_was_left_out_stays_what_it_was(
    tmp_path: Path,
) -> None:
    export_unim(tmp_path / "m", unim_task([tagged("a")]))
    assert read_output(tmp_path / "m").digest == "873f58ffc97dc27c738ba8958b0ca3c7"
