"""Options of pictures in the words of the interfaces."""

import pytest

from mmeval.model_backends.gemini.parameters import picture_fields
from mmeval.records import GenerationParams


@pytest.mark.parametrize(
    ("options", "fields", "has_warning"),
    [
        ({}, {}, False),
        ({"image.size": "auto"}, {}, False),
        ({"image.size": "4k"}, {"image_size": "4K"}, False),
        ({"image.size": "1024x1024"}, {"aspect_ratio": "1:1"}, True),
        ({"image.size": "2100x900"}, {"aspect_ratio": "21:9"}, True),
        ({"image.size": "1000x999"}, {}, True),
        ({"image.size": "0x0"}, {}, True),
        ({"image.size": "large"}, {}, True),
        ({"image.aspect_ratio": "9:16"}, {"aspect_ratio": "9:16"}, False),
    ],
)
def test_a_size_is_a_name_or_a_shape(
    options: dict[str, str], fields: dict[str, str], has_warning: bool
) -> None:
    given, warnings = picture_fields(GenerationParams(options=options))
    assert given == fields
    assert bool(warnings) == has_warning
