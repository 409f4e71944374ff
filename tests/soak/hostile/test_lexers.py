"""Texts that take a lexer too long."""

import pytest

from mmeval.media.decode.limits import DecodeLimits
from mmeval.report.page import code
from mmeval.report.page.code import Colours
from tests.mmeval.report.page.test_code import FENCED, INNER, coloured


def test_a_text_that_its_lexer_cannot_bear_stays_plain_and_soon_all_others_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(code, "LIMITS", DecodeLimits(max_step_seconds=1e-6))
    colours = Colours()
    slow = "```python\n" + "a = [b, c]\n" * 1500
    for _ in range(code.MOST_REFUSED):
        assert [kind for kind, _ in coloured(slow, colours=colours)[0]["tokens"]] == [
            ""
        ]
    monkeypatch.undo()
    assert coloured(FENCED, colours=colours)[0]["tokens"] == [("", INNER)]
    assert len(coloured(FENCED)[0]["tokens"]) > 1
