"""All of MMMG: the authors' instruction files, with stand-ins for media that are not
beside them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.records import Sample
from mmeval.task.selection import select
from mmeval.task.task import TaskOverrides
from mmeval.tasks.mmmg.rows import NUMBERED, lines, numbers
from scripts.synthetic_media import BLUE, RED, disc, png, wav
from tests.support.shipped_tasks import SHARED_ROWS, TASKS

DATA = Path(os.environ["MMEVAL_MMMG_DATA"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The instruction files, and a small picture or sound for each number that they
    name."""
    root = tmp_path_factory.mktemp("mmmg")
    (root / "seed_instruction").mkdir()
    for file in sorted({*DATA.glob("*.jsonl"), *DATA.glob("seed_instruction/*.jsonl")}):
        shutil.copy(file, root / "seed_instruction")
        for name, number in named_media(file):
            to = root / "seed_instruction" / name
            to.parent.mkdir(exist_ok=True)
            at = number % 40 + 10
            to.write_bytes(
                png(disc(at, 64 - at, 9, RED if number % 2 else BLUE))
                if "image" in name
                else wav((at, 50))
            )
    return root


def named_media(file: Path) -> Iterator[tuple[str, int]]:
    for line in lines(file):
        for key, kind in NUMBERED.items():
            for number in numbers(line.row, key):
                yield (
                    f"{kind}/"
                    f"{file.stem}_{number}.{'png' if kind == 'image' else 'wav'}",
                    number,
                )


@pytest.mark.parametrize("profile", ["", "official"])
def test_every_row_that_the_paper_counts_loads_renders_and_can_be_scored(
    folder: Path, profile: str
) -> None:
    overrides = TaskOverrides(data_dir=folder, profile=profile)
    faults: list[tuple[str, str, str]] = []
    samples: dict[str, list[Sample]] = {}
    for task in select(
        ["mmmg"], overrides=overrides, roles=frozenset(("judge", "gemini"))
    ):
        samples[task.name] = list(rows_of(task.dataset()))
        for sample in samples[task.name]:
            assert task.prompt(sample) == sample.input
            checks = [
                metric.bound for metric in task.metrics if metric.bound.metric.check
            ]
            faults += [
                (sample.id, one.name, fault)
                for one in checks
                if (fault := one.sample_fault(sample))
            ]
    assert faults == []
    rows = [sample for found in samples.values() for sample in found]
    contents = [
        content
        for s in rows
        for content in (*(m.content for m in s.input), *s.references)
    ]
    media = {
        (part.kind, str(part.media.path))
        for content in contents
        for part in content.parts
        if part.media
    }
    assert {name: len(found) for name, found in samples.items()} == {
        c.task: c.rows for c in TASKS
    }
    assert len({sample.id for sample in rows}) == 937 == len(rows) - SHARED_ROWS
    assert sorted(kind for kind, _ in media) == ["audio"] * 42 + ["image"] * 487
