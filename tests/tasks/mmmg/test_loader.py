import json
import re
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import BadRow, DataSource
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.records.sample import Sample
from mmeval.tasks import mmmg
from mmeval.tasks.mmmg.loader import MmmgDataset, load

BUNDLED = Path(mmmg.__file__).parent / "bundled"
WAV = b"RIFF\x00\x00\x00\x00WAVE"


def dataset(folder: Path, file: object = "a_structure", **options: Any) -> MmmgDataset:
    return load(
        DataSource("mmmg_a_structure", folder, options={"file": file, **options})
    )


def write_lines(folder: Path, *lines: str) -> None:
    path = folder / "seed_instruction" / "a_structure.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))


def write_medium(folder: Path, number: int, kind: str = "audio") -> Path:
    path = (
        folder
        / "seed_instruction"
        / kind
        / f"a_structure_{number}.{'wav' if kind == 'audio' else 'png'}"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(WAV if kind == "audio" else b"\x89PNG\r\n\x1a\n")
    return path


def sample_of(folder: Path, **fields: Any) -> Sample:
    write_lines(
        folder,
        json.dumps(
            {
                "instruction": "seed",
                "instruction_para": "Say it.",
                "order": ["at"],
                **fields,
            }
        ),
    )
    return next(rows_of(dataset(folder)))


def test_the_prompt_is_the_paraphrase_followed_by_numbered_media(
    tmp_path: Path,
) -> None:
    sample = sample_of(tmp_path)
    assert (sample.id, sample.input[0].content.raw) == ("a_structure/0", "Say it.")
    assert (sample.metadata, sample.references) == (
        {"order": ["at"], "file": "a_structure"},
        (),
    )
    assert len(dataset(tmp_path / "seed_instruction")) == 1
    sound, shown = write_medium(tmp_path, 0), write_medium(tmp_path, 0, "image")
    parts = sample_of(tmp_path, audio_list=[0], image_list=[0]).input[0].content.parts
    found = [(part.kind, part.label, part.media.path) for part in parts if part.media]
    assert found == [("image", "image0", shown), ("audio", "audio0", sound)]
    assert len(parts) == 3


def test_a_reference_is_read_as_an_answer_with_spans_or_as_the_pictures_to_compare_with(
    tmp_path: Path,
) -> None:
    sound, shown = write_medium(tmp_path, 5), write_medium(tmp_path, 7, "image")
    response = "<audio_start><audio_0><audio_end> done"
    answer = {"response": response, "audio_list": [5]}
    for fields in ({"reference": answer}, {"reference": answer, "ref_image_list": [7]}):
        (reference,) = sample_of(tmp_path, **fields).references
        assert (reference.raw, [medium.path for medium in reference.media()]) == (
            response,
            [sound],
        )
    sample = sample_of(tmp_path, ref_image_list=[7])
    assert [part.kind for part in sample.input[0].content.parts] == ["text"]
    assert [medium.path for medium in sample.references[0].media("image")] == [shown]
    assert "ref_image_list" not in sample.metadata


def test_several_files_are_read_one_after_the_other_and_blank_lines_are_no_rows(
    tmp_path: Path,
) -> None:
    sample_of(tmp_path)
    (tmp_path / "seed_instruction" / "b.jsonl").write_text(
        json.dumps({"instruction_para": "Draw it."})
    )
    both = dataset(tmp_path, ["b", "a_structure"])
    assert [(sample.id, sample.metadata["file"]) for sample in rows_of(both)] == [
        ("b/0", "b"),
        ("a_structure/0", "a_structure"),
    ]
    assert len(both) == 2
    row = json.dumps({"instruction_para": "Say it."})
    write_lines(tmp_path, row, "", row, "")
    assert [sample.id for sample in dataset(tmp_path)] == [
        "a_structure/0",
        "a_structure/1",
    ]
    assert len(dataset(tmp_path)) == 2


def test_rows_with_a_field_keep_their_place_in_the_file_and_media_of_others_may_be_missing(
    tmp_path: Path,
) -> None:
    rows: list[dict[str, Any]] = [
        {"instrument": "flute"},
        {"tempo": 90},
        {"tempo": 0, "instrument": "drums"},
    ]
    write_lines(
        tmp_path, *(json.dumps({"instruction_para": "Play.", **row}) for row in rows)
    )
    found, whole = dataset(tmp_path, having="tempo"), dataset(tmp_path).fingerprint
    assert [sample.id for sample in found] == ["a_structure/1", "a_structure/2"]
    assert (len(found), found.fingerprint != whole) == (2, True)
    rows[0] = {"audio_list": [3]}
    write_lines(
        tmp_path, *(json.dumps({"instruction_para": "Play.", **row}) for row in rows)
    )
    assert len(dataset(tmp_path, having="tempo")) == 2


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("[]", "is a list"),
        ("[" * 100_000, "nested"),
        ('{"tempo": ' + "[" * 600 + "]" * 600 + "}", "nested"),
        ("{}", "'instruction_para'"),
        ('{"instruction_para": ["a"]}', "'instruction_para'"),
        ('{"instruction_para": "a", "audio_list": [-1]}', "'audio_list'"),
        ('{"instruction_para": "a", "audio_list": [[0]]}', "'audio_list'"),
        ('{"instruction_para": "a", "reference": "b"}', "'reference'"),
        (
            '{"instruction_para": "a", "reference": {"response": "b", "image_list": '
            '{"0": 1}}}',
            "'image_list'",
        ),
    ],
    ids=[
        "list",
        "deep",
        "deep label",
        "no prompt",
        "prompt",
        "negative",
        "number",
        "reference",
        "its pictures",
    ],
)
def test_a_bad_row_fails_alone_and_is_named_with_its_line(
    tmp_path: Path, line: str, word: str
) -> None:
    fine = json.dumps({"instruction_para": "fine", "tempo": 1})
    write_lines(tmp_path, fine, line, fine)
    for rows in (dataset(tmp_path), dataset(tmp_path, having="tempo")):
        found = [
            sample.fault for sample in rows_of(rows) if sample.id != "a_structure/1"
        ]
        assert found == ["", ""]
    (bad,) = [
        sample for sample in rows_of(dataset(tmp_path)) if sample.id == "a_structure/1"
    ]
    assert bad.metadata["file"] == "a_structure"
    assert re.search(rf"a_structure\.jsonl:2: .*{word}", bad.fault)


