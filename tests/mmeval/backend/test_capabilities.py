from collections.abc import Sequence
from dataclasses import replace

import pytest

from mmeval.backend.capabilities import Capabilities, Limit, OutputMode
from mmeval.errors import UnknownNameError
from mmeval.media.parts import PartKind
from mmeval.records.request import GenerationParams, Request
from mmeval.records.sample import user
from tests.support.toy import picture

SEES = Capabilities.of(("text", "image"), ("text",))


def asked(*wants: PartKind, pictures: int = 0, text: str = "look") -> Request:
    media = [picture(i) for i in range(pictures)]
    return Request((user(text, *media),), GenerationParams(), wants or ("text",))


@pytest.mark.parametrize(
    ("capabilities", "request_", "gaps"),
    [
        (SEES, asked(pictures=1), []),
        (SEES, asked("text", "audio"), ["gives no audio"]),
        (
            Capabilities(),
            asked("image", pictures=1),
            ["takes no image", "gives no image"],
        ),
        (Capabilities(), asked(text="describe <image1>"), []),
    ],
    ids=["fits", "output", "both", "a placeholder without a medium"],
)
def test_what_is_missing_is_listed_kind_by_kind(
    capabilities: Capabilities, request_: Request, gaps: list[str]
) -> None:
    assert capabilities.missing(request_) == gaps


def test_a_kind_that_may_be_declared_is_listed_with_the_argument_for_it() -> None:
    capabilities = replace(
        Capabilities.of(("text",), ("text",), "single"),
        declarable=frozenset(("text", "audio")),
    )
    gap, how_to_fix = capabilities.missing(asked("audio"))
    assert (gap, how_to_fix.rpartition(" ")[2]) == (
        "gives no audio",
        "outputs=text+audio",
    )
    assert capabilities.missing(asked("video")) == ["gives no video"]


@pytest.mark.parametrize(
    ("mode", "wants", "fits"),
    [
        ("single", ("text", "code"), True),
        ("single", ("text", "image"), False),
        ("exclusive", ("text", "image"), False),
        ("exclusive", ("code", "image"), False),
        ("exclusive", ("code",), True),
        ("parallel", ("text", "image"), True),
        ("interleaved", ("text", "image"), True),
    ],
)
def test_several_kinds_need_a_mode_that_gives_them(
    mode: OutputMode, wants: Sequence[PartKind], fits: bool
) -> None:
    assert (
        Capabilities.of(("text",), ("text", "image"), mode).missing(asked(*wants)) == []
    ) is fits


def test_a_model_of_one_kind_a_call_names_the_protocol_that_asks_it_for_more() -> None:
    capabilities = Capabilities.of(("text",), ("text", "image"), "exclusive")
    (gap,) = capabilities.missing(asked("text", "image"))
    assert ("wants text+image" in gap, "text_then_media" in gap) == (True, True)
    assert "--protocol" not in "; ".join(capabilities.missing(asked("text", "audio")))
    with pytest.raises(UnknownNameError) as caught:
        Capabilities.of(("imge",), ("text",))
    assert (caught.value.name, "image" in caught.value.known) == ("imge", True)


def test_limits_of_number_and_size_hold() -> None:
    for limit, gap in (
        (Limit(max_items=2), []),
        (Limit(max_items=1), ["1", "image", "2"]),
        (Limit(max_bytes=picture().size), []),
        (Limit(max_bytes=10), ["10", "image", f"{picture().size}"]),
    ):
        found = Capabilities(
            {"text": Limit(), "image": limit}, {"text": Limit()}
        ).missing(asked(pictures=2))
        words = [
            [word for word in one.replace(",", "").split() if word in gap]
            for one in found
        ]
        assert words == ([gap] if gap else [])


def test_a_request_lacks_the_media_that_a_backend_requires() -> None:
    capabilities = Capabilities(
        {"text": Limit(), "image": Limit(min_items=1)}, {"text": Limit()}
    )
    assert capabilities.required_inputs == {"image"}
    assert capabilities.missing(asked(pictures=1)) == []
    assert capabilities.missing(asked()) == ["needs 1 image, but the request has 0"]
