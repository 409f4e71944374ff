import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.diffusers.kinds import (
    PipelineKind,
    fitting,
    kind_of,
    own_code_of,
    pipeline_class,
)
from mmeval.model_backends.diffusers.signatures import signature_of


def kind(class_name: str) -> PipelineKind:
    return kind_of(signature_of(class_name, None, "here"), "here")


@pytest.mark.parametrize(
    ("class_name", "takes", "gives", "pictures"),
    [
        ("FluxPipeline", "text", "image", "none"),
        ("StableDiffusionXLPipeline", "text", "image", "none"),
        ("KandinskyCombinedPipeline", "text", "image", "none"),
        ("StableDiffusionInstructPix2PixPipeline", "text+image", "image", "required"),
        ("QwenImageEditPipeline", "text+image", "image", "required"),
        ("FluxKontextPipeline", "text+image", "image", "optional"),
        ("StableDiffusionImg2ImgPipeline", "text+image", "image", "required"),
        ("DreamLitePipeline", "text+image", "image", "optional"),
        ("StableDiffusionImageVariationPipeline", "image", "image", "required"),
        ("WanPipeline", "text", "video", "none"),
        ("TextToVideoSDPipeline", "text", "video", "none"),
        ("CogVideoXPipeline", "text", "video", "none"),
        ("WanImageToVideoPipeline", "text+image", "video", "required"),
        ("LTXImageToVideoPipeline", "text+image", "video", "required"),
        ("I2VGenXLPipeline", "text+image", "video", "required"),
        ("CosmosVideoToWorldPipeline", "text+image", "video", "required"),
        ("LTXConditionPipeline", "text+image", "video", "optional"),
        ("StableVideoDiffusionPipeline", "image", "video", "required"),
        ("StableAudioPipeline", "text", "audio", "none"),
        ("AudioLDM2Pipeline", "text", "audio", "none"),
        ("MusicLDMPipeline", "text", "audio", "none"),
    ],
)
def test_the_signature_shows_what_a_pipeline_takes_and_gives(
    class_name: str, takes: str, gives: str, pictures: str
) -> None:
    shown = kind(class_name)
    assert "+".join(shown.takes) == takes
    assert shown.gives == gives
    assert shown.pictures == pictures


@pytest.mark.parametrize(
    ("class_name", "several"),
    [
        ("OmniGenPipeline", True),
        ("Flux2KleinPipeline", True),
        ("QwenImageEditPlusPipeline", True),
        ("QwenImageEditPipeline", False),
        ("FluxKontextPipeline", False),
        ("FluxPipeline", False),
    ],
)
def test_only_some_pipelines_take_several_pictures(
    class_name: str, several: bool
) -> None:
    assert kind(class_name).several_pictures == several


@pytest.mark.parametrize(
    ("class_name", "reason", "fit"),
    [
        ("StableDiffusionInpaintPipeline", "mask_image", "InstructPix2Pix"),
        ("StableDiffusionControlNetPipeline", "controlnet", "FluxPipeline"),
        ("StableDiffusionUpscalePipeline", "Upscale", "FluxPipeline"),
        ("WanVideoToVideoPipeline", "video", "WanPipeline"),
        ("WanAnimatePipeline", "mask_video", "WanImageToVideoPipeline"),
        ("StableAudio3AudioToAudioPipeline", "audio", "StableAudioPipeline"),
        ("KandinskyV22Pipeline", "image_embeds", "FluxPipeline"),
        ("MarigoldDepthPipeline", "prediction", "Pix2Pix"),
        ("DDPMPipeline", "neither a prompt nor a picture", "FluxPipeline"),
        ("LTX2Pipeline", "sound apart", "WanPipeline"),
    ],
)
def test_a_pipeline_that_cannot_answer_is_refused_with_a_class_that_fits(
    class_name: str, reason: str, fit: str
) -> None:
    words = rf"pretrained=here: a {class_name} .*{reason}.*\)\. .*{fit}"
    with pytest.raises(UsageError, match=words):
        kind(class_name)


@pytest.mark.parametrize("gives", ["image", "video", "audio"])
@pytest.mark.parametrize("with_picture", [True, False])
def test_the_classes_that_are_recommended_fit(gives: str, with_picture: bool) -> None:
    advice = fitting(gives, with_picture=with_picture)
    names = [word.strip(".") for word in advice.split() if word.endswith("Pipeline")]
    assert len(names) == 2
    for name in names:
        assert kind(name).gives == gives
        takes_picture = "image" in kind(name).takes
        assert takes_picture == (with_picture and gives != "audio")


def test_the_class_is_named_by_the_index() -> None:
    assert pipeline_class({"_class_name": "FluxPipeline"}, "here") == "FluxPipeline"
    assert pipeline_class({"_class_name": ["mine", "Mine"]}, "here") == "Mine"


@pytest.mark.parametrize(
    "index",
    [{}, {"_class_name": []}, {"_class_name": ["mine", None]}],
    ids=json.dumps,
)
def test_an_index_without_a_class_is_refused(index: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="_class_name"):
        pipeline_class(index, "here")


def test_a_pipeline_with_its_own_code_names_the_file() -> None:
    index = {"_class_name": ["mine", "Mine"]}
    assert own_code_of(index, Path("folder")) == Path("folder/mine.py")
    assert own_code_of({"_class_name": "FluxPipeline"}, Path("folder")) is None


def test_kinds_are_known_without_torch() -> None:
    code = (
        "import sys\n"
        "from mmeval.model_backends.diffusers.kinds import kind_of\n"
        "from mmeval.model_backends.diffusers.signatures import signature_of\n"
        "assert kind_of(signature_of('WanPipeline', None, ''), '').gives == 'video'\n"
        "assert not {'torch', 'diffusers'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
