import pytest

from mmeval.cli.log import begin_log


def test_a_log_begins_with_the_variables_that_nothing_reads_unless_it_is_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin_log("ERROR", {"MMEVAL_LIMITS": "5"})
    assert capsys.readouterr().err == ""
    begin_log("INFO", {"MMEVAL_LIMITS": "5", "MMEVAL_LIMIT": "5", "OTHER": "1"})
    (line,) = capsys.readouterr().err.splitlines()
    assert "MMEVAL_LIMITS" in line and '"MMEVAL_LIMIT"' in line
