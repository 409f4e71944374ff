import pytest

from mmeval.model_backends.diffusers.settings import drawing


def test_options_become_the_arguments_of_a_pipelines_call() -> None:
    given = {
        "size": "1024x768",
        "steps": 20,
        "guidance_scale": 3,
        "negative_prompt": "no fog",
    }
    taken = {
        "num_inference_steps": 20,
        "guidance_scale": 3.0,
        "negative_prompt": "no fog",
    }
    assert drawing({f"image.{name}": value for name, value in given.items()}) == {
        "width": 1024,
        "height": 768,
        **taken,
    }
    assert drawing({}) == {}
    most = drawing({"image.size": "8192x1", "image.steps": 1000})
    assert most == {"width": 8192, "height": 1, "num_inference_steps": 1000}
    assert drawing({"image.steps": 1, "image.guidance_scale": 0}) == {
        "num_inference_steps": 1,
        "guidance_scale": 0.0,
    }


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("size", ["large", "0x64", "64x0", "8193x64", "64x8193"]),
        ("steps", [0, 1001, 2.5, True]),
        ("guidance_scale", [-1, float("nan")]),
        ("negative_prompt", [7]),
        ("quality", ["high"]),
    ],
)
def test_a_value_or_an_option_that_means_nothing_is_refused_by_name(
    name: str, values: list[object]
) -> None:
    for value in values:
        with pytest.raises(ValueError, match=rf"image\.{name}"):
            drawing({f"image.{name}": value})
