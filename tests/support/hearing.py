"""Tiny models of metrics that hear, and the folders and answers that tests give
them."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.media import Interleaved, Media, media_part, wav
from mmeval.metric import Metric, bind, score_all
from mmeval.metric.model import HubModel, bound_model
from mmeval.records import Sample, Score, Trial, user
from tests.support.sounds import RATE, Samples
from tests.support.tiny_models import tiny_model

DAMAGED = Media.from_bytes(
    b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(40), name="damaged.wav"
)
"""Begins as a sound does, and is none."""


def tiny(name: str, mark: HubModel) -> dict[str, str]:
    return bound_model(str(tiny_model(name)), mark)


def sound(samples: Samples) -> Media:
    return wav(samples, RATE)


def sounds(*samples: Samples | Media) -> Interleaved:
    media = [one if isinstance(one, Media) else sound(one) for one in samples]
    return Interleaved(tuple(media_part(one, "audio") for one in media))


def sound_trial(
    *answer: Samples | Media,
    given: Sequence[Samples | Media] = (),
    references: Sequence[Samples | Media] = (),
    **labels: Any,
) -> Trial:
    asked = (user("speak", *sounds(*given).parts),)
    return Trial(
        Sample("s", asked, tuple(sounds(one) for one in references), labels),
        output=sounds(*answer),
    )


def scored_together(
    metric: Metric, trials: Sequence[Trial], **switches: Any
) -> list[Score]:
    return [scores[metric.name] for scores in score_all(bind(metric, switches), trials)]


def class_folder(
    folder: Path, clips: Mapping[str, Sequence[Samples]], *, table: str = ""
) -> Path:
    rows = []
    for name, samples in clips.items():
        for at, one in enumerate(samples):
            path = (
                folder / "audio" / f"{name}-{at}.wav"
                if table
                else folder / name / f"{at}.wav"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sound(one).read())
            rows.append({"filename": path.name, "fold": 1, "category": name})
    if table:
        (folder / table).parent.mkdir(parents=True, exist_ok=True)
        with (folder / table).open("w", newline="") as file:
            writer = csv.DictWriter(file, ["filename", "fold", "category"])
            writer.writeheader()
            writer.writerows(rows)
    return folder
