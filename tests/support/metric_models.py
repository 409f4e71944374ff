"""A folder as ``MMEVAL_WEIGHTS_DIR`` names it: every model that our metrics open, tiny, and reference sounds."""

import shutil
from pathlib import Path

from mmeval.metrics.audio.clap import CLAP_NAME
from mmeval.metrics.audio.music.beats import BEAT_THIS_NAME
from mmeval.metrics.audio.speech.transcription import WHISPER_NAME
from mmeval.metrics.audio.speech.voices import GENDER_NAME, SPEAKER_NAME
from tests.support.hearing import class_folder
from tests.support.sounds import tone
from tests.support.tiny_models import tiny_model

TINY = {
    **{BEAT_THIS_NAME: "beat_this", CLAP_NAME: "clap", WHISPER_NAME: "whisper", GENDER_NAME: "wav2vec2_gender"},
    **{SPEAKER_NAME: "wavlm_sv", "BELLE-2/Belle-whisper-large-v3-zh": "whisper", "ssundaram21/dreamsim": "dreamsim"},
}


def weights_folder(folder: Path, *, sounds: tuple[str, ...] = (), instruments: tuple[str, ...] = ()) -> Path:
    """``sounds`` and ``instruments`` are the classes of the two sets of reference sounds."""
    for name, tiny in TINY.items():
        shutil.copytree(tiny_model(tiny), folder / name)
    class_folder(folder / "karolpiczak/ESC-50", {name: [tone(0.3, 300)] for name in sounds}, table="meta/esc50.csv")
    class_folder(folder / "cosmir/openmic-2018", {name: [tone(0.3, 500)] for name in instruments})
    return folder
