"""Any answer, written for UniM's released scripts and read again: nothing is lost, and
the scripts find all of it."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mmeval.media import Interleaved, Media, Part, PartKind, TagKind, find
from mmeval.tasks.unim.output.layout import record_answer_of, whole_text
from tests.support.interchange import held
from tests.support.tiny_media import PLAIN_OBJ, PLAIN_OFF, picture, wav
from tests.support.unim import by_counted_braces, by_gathered_lines, there_and_back

KINDS: tuple[TagKind, ...] = ("image", "audio", "video", "document", "code", "3d")
FILM = b"\x00\x00\x00\x18ftypmp42" + b"0" * 50
FILES = [
    picture(),
    picture("JPEG"),
    wav(),
    FILM,
    b"%PDF-1.7\n",
    PLAIN_OFF,
    PLAIN_OBJ,
    b"",
    b"\x00\xff nothing known",
]
MEDIA = [*map(Media.from_bytes, FILES), Media.from_bytes(b"a,b\n1,2\n", "a.csv")]
FRAGMENTS = [
    "<image1>",
    "<<audio2>>",
    "<",
    ">",
    "<image",
    "1>",
    "{",
    "}",
    '"',
    "\\",
    "\u2028",
    "\x00",
    "\n",
    "\ud83d",
]
SPELLED = ["<{}{}>", "<<{}{}>>", "< {} {} >", "<<{}_0{}>>", "<{}{}:"]
words = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=4).map(
    "".join
)


def with_captions_put_in(content: str, captions: Mapping[str, str]) -> str:
    known = re.compile(r"<((?:code|image|document|audio|video|threeD)\d+)>")
    return known.sub(
        lambda tag: f"<{tag[1]}:{captions[tag[1]]}>" if tag[1] in captions else tag[0],
        content,
    )


@st.composite
def tags(draw: st.DrawFn, kind: TagKind) -> tuple[str, str]:
    """A tag and its label."""
    word = draw(
        st.sampled_from(
            ["3d", "threeD", "3D"] if kind == "3d" else [kind, kind.upper()]
        )
    )
    raw = draw(st.sampled_from(SPELLED)).format(word, number := draw(st.integers(0, 3)))
    return raw, f"{kind}{number}"


@st.composite
def parts(draw: st.DrawFn) -> Part:
    kind: PartKind = draw(st.sampled_from(("text", "reasoning", *KINDS)))
    said = draw(words)
    if kind == "text":
        return Part(kind, said, raw=said)
    if kind == "reasoning":
        return Part(
            kind, said, raw=draw(st.sampled_from(["", f"<think>{said}</think>"]))
        )
    raw, label = draw(tags(kind))
    form = draw(st.sampled_from(["tagged", "dangling", "beside", "labelled", "words"]))
    if form == "dangling":
        return Part(kind, raw=raw, label=label)
    if kind == "code" and form == "words":
        return Part(kind, said, raw=said)
    raw = raw if form == "tagged" else ""
    label = label if form in ("tagged", "labelled") else ""
    if kind == "code" and draw(st.booleans()):
        return Part(kind, said, raw=raw, label=label)
    return Part(kind, None, draw(st.sampled_from(MEDIA)), raw, label)


outputs = st.lists(parts(), max_size=7).map(lambda found: Interleaved(tuple(found)))
often = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


@often
@given(st.lists(outputs, min_size=1, max_size=3))
def test_any_answer_comes_back_byte_for_byte_and_the_scripts_find_every_record_and_medium(
    answers: list[Interleaved],
) -> None:
    with TemporaryDirectory() as folder:
        back = [
            response.output for response in there_and_back(Path(folder, "m"), *answers)
        ]
        assert [held(output) for output in back if output is not None] == [
            held(output) for output in answers
        ]
        file = Path(folder, "m/natural_science/math/answers.jsonl")
        text = file.read_text()
        rows = [json.loads(line) for line in text.splitlines()]
        found = [
            {
                (file.parent / value).read_bytes()
                for name, value in row["output"]["modal"].items()
                if name[:4] != "code"
            }
            for row in rows
        ]
    assert by_counted_braces(text) == by_gathered_lines(text) == rows
    assert found == [
        {
            part.media.read()
            for part in output.parts
            if part.media is not None and part.kind != "code"
        }
        for output in answers
    ]


@often
@given(outputs)
def test_the_scripts_caption_every_tag_with_a_medium_and_count_the_tags_of_the_model(
    output: Interleaved,
) -> None:
    record_answer = record_answer_of(output)
    captioned = with_captions_put_in(
        record_answer.content,
        {name: f"caption of {name}" for name in record_answer.modal},
    )
    tagged = [
        part
        for part in output.parts
        if part.kind in KINDS and part.raw and not part.dangling
    ]
    assert captioned.count(":caption of ") >= sum(
        part.text != part.raw for part in tagged
    )
    assert kinds_in(record_answer.content) == kinds_in(whole_text(output.text))


def kinds_in(text: str) -> Counter[str]:
    return Counter(tag.kind for tag in find(text, ("tag",)))
