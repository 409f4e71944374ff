import re

from tests.support.number_documents import ONE, TWO, table


def test_markdown_of_one_run_has_a_column_for_everything() -> None:
    header, _, whole, part = table("markdown", ONE).splitlines()
    assert header.replace(" ", "") == "|Tasks|Version|Metric|↑/↓|Value|±|Stderr|95%CI|Scored|Notes|"
    assert re.search(r"^\|A +\|1\.0 +\|m +\|↑  \|0\.5000\|±\|0\.1250\|0\.2500 to 0\.7500\|   4/4\|", whole)
    assert re.search(r"^\| - level=50% & \\more\{\} *\| .*\|   N/A\|±\|   N/A\| +N/A\|   0/4\|4 unscored\|$", part)


def test_markdown_of_several_runs_marks_what_does_not_compare() -> None:
    first = table("markdown", ONE, TWO).splitlines()[2]
    assert "|0.5000 (0.2500 to 0.7500)|  0.7500†|" in first
    assert "two does not compare with one: a was asked by the protocol None, now by episode" in first
