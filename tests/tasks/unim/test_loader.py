from pathlib import Path

import pytest

from mmeval.dataset import DataSource
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.tasks import unim
from mmeval.tasks.unim.loader import load
from tests.support.unim_folder import unim_dataset, unim_row, unim_samples, write_records

BUNDLED = Path(unim.__file__).parent / "bundled"


def test_records_of_all_files_come_in_the_order_of_paths(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row(id="2", subdomain="physics"), file="natural_science/2_physics/a.jsonl")
    write_records(tmp_path, unim_row(id="1"), unim_row(id="7"), file="natural_science/1_math/image/b.json")

    dataset = unim_dataset(tmp_path)

    assert [sample.id.partition("/")[2] for sample in dataset] == ["math/1", "math/7", "physics/2"]
    assert len(dataset) == 3


def test_a_folder_with_the_records_right_inside_is_read(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())

    assert len(unim_dataset(tmp_path / "qapairs_placeholder")) == 1


@pytest.mark.parametrize("folder", ["qapairs_caption", "data", ".cache"])
def test_only_records_are_read_as_records(tmp_path: Path, folder: str) -> None:
    write_records(tmp_path, unim_row())
    root = tmp_path / "qapairs_placeholder"
    (root / folder).mkdir()
    (root / folder / "other.json").write_text("not a record")

    assert len(unim_dataset(root)) == 1


def test_an_id_that_repeats_across_files_stays_unique(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_records(tmp_path, unim_row(id="4"), file=f"natural_science/1_math/{name}.jsonl")

    assert [sample.id for sample in unim_samples(tmp_path)] == ["natural_science/math/4", "natural_science/math/4#2"]


def test_the_same_id_in_two_domains_names_two_samples(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row(), unim_row(subdomain="physics"))

    assert [sample.id for sample in unim_samples(tmp_path)] == ["natural_science/math/1", "natural_science/physics/1"]


def test_samples_are_made_one_at_a_time(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row(), unim_row(id="2", difficulty_level=9))
    samples = iter(unim_dataset(tmp_path))

    assert next(samples).id.endswith("/1")
    with pytest.raises(UsageError, match=r"text_image\.jsonl:1\d: record '2'"):
        next(samples)


def test_bad_json_in_the_middle_stops_the_reading_with_its_place(tmp_path: Path) -> None:
    path = write_records(tmp_path, unim_row())
    path.write_text(path.read_text() + '\n{"id": "2", broken\n' + path.read_text())

    with pytest.raises(UsageError, match=r"text_image\.jsonl:\d+: the record at character \d+"):
        unim_samples(tmp_path)


def test_the_fingerprint_follows_the_records(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())
    before = unim_dataset(tmp_path).fingerprint
    again = unim_dataset(tmp_path).fingerprint
    write_records(tmp_path, unim_row(difficulty_level=1))

    assert before == again != unim_dataset(tmp_path).fingerprint


def test_a_folder_without_records_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"no UniM records .*--data_dir"):
        unim_dataset(tmp_path)


def test_an_option_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="variant"):
        load(DataSource("unim", tmp_path, options={"variant": "caption"}))


def test_the_bundled_samples_have_every_modality_on_both_sides() -> None:
    samples = unim_samples(BUNDLED)
    kinds = {"text", "code", "image", "audio", "video", "document", "3d"}

    assert {part.kind for sample in samples for part in sample.input[0].content.parts} == kinds
    assert {part.kind for sample in samples for part in sample.references[0].parts} == kinds
    assert sum(sample.metadata["difficulty"] == "hard" for sample in samples) >= 6


def test_a_bundled_sample_wants_two_modalities_and_one_of_them_three_times() -> None:
    answers = [sample.references[0] for sample in unim_samples(BUNDLED)]

    assert any(len(answer.media("image")) == 3 and answer.media("audio") for answer in answers)


def test_no_bundled_tag_lacks_its_medium() -> None:
    contents = [c for s in unim_samples(BUNDLED) for c in (s.input[0].content, *s.references)]

    assert not [part.raw for content in contents for part in content.parts if part.dangling or not part.raw]
