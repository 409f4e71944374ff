from __future__ import annotations

from typing import Any

import pytest

from mmeval.cli.run import read_settings
from mmeval.errors import UsageError
from mmeval.settings.role_flags import model_spec


def args_of(**given: Any) -> dict[str, Any]:
    return dict(model_spec(read_settings({"model": "hf", **given}, {})).args)


def test_flags_for_a_local_model_become_its_arguments() -> None:
    given = args_of(model_args=["pretrained=m"], device="cuda:1", trust_remote_code="true")
    assert given == {"pretrained": "m", "device": "cuda:1", "trust_remote_code": True}


def test_what_stands_among_the_arguments_stays() -> None:
    assert args_of(model_args=["trust_remote_code=false"], trust_remote_code="true") == {"trust_remote_code": False}


def test_a_backend_without_remote_code_gets_no_such_argument() -> None:
    assert args_of(model="openai", trust_remote_code="true") == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "openai"}, "--device has no effect here: the backend 'openai' runs no model on a device"),
        ({"model_args": ["device=cpu"]}, "--device and device of --model_args are the same; leave one out"),
    ],
    ids=["no device", "twice"],
)
def test_a_device_that_could_have_no_effect_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        args_of(**given, device="cuda:1")
