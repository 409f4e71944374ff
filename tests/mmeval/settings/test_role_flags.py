from typing import Any

import pytest

from mmeval.cli.run import read_settings
from mmeval.errors import UsageError
from mmeval.settings.role_flags import model_spec


def args_of(**flags: Any) -> dict[str, Any]:
    return dict(model_spec(read_settings({"model": "hf", **flags}, {})).args)


def test_flags_for_a_local_model_become_its_arguments_where_it_takes_them() -> None:
    trusted = {"trust_remote_code": "true"}
    assert args_of(model_args=["pretrained=m"], device="cuda:1", **trusted) == {
        **{"pretrained": "m", "device": "cuda:1"},
        "trust_remote_code": True,
    }
    assert args_of(model_args=["trust_remote_code=false"], **trusted) == {
        "trust_remote_code": False
    }
    assert args_of(model="openai", **trusted) == {}


def test_a_model_that_is_not_installed_here_may_still_be_named_as_by_the_record_of_a_run() -> (
    None
):
    assert model_spec(read_settings({"model": "elsewhere"}, {})).name == "elsewhere"


def test_a_device_that_could_have_no_effect_is_refused() -> None:
    for flags in ({"model": "openai"}, {"model_args": ["device=cpu"]}):
        with pytest.raises(UsageError, match="--device"):
            args_of(**flags, device="cuda:1")
