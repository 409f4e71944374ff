import re

import pytest

from mmeval.__main__ import main
from mmeval.errors import EXIT_MISSING
from tests.support.cli import ROOT

HUB = ROOT / "tests" / "fixtures" / "unim_hub"

NAMED = (
    "record '2'",
    "record '4'",
    "record '5'",
    "record '6'",
    "record '7'",
    "record '9'",
    "record '10'",
)
"""Records that are named, of those that are damaged."""


def test_damaged_records_are_named_and_the_data_are_not_ready(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["unim_hard", "--data_dir", str(HUB)]
    assert main(["prepare", *words]) == EXIT_MISSING
    shown = " ".join(capsys.readouterr().out.split())
    for name in NAMED:
        assert re.search(rf"image_image\.jsonl:\d+: {name}: ", shown)
