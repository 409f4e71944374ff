from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmeval.errors import (
    CorruptMediaError,
    MissingDataError,
    UnknownNameError,
    UsageError,
)
from mmeval.metric.model import bound_model
from mmeval.metrics.audio import reference_sounds
from mmeval.metrics.audio.clap import CLAP, embeddings
from mmeval.metrics.audio.reference_sounds import (
    REFERENCE_SOUNDS,
    class_embeddings,
    classes,
)
from tests.support.models import tiny
from tests.support.sounds import class_folder, tone

CLIPS = {"door_wood_knock": [tone(0.5, 300), tone(0.5, 400)], "rain": [tone(0.5, 900)]}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    reference_sounds._vectors_once.cache_clear()


@pytest.fixture
def references(tmp_path: Path) -> dict[str, str]:
    return bound_model(str(class_folder(tmp_path / "set", CLIPS)), REFERENCE_SOUNDS)


def test_classes_are_read_from_a_table_or_from_folders(tmp_path: Path) -> None:
    for at, table in enumerate(("meta/esc50.csv", "dataset.csv", "")):
        found = classes(class_folder(tmp_path / str(at), CLIPS, table=table))
        assert {name: len(paths) for name, paths in found.items()} == {
            "door_wood_knock": 2,
            "rain": 1,
        }
        assert all(path.is_file() for paths in found.values() for path in paths)


def test_a_table_leads_out_of_no_folder_and_of_a_folder_the_first_hundred_clips_count(
    tmp_path: Path,
) -> None:
    with pytest.raises(MissingDataError, match="no clips by class"):
        classes(tmp_path)
    (tmp_path / "esc50.csv").write_text("name,kind\na,b\n")
    with pytest.raises(UsageError, match="filename and category"):
        classes(tmp_path)
    # A table leads out of no folder.
    (tmp_path / "esc50.csv").write_text("filename,category\n../../secret.wav,rain\n")
    assert classes(tmp_path) == {"rain": [tmp_path / "audio" / "secret.wav"]}
    flutes = tmp_path / "set" / "flute"
    flutes.mkdir(parents=True)
    for at in range(103):
        (flutes / f"{at}.mp3").touch()
    assert [path.name for path in classes(flutes.parent)["flute"]] == [
        f"{at}.mp3" for at in range(100)
    ]


def test_a_label_with_blanks_is_a_class_with_underscores_and_unknown_ones_get_near_names(
    references: Any,
) -> None:
    assert class_embeddings(
        references, "door wood knock", tiny("clap", CLAP)
    ).shape == (2, 16)
    with pytest.raises(UnknownNameError) as caught:
        class_embeddings(references, "rian", tiny("clap", CLAP))
    assert caught.value.name == "rian"
    assert caught.value.known == ("door_wood_knock", "rain")


def test_embeddings_of_a_class_are_made_once_on_a_machine(
    references: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clap, made = tiny("clap", CLAP), []

    def counted(clips: Any, model: Any) -> Any:
        made.append(len(clips))
        return embeddings(clips, model)

    monkeypatch.setattr(reference_sounds, "embeddings", counted)
    first = class_embeddings(references, "rain", clap)
    class_embeddings(references, "rain", clap)
    reference_sounds._vectors_once.cache_clear()  # as in another process
    again = class_embeddings(references, "rain", clap)
    reference_sounds._vectors_once.cache_clear()
    class_embeddings(references, "rain", {**clap, "fingerprint": "another"})
    assert made == [1, 1]
    assert again.tolist() == first.tolist()


def test_a_set_has_a_fingerprint_of_its_names_and_sizes_and_a_damaged_clip_is_named(
    tmp_path: Path,
) -> None:
    sets = {
        "one": CLIPS,
        "same": CLIPS,
        "longer": {**CLIPS, "rain": [np.concatenate([tone(0.5, 900), tone(1)])]},
    }
    folders = [class_folder(tmp_path / name, clips) for name, clips in sets.items()]
    marks = [
        bound_model(str(folder), REFERENCE_SOUNDS)["fingerprint"] for folder in folders
    ]
    assert marks[0] == marks[1] != marks[2]
    folder = class_folder(tmp_path / "set", CLIPS)
    (folder / "rain" / "0.wav").write_bytes(b"RIFF")
    with pytest.raises(CorruptMediaError, match=r"rain/0\.wav"):
        class_embeddings(
            bound_model(str(folder), REFERENCE_SOUNDS), "rain", tiny("clap", CLAP)
        )
