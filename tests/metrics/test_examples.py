import doctest
import importlib

import pytest

MODULES = [
    *("structure.strict_structure", "structure.lenient_structure", "structure.self_description", "text.choice"),
    *("text.constraints", "text.normalisers", "text.words", "image.colors", "image.editing", "image.fill"),
    *("audio.music.beat_network", "audio.music.beats", "audio.reference_sounds", "audio.speech.voices"),
    *("audio.speech.wanted_level", "judged.pictures.places", "judged.pictures.claimed"),
]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_the_examples_of_docstrings_hold(module: str) -> None:
    done = doctest.testmod(importlib.import_module(f"mmeval.metrics.{module}"))
    assert (done.failed, done.attempted > 0) == (0, True)
