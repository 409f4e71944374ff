import re

import pytest

from mmeval.report.table_formats.latex import latex_text
from tests.support.number_documents import ONE, table


def test_latex_is_a_table_with_intervals_and_notes_by_letters() -> None:
    written = table("latex", ONE)
    assert r"A & m $\uparrow$ & 0.500 {\scriptsize [0.250, 0.750]} \\" in written
    assert r"\hspace*{1em}level=50\% \& \textbackslash{}more\{\} & m $\uparrow$\textsuperscript{a} & -- \\" in written
    assert written.endswith("\\end{tabular}\n\\par{\\footnotesize \\textsuperscript{a} 4 unscored\\par}\n")
    assert written.count("{") - written.count(r"\{") == written.count("}") - written.count(r"\}")


@pytest.mark.parametrize("text", ["\\input{/etc/passwd}", "a_b%c#d$e&f^g~h", "x\n\\end{tabular}", "{{{", "\\\\"])
def test_no_text_is_a_command_of_latex(text: str) -> None:
    plain = re.sub(r"\\(?:text\w+\{\}|char34\{\}|[{}$&#_%])", "", latex_text(text))
    assert not re.search(r"[\\{}$&#_%^~\n]", plain)
