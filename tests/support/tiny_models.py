"""Tiny random models of real classes, built offline once for a machine and kept until
their builder changes.

    tiny_model("llava")  ->  the folder that save_pretrained has written

Names: ``llm``, ``llava``, ``idefics3``, ``qwen2_5_vl``, ``qwen2_audio``, ``chameleon``
(text out), ``janus`` (text or a picture), ``emu3`` (recites one answer: text, picture,
text), ``qwen2_5_omni`` and ``qwen3_omni`` (text and speech), ``vits`` (speech), ``sd``
(a pipeline of diffusers). Of metrics: ``clap``, ``clip``, ``whisper``, ``wavlm_sv``,
``wav2vec2_gender``, and ``resnet50``, ``inception_v3``, ``lpips``, ``beat_this`` and
``dreamsim``, which are files of the released names, not folders of transformers.
"""

import hashlib
import importlib.metadata
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from filelock import FileLock

BUILDER = Path(__file__).with_name("make_tiny_models.py")


@cache
def tiny_model(name: str) -> Path:
    """The folder of a model; all of them are built when the first is asked for (eight
    seconds)."""
    versions = (
        importlib.metadata.version(package)
        for package in ("torch", "transformers", "diffusers")
    )
    made_by = hashlib.sha256(
        BUILDER.read_bytes() + "/".join(versions).encode()
    ).hexdigest()[:12]
    root = Path(tempfile.gettempdir()) / f"mmeval-tiny-models-{os.getuid()}-{made_by}"
    root.mkdir(mode=0o700, exist_ok=True)
    with FileLock(root / ".lock"):
        if not (root / ".done").exists():
            subprocess.run(
                [sys.executable, str(BUILDER), "--out", str(root)],
                check=True,
                capture_output=True,
            )
            (root / ".done").touch()
    assert (root / name).is_dir(), f"{name}: no such tiny model"
    return root / name
