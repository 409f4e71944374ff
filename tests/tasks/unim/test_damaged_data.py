import re

import pytest

from mmeval.__main__ import main
from mmeval.errors import EXIT_MISSING
from tests.support.cli import ROOT

HUB = ROOT / "tests" / "fixtures" / "unim_hub"

NAMED = (
    "19: the record cannot be read",
    "55: record '4'",
    "73: record '5'",
    "91: record '6'",
    "109: record '7'",
    "144: record '9'",
    "162: record '10'",
)
"""Records that are named, of those that are damaged."""


def test_damaged_records_are_named_and_the_data_are_not_ready(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["unim_hard", "--data_dir", str(HUB)]
    assert main(["prepare", *words]) == EXIT_MISSING
    shown = " ".join(capsys.readouterr().out.split())
    for name in NAMED:
        assert re.search(rf"image_image\.jsonl:{name}: ", shown)
