import re

import pytest

from mmeval.__main__ import main
from mmeval.errors import EXIT_MISSING
from scripts.make_unim_hub import HUB, ROOT

NAMED = (
    "record '2'",
    "record '4'",
    "record '5'",
    "record '6'",
    "record '7'",
    "record '9'",
    "record '10'",
)
"""Records that are named, of those that are damaged; a command names ten, and all in
its log for debugging."""


def test_damaged_records_are_named_and_the_data_are_not_ready(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["unim_hard", "--data_dir", str(ROOT / HUB)]
    assert main(["prepare", *words]) == EXIT_MISSING
    few = capsys.readouterr()
    assert all(
        re.search(rf"image_image\.jsonl:\d+: {name}: ", few.out + few.err)
        for name in NAMED
    )
    assert ("--verbosity DEBUG" in few.out, "record '14'" in few.out + few.err) == (
        True,
        False,
    )
    assert main(["prepare", *words, "--verbosity", "DEBUG"]) == EXIT_MISSING
    assert "record '14'" in capsys.readouterr().err