@pytest.mark.parametrize(
    ("line", "word"),
    [("{", "is not JSON"), ('{"a": "b', "at column 7"), ('{"a": NaN}', "NaN")],
    ids=["bad JSON", "torn", "NaN"],
)
def test_a_file_that_is_no_json_is_refused_with_its_line(
    tmp_path: Path, line: str, word: str
) -> None:
    write_lines(tmp_path, json.dumps({"instruction_para": "fine"}), line)
    with pytest.raises(UsageError, match=rf"a_structure\.jsonl:2: .*{word}"):
        dataset(tmp_path)


def test_missing_files_and_long_lines_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingDataError, match=r"a_structure\.jsonl; .*--data_dir"):
        dataset(tmp_path)
    with pytest.raises(MissingDataError, match=r"_4\.wav and 2 .*--data_dir"):
        sample_of(tmp_path, audio_list=[4, 5], ref_image_list=[0])
    file = write_medium(tmp_path, 4)
    write_lines(
        tmp_path, json.dumps({"instruction_para": "Say it.", "audio_list": [4]})
    )
    opened = dataset(tmp_path)
    file.unlink()
    (gone,) = opened
    assert isinstance(gone, BadRow)
    assert re.search(r"_4\.wav.*--data_dir", gone.reason)
    monkeypatch.setattr("mmeval.system.foreign_lines.MAX_LINE_BYTES", 10)
    write_lines(tmp_path, json.dumps({"instruction_para": "fine"}))
    (long,) = dataset(tmp_path)
    assert isinstance(long, BadRow)
    assert "longer" in long.reason


def test_only_plain_names_and_known_options_are_taken_and_the_fingerprint_follows_the_rows(
    tmp_path: Path,
) -> None:
    for file in (None, 3, "../a_structure", "", [], ["a", "../b"]):
        with pytest.raises(UsageError, match="an instruction file"):
            dataset(tmp_path, file)
    with pytest.raises(UnknownNameError) as caught:
        load(DataSource("mmmg", tmp_path, options={"flie": "a_structure"}))
    assert (caught.value.name, "file" in caught.value.known) == ("flie", True)
    sample_of(tmp_path)
    before = dataset(tmp_path).fingerprint
    sample_of(tmp_path, order=["ta"])
    assert dataset(tmp_path).fingerprint != before
    samples = list(rows_of(dataset(BUNDLED)))
    assert len(samples) == 6
    assert all(sample.references[0].media("audio") for sample in samples)
    assert not [
        part.raw
        for sample in samples
        for part in sample.references[0].parts
        if part.dangling or not part.raw
    ]
