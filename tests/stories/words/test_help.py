from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from mmeval.cli.verbs import VERBS
from tests.support.words import Case, shown


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help(verb: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """All in one file, since verbs share flags."""
    assert shown(Case(f"{verb} --help"), tmp_path) == snapshot
