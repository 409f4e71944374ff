"""Checks the syntax of a chat template before a model is loaded."""

from __future__ import annotations

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from mmeval.errors import UsageError


class GenerationTag(Extension):
    """The tag ``{% generation %}``, which marks the model's text for the library."""

    tags = {"generation"}  # a class variable in Jinja's API  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def check_syntax(source: str, what: str) -> None:
    """Raises UsageError, with the line, for a text that is not Jinja.

    The message begins with ``what``, such as ``chat_template=FILE``.
    """
    try:
        Environment(extensions=[GenerationTag, "jinja2.ext.loopcontrols"]).parse(source)
    except TemplateSyntaxError as error:
        raise UsageError(
            f"{what}:{error.lineno}: this is not a chat template (Jinja): "
            f"{error.message}"
        ) from None
