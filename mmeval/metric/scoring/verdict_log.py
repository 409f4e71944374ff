"""The verdict log: who gave each verdict of a score set, and when.

``verdicts.jsonl`` lies beside the score rows. It is appended to, and says what the rows
must not: times, which differ from run to run. A line is one call of a judged metric:

    {"i": 0, "n": 0, "metric": "rubric_judge", "path": "0.1", "role": "judge", "asked": "m-large",
     "served": "m-large-2026-01", "fingerprint": "fp_1", "params": {"temperature": 0}, "at": 1767225600.0,
     "latency": 1.2, "usage": [812, 40], "key": "judge@1b2c3d4e/.../0"}

``i`` and ``n`` are the sample's place and the repeat, ``path`` the call's place in the
metric's program, ``asked`` the model as the command named it, ``served`` and
``fingerprint`` what the server says it used, ``at`` the time of the answer in seconds
since 1970, ``latency`` in seconds, ``usage`` tokens in and out, ``key`` the answer's
name in the journal. A call that failed has an ``error``. Where a trial was judged
again, the later lines hold.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmeval.findings.finding import Finding, Subject
from mmeval.system.json_lines import LineFile, read_rows

FILE = "verdicts.jsonl"


def verdict_log(folder: Path) -> LineFile:
    """The log of one score set, to append to."""
    return LineFile(
        folder / FILE,
        "The verdicts are in the journal: free space, then run the same command",
    )


@dataclass(frozen=True)
class Served:
    """A judge's version behind verdicts: what was asked for, what the server
    reports."""

    role: str
    asked: str
    served: str
    fingerprint: str


def served_versions(folder: Path) -> list[Served]:
    """Every version in a score set's log, in the order of their first verdicts.
    A judge that was asked and gave no reply that can be read has an empty one."""
    found: dict[Served, bool] = {}
    for _, row in read_rows(folder / FILE):
        replied = "error" not in row
        served = row["served"] if replied else ""
        fingerprint = row["fingerprint"] if replied else ""
        one = Served(row["role"], row["asked"], served, fingerprint)
        found[one] = replied or found.get(one, False)
    known = {(one.role, one.asked) for one in found if found[one]}
    versions = []
    for one, replied in found.items():
        if replied or (one.role, one.asked) not in known:
            versions.append(one)
    return versions


def several_versions(judges: Mapping[str, Sequence[Served]]) -> Iterator[Finding]:
    """The judges that were served under several versions: their verdicts may differ for
    that alone."""
    for task, served in judges.items():
        names: dict[tuple[str, str], list[str]] = {}
        for one in served:
            name = " ".join(filter(None, (one.served, one.fingerprint)))
            names.setdefault((one.role, one.asked), []).append(name)
        for (role, asked), own in names.items():
            if len(own) > 1:
                cause = f"{asked} was served as {', '.join(own)}"
                subject = Subject(task, role=role)
                yield Finding("not_comparable", subject, len(own), cause=cause)
