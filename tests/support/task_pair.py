from pathlib import Path

_KEYS = "metric_list: [{metric: exact_match}]\nmetadata: {version: 1.0}\n"


def write_pair(folder: Path, *names: str) -> Path:
    """Tasks, whose data are to lie in ``NAME_data`` beside them, and the group ``both`` of them."""
    for name in names:
        (folder / f"{name}.yaml").write_text(f"task: {name}\ndataset_path: {name}_data\n{_KEYS}")
    (folder / "both.yaml").write_text(f"group: both\ntask: [{', '.join(names)}]\naggregate_{_KEYS}")
    return folder
