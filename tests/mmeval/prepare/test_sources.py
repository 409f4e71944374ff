from mmeval.prepare.sources import build_tasks, sources
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides


def test_weights_that_metrics_take_files_of_are_one_source() -> None:
    tasks = ["mmmg_voice_attribution", "mmmg_multilingual_speech"]
    asked = build_tasks(choose(tasks, TaskIndex()), TaskOverrides())
    found = {
        source.repo: (source, users)
        for source, users in sources(asked, weights=True).items()
    }
    whisper, users = found["openai/whisper-large-v3"]
    assert users == tasks
    assert {"config.json", "model.safetensors|pytorch_model.bin"} <= set(whisper.only)
    assert str(whisper).startswith("weights ")
    assert not any(source.only for source in sources(asked, weights=False))
