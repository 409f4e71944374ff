import json
from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.adapters.chameleon import ChameleonAdapter
from mmeval.records import message
from tests.support.local_models import adapter_of, answers, asked, drawn, loaded

CODES = 16


def test_turns_stand_between_separators_and_the_last_one_ends_with_one() -> None:
    before = (message("user", "one"), message("assistant", "two"))
    adapter = adapter_of(ChameleonAdapter, "chameleon", "chameleon")
    encoded = adapter.encode([adapter.row(0, asked("three ", drawn(), before=before))])["input_ids"][0]
    text = adapter.tokenizer.decode(encoded).replace("<image>" * CODES, "<image>")
    sep, end = "<reserved08706>", "<racm3:break><image><eoss>"
    assert text == f"one{sep}two{sep}three {end}{sep}"


def test_no_picture_is_begun_and_pictures_are_refused(tmp_path: Path) -> None:
    requests = [asked("draw", temperature=1.0, seed=seed, max_tokens=60) for seed in range(4)]
    found = answers(loaded("chameleon", "chameleon"), requests)
    assert all({part.kind for part in r.output.parts} == {"text"} for r in found if r.output)
    assert not any(r.error or r.warnings for r in found)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "chameleon"}))
    with pytest.raises(UsageError, match=r"text\+image: .*never image"):
        HFBackend(pretrained=str(tmp_path), outputs="text+image")
    assert {*HFBackend(pretrained=str(tmp_path)).capabilities.outputs} == {"text", "code"}
