import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.hf.conversation.syntax import check_syntax


def test_the_line_of_a_mistake_is_named() -> None:
    with pytest.raises(UsageError, match=r"^own\.jinja:2: "):
        check_syntax("{{ messages }}\n{% for x %}", "own.jinja")
    check_syntax(
        "{% for m in messages %}{% generation %}{{ m }}{% endgeneration %}{% break "
        "%}{% endfor %}",
        "",
    )
