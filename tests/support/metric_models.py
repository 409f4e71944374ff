"""A folder as ``MMEVAL_WEIGHTS_DIR`` names it: every model that our metrics open, tiny,
and reference sounds."""

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmeval.metrics.audio.clap import CLAP_NAME
from mmeval.metrics.audio.music.beats import BEAT_THIS_NAME
from mmeval.metrics.audio.speech.transcription import WHISPER_NAME
from mmeval.metrics.audio.speech.voices import GENDER_NAME, SPEAKER_NAME
from mmeval.metrics.image.networks.clip import CLIP_B32, CLIP_L14
from mmeval.metrics.image.networks.inception_v3 import INCEPTION_V3_NAME
from mmeval.metrics.image.networks.lpips_network import LPIPS_NAME
from mmeval.metrics.image.networks.resnet50 import RESNET50_NAME
from tests.support.hearing import class_folder
from tests.support.sounds import tone
from tests.support.tiny_models import tiny_model

OF_MMMG = {
    **{
        BEAT_THIS_NAME: "beat_this",
        CLAP_NAME: "clap",
        WHISPER_NAME: "whisper",
        GENDER_NAME: "wav2vec2_gender",
    },
    **{
        SPEAKER_NAME: "wavlm_sv",
        "BELLE-2/Belle-whisper-large-v3-zh": "whisper",
        "ssundaram21/dreamsim": "dreamsim",
    },
}
TINY = {
    **OF_MMMG,
    **{CLIP_L14: "clip", CLIP_B32: "clip", LPIPS_NAME: "lpips"},
    **{RESNET50_NAME: "resnet50", INCEPTION_V3_NAME: "inception_v3"},
}


def weights_folder(folder: Path) -> Path:
    """With the reference sounds that the bundled rows of MMMG name."""
    for name, tiny in TINY.items():
        shutil.copytree(tiny_model(tiny), folder / name)
    sounds = {
        name.replace(" ", "_"): [tone(0.3, 300)]
        for name in _named("start", "end", "target")
    }
    class_folder(folder / "karolpiczak/ESC-50", sounds, table="meta/esc50.csv")
    class_folder(
        folder / "cosmir/openmic-2018",
        {name: [tone(0.3, 500)] for name in _named("instrument")},
    )
    return folder


def _named(*labels: str) -> list[str]:
    """What the bundled rows name under these labels."""
    bundled = files("mmeval.tasks.mmmg") / "bundled" / "seed_instruction"
    texts = [
        file.read_text("utf-8")
        for file in bundled.iterdir()
        if file.name.startswith("a_")
    ]
    rows: list[dict[str, Any]] = [
        json.loads(line) for text in texts for line in text.splitlines()
    ]
    return sorted(
        {
            row[label]
            for row in rows
            for label in labels
            if isinstance(row.get(label), str)
        }
    )
