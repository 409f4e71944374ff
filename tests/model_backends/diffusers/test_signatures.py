from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.diffusers.signatures import signature_of

OWN = """
from diffusers import StableDiffusionPipeline
class Base:
    def __call__(self, prompt, width=8, *, generator=None, steps):
        def inner():
            return dict(ignored=1)
        return MineOutput(images=[])
class Mine(Base):
    pass
class Child(StableDiffusionPipeline):
    pass
"""


@pytest.fixture
def own_code(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    return file


def test_a_call_is_read_with_its_defaults_and_the_fields_that_it_returns(
    own_code: Path,
) -> None:
    signature = signature_of("Mine", own_code, "here")
    assert signature.required == {"prompt", "steps"}
    assert signature.defaults == {"width": 8, "generator": None}
    assert signature.returns == {"images"}
    assert signature.parameters == {"prompt", "steps", "width", "generator"}


def test_a_class_without_a_call_has_the_call_of_its_base(own_code: Path) -> None:
    child = signature_of("Child", own_code, "here")
    base = signature_of("StableDiffusionPipeline", None, "here")
    assert child.parameters == base.parameters
    assert child.class_name == "Child"


@pytest.mark.parametrize("name", ["DreamPipeline", "models", "DiffusionPipeline"])
def test_a_class_that_diffusers_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=rf"pretrained=here: .* no {name}\. "):
        signature_of(name, None, "here")


def test_code_that_is_not_python_is_a_class_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Mine(:\n")
    with pytest.raises(UsageError, match="no Mine"):
        signature_of("Mine", file, "here")
