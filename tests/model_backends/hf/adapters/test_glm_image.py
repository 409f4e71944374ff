import json
from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.hf.backend import HFBackend


def test_the_half_that_draws_nothing_is_refused_with_the_pipeline_that_fits(
    tmp_path: Path,
) -> None:
    config = json.dumps({"model_type": "glm_image"})
    (tmp_path / "config.json").write_text(config, "utf-8")
    with pytest.raises(UsageError, match="GlmImagePipeline, with --model diffusers"):
        HFBackend(pretrained=str(tmp_path))
