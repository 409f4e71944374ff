from collections import Counter
from pathlib import Path

import pytest

from mmeval.media.decode.guard import whole_bytes
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, media_part
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.worker import SAMPLES_KEPT, QueuedTrial, ScoringWorker
from mmeval.records.sample import Sample, user
from mmeval.system.json_lines import to_line
from tests.support.pictures import medium, noise


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each picture was decoded, by the name of its file."""
    found: Counter[str] = Counter()

    def noted(media: Media, *limits: object) -> bytes:
        found[media.name] += 1
        return whole_bytes(media, *limits)  # type: ignore[arg-type]  # handed on as they are

    monkeypatch.setattr("mmeval.media.decode.picture.whole_bytes", noted)
    return found


def drawn(folder: Path, name: str, seed: int) -> Interleaved:
    file = folder / f"{name}.png"
    if not file.exists():
        file.write_bytes(medium(noise(8, 8, seed)).read())
    return Interleaved((media_part(Media.from_path(file)),))


def item(folder: Path, index: int, repeat: int) -> QueuedTrial:
    sample = Sample(
        f"s{index}", (user("draw"),), (drawn(folder, f"wanted{index}", 9),), {}
    )
    answer = drawn(folder, f"answer{index}-{repeat}", repeat)
    row = {
        "i": index,
        "n": repeat,
        "d": "0",
        "sample": sample.to_json(),
        "exchanges": [],
        "output": answer.to_json(),
    }
    return 0, to_line(row)


def test_the_repeats_of_the_last_samples_share_what_is_decoded_of_them(
    tmp_path: Path, decoded: Counter[str]
) -> None:
    worker = ScoringWorker(
        [
            ScoringPlan(
                "drawing", (("ssim", {}, "standard"),), {}, None, (), "", tmp_path
            )
        ]
    )
    mixed = [
        item(tmp_path, index, repeat)
        for repeat in range(3)
        for index in range(SAMPLES_KEPT)
    ]
    assert len(worker.score(mixed).rows) == len(mixed)
    assert (set(decoded.values()), len(decoded)) == ({1}, len(mixed) + SAMPLES_KEPT)
    worker.score([item(tmp_path, index, 0) for index in (SAMPLES_KEPT, 0)])
    assert decoded["wanted0.png"] == 2
