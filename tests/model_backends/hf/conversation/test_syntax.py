import sys

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.hf.conversation.syntax import check_syntax

BROKEN = "{{ messages }}\n{% for x %}"


def test_the_line_of_a_mistake_is_named_where_jinja_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jinja2")
    with pytest.raises(UsageError, match=r"^own\.jinja:2: "):
        check_syntax(BROKEN, "own.jinja")
    check_syntax("{% for m in messages %}{% generation %}{{ m }}{% endgeneration %}{% break %}{% endfor %}", "")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    check_syntax(BROKEN, "own.jinja")
