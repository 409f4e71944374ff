import pytest

from mmeval.model_backends.hf.failures import RowError
from mmeval.model_backends.hf.options import count_option, number_option
from mmeval.records.request import GenerationParams


def given(value: object) -> GenerationParams:
    return GenerationParams(options={"image.scale": value})


def test_a_number_is_taken_another_one_stands_in_for_none_and_anything_else_is_refused() -> (
    None
):
    assert number_option(given(3), "image.scale", 5.0) == 3.0
    assert number_option(given(0), "image.scale", 5.0, least=0.0) == 0.0
    assert number_option(GenerationParams(), "image.scale", 5.0) == 5.0
    assert count_option(given(3.0), "image.scale", 5) == 3
    with pytest.raises(RowError, match=r"image\.scale .* 1\.5"):
        count_option(given(1.5), "image.scale", 1)
    for value in ("3", True, None, float("nan"), float("inf"), -1, [3]):
        with pytest.raises(RowError, match=r"image\.scale .* at least 0") as caught:
            number_option(given(value), "image.scale", 5.0, least=0.0)
        assert caught.value.kind == "bad_request"
