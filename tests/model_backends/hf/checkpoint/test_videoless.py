from pathlib import Path

import pytest
from PIL import Image

from mmeval.errors import UsageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.checkpoint.loading import without_torchvision
from mmeval.model_backends.hf.checkpoint.videoless import processor_without_video
from tests.support.models import (
    asked,
    copied,
    drawn,
    files_of,
    loaded,
    rewritten,
    says,
    tiny_model,
)

GIVEN = {"local_files_only": True}


@pytest.mark.parametrize("name", ["qwen2_5_vl", "qwen2_5_omni"])
def test_a_processor_without_its_video_part_reads_pictures(name: str) -> None:
    processor = processor_without_video(files_of(tiny_model(name)), GIVEN)
    text = f"see {processor.image_token}"
    encoded = processor(
        text=[text], images=[[Image.new("RGB", (32, 32))]], return_tensors="pt"
    )
    assert not hasattr(processor, "video_processor")
    # the rest of it reads that
    assert processor.video_token in processor.tokenizer.get_vocab()
    assert encoded["pixel_values"].shape[0] == 64
    assert processor.chat_template == processor.tokenizer.chat_template


def test_its_class_is_found_by_the_type_of_the_model_where_no_file_names_it(
    tmp_path: Path,
) -> None:
    folder = copied("qwen2_5_vl", tmp_path)
    rewritten(folder / "processor_config.json", processor_class=None)
    assert (
        type(processor_without_video(files_of(folder), GIVEN)).__name__
        == "Qwen2_5_VLProcessorWithoutVideo"
    )
    rewritten(folder / "processor_config.json", processor_class="OfTomorrow")
    with pytest.raises(UsageError, match="torchvision"):
        processor_without_video(files_of(folder), GIVEN)


@pytest.mark.skipif(not without_torchvision(), reason="torchvision is installed")
def test_lost_videos_are_a_warning_and_pictures_are_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert (
        "video"
        not in HFBackend(pretrained=str(tiny_model("qwen2_5_vl"))).capabilities.inputs
    )
    assert [
        (one.levelname, "torchvision" in one.message) for one in caplog.records
    ] == [("WARNING", True)]
    assert says(loaded("qwen2_5_vl"), asked("Look", drawn())).error is None
