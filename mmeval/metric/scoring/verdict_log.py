"""The verdict log: the model and the time of each verdict of a score set.

``verdicts.jsonl`` is in the same folder as the score rows. It contains times, which
differ between runs and must not be in the rows. Each line is one call of a judged
metric:

    {"i": 0, "n": 0, "metric": "rubric_judge", "path": "0.1", "role": "judge", "asked": "m-large",
     "served": "m-large-2026-01", "fingerprint": "fp_1", "params": {"temperature": 0}, "at": 1767225600.0,
     "latency": 1.2, "usage": [812, 40], "key": "judge@1b2c3d4e/.../0"}

- ``i`` and ``n``: the sample's index and the repeat.
- ``path``: the position of the call in the metric's program.
- ``asked``: the model in the command.
- ``served`` and ``fingerprint``: the version that the server reports.
- ``at``: the time of the answer in seconds since 1970.
- ``latency``: the duration of the call in seconds.
- ``usage``: the input and output tokens.
- ``key``: the answer's key in the journal.

A failed call has an ``error``. If a trial is judged again, its later lines replace the
earlier ones.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmeval.findings.finding import Finding, Subject
from mmeval.system.json_lines import LineFile, read_rows

FILE = "verdicts.jsonl"


def verdict_log(folder: Path) -> LineFile:
    """Opens the log of a score set for appending."""
    return LineFile(
        folder / FILE,
        "The verdicts are in the journal. Free some space, then run the same command",
    )


@dataclass(frozen=True)
class JudgeVersion:
    """The version of a judge: the requested model, and the reported version."""

    role: str
    asked: str
    served: str
    fingerprint: str


def logged_versions(folder: Path) -> list[JudgeVersion]:
    """Returns the judge versions in the log of a score set.

    The versions are in the order of their first verdicts.

    If none of a judge's replies could be read, its version is empty.
    """
    has_replied: dict[JudgeVersion, bool] = {}
    for _, row in read_rows(folder / FILE):
        replied = "error" not in row
        served = row["served"] if replied else ""
        fingerprint = row["fingerprint"] if replied else ""
        version = JudgeVersion(row["role"], row["asked"], served, fingerprint)
        has_replied[version] = replied or has_replied.get(version, False)
    judges = {
        (version.role, version.asked) for version in has_replied if has_replied[version]
    }
    versions = []
    for version, replied in has_replied.items():
        if replied or (version.role, version.asked) not in judges:
            versions.append(version)
    return versions


def version_findings(judges: Mapping[str, Sequence[JudgeVersion]]) -> Iterator[Finding]:
    """Yields findings about judges whose verdicts come from several versions.

    The verdicts of two versions may differ.
    """
    for task, versions in judges.items():
        names_by_judge: dict[tuple[str, str], list[str]] = {}
        for version in versions:
            name = " ".join(filter(None, (version.served, version.fingerprint)))
            judge = (version.role, version.asked)
            names_by_judge.setdefault(judge, []).append(name)
        for (role, model), names in names_by_judge.items():
            if len(names) > 1:
                cause = f"{model} was served as {', '.join(names)}"
                subject = Subject(task, role=role)
                yield Finding("not_comparable", subject, len(names), cause=cause)
