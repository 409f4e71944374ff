import pytest

from mmeval.authoring.testing.media import small_media
from mmeval.media import Media, Part, media_part, text_part
from mmeval.model_backends.sandbox.program import program_of
from mmeval.records import Request, message, user


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Run this:\n```python\nprint(1)\n```\nthanks", "print(1)\n"),
        ("```\none\n```\nor rather\n~~~py\ntwo\n~~~\n", "two\n"),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''\n"),
        ("```python\nnever closed\n", "never closed\n"),
        ("print(1)", None),
        ("a ``` b ``` c", None),
    ],
)
def test_the_program_is_the_last_fenced_block(text: str, code: str | None) -> None:
    found = program_of(Request((user(text),)))
    assert (found and found.code) == code


def test_a_code_part_goes_first_and_the_last_user_message_counts() -> None:
    code = Part("code", text="first()", raw="first()")
    asked = message(
        "user",
        "```\nblock()\n```",
        code,
        Part("code", media=Media.from_bytes(b"second()")),
    )
    program = program_of(
        Request(
            (user("```\nold()\n```"), message("assistant", "```\nno()\n```"), asked)
        )
    )
    assert program is not None and program.code == "second()"
    assert program_of(Request((asked, user("no program")))) is None


def test_media_have_names_that_say_no_more_than_their_kind_and_number() -> None:
    picture = small_media("image")
    named = Media.from_bytes(b"the answer is 42", "answer_is_42.csv")
    parts = [media_part(one) for one in (picture, named, picture, small_media("audio"))]
    program = program_of(Request((message("user", *parts, text_part("```\nx\n```")),)))
    assert program is not None
    assert [name for name, _ in program.inputs] == [
        "image1.png",
        "document1.csv",
        "audio1.wav",
    ]
