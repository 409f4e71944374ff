import re

import pytest

from mmeval.report.table_formats.latex import latex_text
from tests.support.stored_runs import ONE, table


def test_latex_is_a_table_with_intervals_and_notes_by_letters() -> None:
    written = table("latex", ONE)
    whole, part = [line for line in written.splitlines() if "$" in line]
    assert (
        whole
        == r"\hspace*{0em}A & m $\uparrow$ & 0.500 {\scriptsize [0.250, 0.750]} \\"
    )
    name, metric, value = part.rsplit(" & ", 2)
    assert name == r"\hspace*{1em}" + latex_text("level=50% & \\more{}")
    assert latex_text("50% & \\more{}") == r"50\% \& \textbackslash{}more\{\}"
    assert (metric, value) == (r"m $\uparrow$\textsuperscript{a}", r"-- \\")
    assert written.endswith(
        "\\par{\\footnotesize \\textsuperscript{a} 4 unscored\\par}\n"
    )
    assert written.count("{") - written.count(r"\{") == written.count(
        "}"
    ) - written.count(r"\}")


@pytest.mark.parametrize(
    "text",
    ["\\input{/etc/passwd}", "a_b%c#d$e&f^g~h", "x\n\\end{tabular}", "{{{", "\\\\"],
)
def test_no_text_is_a_command_of_latex(text: str) -> None:
    plain = re.sub(r"\\(?:text\w+\{\}|char34\{\}|[{}$&#_%])", "", latex_text(text))
    assert not re.search(r"[\\{}$&#_%^~\n]", plain)
