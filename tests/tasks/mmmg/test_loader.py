import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.contract import DataSource
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.records.sample import Sample
from mmeval.tasks import mmmg
from mmeval.tasks.mmmg.loader import MmmgDataset, load

BUNDLED = Path(mmmg.__file__).parent / "bundled"
WAV = b"RIFF\x00\x00\x00\x00WAVE"


def dataset(folder: Path, file: object = "a_structure") -> MmmgDataset:
    return load(DataSource("mmmg_a_structure", folder, options={"file": file}))


def write_lines(folder: Path, *lines: str) -> None:
    path = folder / "seed_instruction" / "a_structure.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))


def write_sound(folder: Path, number: int) -> Path:
    path = folder / "seed_instruction" / "audio" / f"a_structure_{number}.wav"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(WAV)
    return path


def write_picture(folder: Path, number: int) -> Path:
    path = folder / "seed_instruction" / "image" / f"a_structure_{number}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    return path


def sample_of(folder: Path, **fields: Any) -> Sample:
    write_lines(folder, json.dumps({"instruction": "seed", "instruction_para": "Say it.", "order": ["at"], **fields}))
    return next(iter(dataset(folder)))


def test_the_prompt_is_the_paraphrase_and_the_scoring_fields_are_labels(tmp_path: Path) -> None:
    sample = sample_of(tmp_path)
    assert (sample.id, sample.input[0].content.raw) == ("a_structure/0", "Say it.")
    assert sample.metadata == {"order": ["at"], "file": "a_structure"}
    assert sample.references == ()


def test_a_numbered_sound_follows_the_prompt(tmp_path: Path) -> None:
    file = write_sound(tmp_path, 3)
    parts = sample_of(tmp_path, audio_list=[3]).input[0].content.parts
    assert [part.kind for part in parts] == ["text", "audio"]
    assert parts[1].media is not None
    assert parts[1].media.path == file


def test_the_file_number_of_a_picture_and_of_a_sound_are_told_apart(tmp_path: Path) -> None:
    write_sound(tmp_path, 0)
    write_picture(tmp_path, 0)
    parts = sample_of(tmp_path, audio_list=[0], image_list=[0]).input[0].content.parts
    assert [part.label for part in parts[1:]] == ["image0", "audio0"]


def test_a_reference_is_read_as_an_answer_with_spans(tmp_path: Path) -> None:
    file = write_sound(tmp_path, 5)
    response = "<audio_start><audio_0><audio_end> done"
    answer = sample_of(tmp_path, reference={"response": response, "audio_list": [5]}).references[0]
    assert answer.raw == response
    assert [medium.path for medium in answer.media("audio")] == [file]


def test_the_folder_with_the_instruction_files_itself_is_read(tmp_path: Path) -> None:
    sample_of(tmp_path)
    assert len(dataset(tmp_path / "seed_instruction")) == 1


def test_the_pictures_to_compare_with_are_the_reference_and_not_in_the_prompt(tmp_path: Path) -> None:
    file = write_picture(tmp_path, 7)
    sample = sample_of(tmp_path, ref_image_list=[7])
    assert [part.kind for part in sample.input[0].content.parts] == ["text"]
    assert [medium.path for medium in sample.references[0].media("image")] == [file]
    assert "ref_image_list" not in sample.metadata


def test_an_answer_of_ours_comes_before_the_pictures_to_compare_with(tmp_path: Path) -> None:
    write_picture(tmp_path, 7)
    answer = {"response": "<image_start><image_0><image_end> blue", "image_list": [7]}
    references = sample_of(tmp_path, ref_image_list=[7], reference=answer).references
    assert [reference.raw for reference in references] == [answer["response"]]


def test_several_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    sample_of(tmp_path)
    (tmp_path / "seed_instruction" / "b.jsonl").write_text(json.dumps({"instruction_para": "Draw it."}))
    both = dataset(tmp_path, ["b", "a_structure"])
    assert [(sample.id, sample.metadata["file"]) for sample in both] == [("b/0", "b"), ("a_structure/0", "a_structure")]
    assert len(both) == 2


def test_rows_with_a_field_keep_their_place_in_the_file(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"instrument": "flute"}, {"tempo": 90}, {"tempo": 0, "instrument": "drums"}]
    write_lines(tmp_path, *(json.dumps({"instruction_para": "Play.", **row}) for row in rows))
    source = DataSource("t", tmp_path, options={"file": "a_structure", "having": "tempo"})
    found = load(source)
    assert [sample.id for sample in found] == ["a_structure/1", "a_structure/2"]
    assert len(found) == 2
    assert found.fingerprint != dataset(tmp_path).fingerprint


