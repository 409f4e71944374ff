"""The commands over UniM data with damaged records: each is named, and the data count as not ready."""

import re

import pytest

from mmeval.__main__ import main
from mmeval.errors import EXIT_MISSING, EXIT_USAGE
from scripts.make_unim_hub import HUB, ROOT

DAMAGED = ("record '2'", "record '4'", "record '5'", "record '6'", "record '7'", "record '9'", "record '10'")
"""Records that are named, of those that are damaged; a command names ten, and all in its log for debugging."""
LAST = "record '14'"


@pytest.mark.parametrize(("verb", "code"), [("validate", EXIT_USAGE), ("prepare", EXIT_MISSING)])
def test_damaged_records_are_named(verb: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = [verb, "unim_hard", "--data_dir", str(ROOT / HUB)]
    assert main(words) == code

    few = capsys.readouterr()
    assert all(re.search(rf"image_image\.jsonl:\d+: {name}: ", few.out + few.err) for name in DAMAGED)
    assert ("has no medium" in few.out, "--verbosity DEBUG" in few.out, LAST in few.out + few.err) == (
        False,
        True,
        False,
    )
    main([*words, "--verbosity", "DEBUG"])
    assert LAST in capsys.readouterr().err
