"""The label of each kind of finding."""

from __future__ import annotations

from collections.abc import Mapping

from mmeval.findings.finding import Kind

LABELS: Mapping[Kind, str] = {
    "machine": "machine",
    "missing_key": "missing key",
    "missing_data": "missing data",
    "missing_extra": "missing extra",
    "missing_role": "missing role",
    "missing_weights": "missing weights",
    "bad_sample": "bad sample",
    "failed": "failed",
    "refused": "refused",
    "unscored": "unscored",
    "unsupported": "unsupported",
    "cut_off": "cut off",
    "unread_reply": "unread reply",
    "partial": "partial",
    "suspended": "suspended",
    "subset": "subset",
    "not_comparable": "not comparable",
    "other_definition": "other definition",
    "budget": "budget",
    "plugin": "plugin",
    "task_file": "task file",
    "setting": "setting",
    "package": "package",
    "damaged": "damaged",
}