def test_a_medium_of_a_row_that_is_left_out_may_be_missing(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"audio_list": [3]}, {"tempo": 90}]
    write_lines(tmp_path, *(json.dumps({"instruction_para": "Play.", **row}) for row in rows))
    assert len(load(DataSource("t", tmp_path, options={"file": "a_structure", "having": "tempo"}))) == 1


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    row = json.dumps({"instruction_para": "Say it."})
    write_lines(tmp_path, row, "", row, "")
    assert [sample.id for sample in dataset(tmp_path)] == ["a_structure/0", "a_structure/1"]
    assert len(dataset(tmp_path)) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("{", ":2: row 2 is no JSON", id="bad JSON"),
        pytest.param('{"a": "b', ":2: row 2 is no JSON: Unterminated string starting at column 7", id="torn"),
        pytest.param("[]", ":2: the row is a list", id="list"),
        pytest.param('{"a": NaN}', ":2: .*NaN is no JSON number", id="not a number"),
        pytest.param("[" * 100_000, ":2: row 2 is no JSON: it is nested too deeply", id="deep"),
        pytest.param("{}", ":2: 'instruction_para' must be a text", id="no prompt"),
        pytest.param('{"instruction_para": "a", "audio_list": ["../../x"]}', ":2: 'audio_list'", id="path as number"),
        pytest.param('{"instruction_para": "a", "audio_list": [-1]}', ":2: 'audio_list'", id="negative number"),
        pytest.param('{"instruction_para": "a", "audio_list": [true]}', ":2: 'audio_list'", id="truth value"),
        pytest.param('{"instruction_para": "a", "reference": "b"}', ":2: 'reference' must be", id="reference"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    write_lines(tmp_path, json.dumps({"instruction_para": "fine"}), line)
    with pytest.raises(UsageError, match=rf"a_structure\.jsonl{message}"):
        list(dataset(tmp_path))


def test_a_line_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.dataset.loaders.row_files.MAX_ROW_BYTES", 10)
    write_lines(tmp_path, json.dumps({"instruction_para": "fine"}))
    with pytest.raises(UsageError, match=":1: row 1 is longer than"):
        len(dataset(tmp_path))


def test_missing_media_are_told_when_the_data_are_opened_with_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"audio/a_structure_4\.wav and 2 more missing, .*--data_dir"):
        sample_of(tmp_path, audio_list=[4, 5], ref_image_list=[0])


def test_a_medium_that_goes_while_its_rows_are_read_is_told_with_its_line(tmp_path: Path) -> None:
    file = write_sound(tmp_path, 4)
    write_lines(tmp_path, json.dumps({"instruction_para": "Say it.", "audio_list": [4]}))
    opened = dataset(tmp_path)
    file.unlink()
    with pytest.raises(MissingDataError, match=r"a_structure\.jsonl:1: .*a_structure_4\.wav.*--data_dir"):
        list(opened)


def test_a_missing_instruction_file_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"no seed_instruction/a_structure\.jsonl; fetch .*--data_dir"):
        dataset(tmp_path)


@pytest.mark.parametrize("file", [None, 3, "../a_structure", "a/b", "", [], ["a", "../b"]])
def test_only_a_plain_file_name_is_taken(tmp_path: Path, file: object) -> None:
    with pytest.raises(UsageError, match="needs an instruction file"):
        dataset(tmp_path, file)


def test_an_unknown_option_is_refused_with_the_known_one(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match='did you mean "file"'):
        load(DataSource("mmmg", tmp_path, options={"flie": "a_structure"}))


def test_the_fingerprint_follows_the_rows(tmp_path: Path) -> None:
    sample_of(tmp_path)
    before = dataset(tmp_path).fingerprint
    sample_of(tmp_path, order=["ta"])
    assert dataset(tmp_path).fingerprint != before


def test_every_bundled_answer_has_its_sounds() -> None:
    samples = list(dataset(BUNDLED))
    assert len(samples) == 6
    assert all(sample.references[0].media("audio") for sample in samples)
    assert not [part.raw for sample in samples for part in sample.references[0].parts if part.dangling or not part.raw]
