from mmeval.backend.batch_size import BatchSize
from mmeval.settings.report_options import ReportContext, run_config
from mmeval.system.secrets import text_without_secrets


def test_a_batch_size_that_the_backend_decides_is_auto() -> None:
    sizes = (BatchSize(), BatchSize(4), BatchSize(growths=2))
    assert [
        run_config(ReportContext("m", batch_size=size))["batch_size"] for size in sizes
    ] == ["auto", "4", "auto:2"]


def test_a_command_is_recorded_without_its_secrets() -> None:
    words = "--model_args model=m,api_key=sk-1,n=2"
    mapping = """-a '{"api_key": "sk-1", "n": 2}'"""
    assert text_without_secrets(words) == "--model_args model=m,api_key=***,n=2"
    assert text_without_secrets(mapping) == """-a '{"api_key": "***", "n": 2}'"""
