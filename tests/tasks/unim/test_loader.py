import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, UnknownNameError
from mmeval.tasks import unim
from mmeval.tasks.unim.data import folders
from mmeval.tasks.unim.data.concatenated_json import Record, read_records
from tests.support.unim_folder import unim_dataset, unim_row, unim_samples, write_captions, write_records

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


def test_a_name_with_a_number_behind_it_is_kept_apart(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row(), unim_row(id="1#2"), unim_row())

    assert [sample.id.rpartition("/")[2] for sample in unim_samples(tmp_path)] == ["1", "1#2", "1#3"]


def test_the_same_id_in_two_domains_names_two_samples(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row(), unim_row(subdomain="physics"))

    assert [sample.id for sample in unim_samples(tmp_path)] == ["natural_science/math/1", "natural_science/physics/1"]


def test_samples_are_made_one_at_a_time(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())
    later = write_records(tmp_path, unim_row(id="9"), file="natural_science/2_physics/a.jsonl")
    samples = iter(unim_dataset(tmp_path))
    later.unlink()

    assert next(samples).id == "natural_science/math/1"
    with pytest.raises(MissingDataError, match=r"2_physics/a\.jsonl"):
        next(samples)


def test_a_bad_record_is_one_sample_of_its_file_and_those_behind_it_are_read(tmp_path: Path) -> None:
    path = write_records(tmp_path, unim_row())
    path.write_text(path.read_text() + '\n{"id": "2", broken\n' + path.read_text().replace('"1"', '"3"'))

    dataset = unim_dataset(tmp_path)
    samples = list(dataset)

    assert [(sample.id[-1], bool(sample.fault)) for sample in samples] == [("1", False), ("2", True), ("3", False)]
    assert len(dataset) == 3


def test_the_fingerprint_follows_the_records(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())
    before = unim_dataset(tmp_path).fingerprint
    again = unim_dataset(tmp_path).fingerprint
    write_records(tmp_path, unim_row(difficulty_level=1))

    assert before == again != unim_dataset(tmp_path).fingerprint


def test_a_folder_without_records_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"no UniM records .*--data_dir"):
        unim_dataset(tmp_path)


def test_the_fingerprint_follows_the_captions(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())
    before = unim_dataset(tmp_path).fingerprint
    write_captions(tmp_path, unim_row())

    assert before != unim_dataset(tmp_path).fingerprint


def test_a_changed_file_is_seen_in_the_same_process(tmp_path: Path) -> None:
    path = write_records(tmp_path, unim_row())
    os.utime(path, ns=(0, 10**18))
    before = (unim_dataset(tmp_path).fingerprint, len(unim_dataset(tmp_path)))
    write_records(tmp_path, unim_row(), unim_row(id="2"))
    os.utime(path, ns=(0, 10**18 + 10**9))

    assert before[1] == 1
    assert len(unim_dataset(tmp_path)) == 2
    assert unim_dataset(tmp_path).fingerprint != before[0]


def test_a_file_is_counted_once_for_all_tasks_that_share_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_records(tmp_path, unim_row())
    os.utime(path, ns=(0, 10**18))
    read: list[Path] = []

    def noted(file: Path) -> Iterator[Record]:
        read.append(file)
        return read_records(file)

    monkeypatch.setattr(folders, "read_records", noted)

    assert [len(unim_dataset(tmp_path)) for _ in range(3)] == [1, 1, 1]
    assert read == [path]


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        pytest.param("math", ["math/1"], id="domain"),
        pytest.param("Mathematics", ["math/1"], id="another word for it"),
        pytest.param("natural_science", ["math/1", "physics/2"], id="field"),
        pytest.param("general_domain", ["sports/3"], id="another word for the field"),
        pytest.param("", ["sports/3", "math/1", "physics/2"], id="all"),
    ],
)
def test_a_dataset_name_narrows_to_a_field_or_a_domain(tmp_path: Path, name: str, ids: list[str]) -> None:
    sports = unim_row(id="3", domain="general_domain", subdomain="sports")
    write_records(tmp_path, unim_row())
    write_records(tmp_path, unim_row(id="2", subdomain="physics"), file="natural_science/2_physics/a.jsonl")
    write_records(tmp_path, sports, file="general_area/21_sports/a.jsonl")

    dataset = unim_dataset(tmp_path, name)

    assert [sample.id.partition("/")[2] for sample in dataset] == ids
    assert len(dataset) == len(ids)


def test_the_files_of_other_domains_are_not_opened(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())
    write_records(tmp_path, unim_row(subdomain="physics"), file="natural_science/2_physics/a.jsonl")

    assert [file.parent.name for file in unim_dataset(tmp_path, "math").files] == ["1_math"]


def test_where_folders_say_nothing_the_records_decide(tmp_path: Path) -> None:
    rows = [unim_row(), unim_row(id="2", subdomain="physics"), unim_row(id="3", subdomain="physics")]
    write_records(tmp_path, *rows, file="part_1/a.jsonl")

    assert [sample.id for sample in unim_samples(tmp_path, "math")] == ["natural_science/math/1"]
    assert len(unim_dataset(tmp_path, "physics")) == 2


def test_an_unknown_name_is_refused_with_near_ones(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())

    with pytest.raises(UnknownNameError, match=r"physiks.*physics"):
        unim_dataset(tmp_path, "physiks")


def test_an_option_is_refused_by_name(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())

    with pytest.raises(UnknownNameError, match=r"varient.*variant"):
        unim_dataset(tmp_path, varient="caption")
    with pytest.raises(UnknownNameError, match=r"captions.*caption"):
        unim_dataset(tmp_path, variant="captions")


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
