from __future__ import annotations

from mmeval.doctor.finding import Finding, Section
from mmeval.doctor.page import as_text

SHORT = Section("Plugins", (Finding("ok", "38 plugins"), Finding("broken", "ill\x1b[2Jness", "pip uninstall dist-ill")))


def test_a_finding_is_a_line_and_what_mends_it_the_next() -> None:
    assert as_text([SHORT, Section("Nothing", ())], colour=False, width=80) == (
        "Plugins\n  ok       38 plugins\n  broken   ill [2Jness\n           -> pip uninstall dist-ill\n"
    )


def test_a_long_finding_is_wrapped_and_a_command_is_not() -> None:
    command = "pip install " + "x" * 200
    text = as_text([Section("A", (Finding("note", "word " * 40, command),))], colour=False, width=70)

    assert all(len(line) <= 70 for line in text.splitlines() if "->" not in line)
    assert f"-> {command}" in text.splitlines()[-1]


def test_colours_are_added_when_they_are_wanted() -> None:
    assert "\x1b[32mok       \x1b[0m38 plugins" in as_text([SHORT], colour=True, width=80)
