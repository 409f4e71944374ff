"""Checks backends with handshakes, and formats the results as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from mmeval.backend.agent.casting import roles_called_by, with_called_roles
from mmeval.backend.contract import AnyBackend, Startable, workers_of
from mmeval.backend.handshake.handshake import ANSWERS
from mmeval.backend.handshake.inputs import TAKES
from mmeval.backend.handshake.outputs import JSON
from mmeval.backend.probe import Probe, Probing, Verdict
from mmeval.errors import BackendDownError, MmevalError, sentence
from mmeval.findings.finding import Finding, Kind, Subject
from mmeval.findings.from_error import finding_of
from mmeval.run.backends import Backends
from mmeval.run.handshakes import complete_handshakes, handshake_findings
from mmeval.run.options import BackendSpec

_NAME, _DECLARED, _VERDICT = 30, 10, 10
"""Widths of the columns."""
_VERDICT_LABELS: Mapping[Verdict, str] = {
    "yes": "",
    "no": "not confirmed: ",
    "doubtful": "unclear: ",
    "unknown": "not tried: ",
}


def shake_hands(
    specs: Mapping[str, BackendSpec],
    backends: Mapping[str, AnyBackend],
    probing: Probing,
) -> tuple[dict[str, list[Probe]], list[Finding]]:
    """Returns the capabilities of each role, and findings about missing capabilities.

    Requests are sent to servers unless ``probing`` is ``off``. They are sent to all
    other models, and to servers that mmeval starts, only if ``probing`` is ``full``,
    because the weights of these models must be loaded first.
    """
    roles: list[str] = []
    for role, backend in backends.items():
        is_uncertain = not backend.capabilities.is_certain
        is_served = is_uncertain and not isinstance(backend, Startable)
        if probing == "full" or (is_served and probing != "off"):
            roles.append(role)
    if not roles:
        return {}, []
    found: dict[str, list[Probe]] = {}
    findings: list[Finding] = []
    instances: dict[str, BackendSpec] = {}
    for role in with_called_roles(roles, partial(roles_called_by, backends)):
        spec, backend = specs[role], backends[role]
        # A model with copies is created again, because its copies need its arguments.
        instance = None if workers_of(backend) else backend
        instances[role] = BackendSpec(spec.name, spec.args, instance)
    asked = Backends(instances)
    for role, outcome in complete_handshakes(asked, roles).items():
        if isinstance(outcome, MmevalError):
            findings.append(_failed(role, outcome))
            continue
        found[role] = outcome
        findings += _without_answer(role, outcome)
    # All kinds count as given: without samples, nothing else reports a denied kind.
    findings += handshake_findings(found, dict.fromkeys(found, TAKES.keys()))
    for role, probes in found.items():
        findings += _without_json(role, probes)
    return found, findings


def probe_rows(probes: Sequence[Probe]) -> Iterator[str]:
    """Yields the headings of the columns, and a row for each capability.

    The row contains the capability's name, whether the backend declares it, the verdict
    and the evidence.
    """
    if probes:
        yield f"{'capability':{_NAME}}{'declared':{_DECLARED}}{'verdict':{_VERDICT}}why"
    for probe in probes:
        declared = "declared" if probe.declared else ""
        yield (
            f"{probe.capability:{_NAME}}{declared:{_DECLARED}}"
            f"{probe.verdict:{_VERDICT}}{probe.evidence}"
        ).rstrip()


def probe_words(probes: Sequence[Probe]) -> str:
    """Returns one sentence: confirmed capabilities first, then the others by verdict.

    An example is ``sees pictures, hears; not confirmed: holds a seed``.
    """
    by_verdict: dict[Verdict, list[str]] = {}
    for probe in probes:
        # a model that answers no question has a finding
        if probe.capability != ANSWERS:
            by_verdict.setdefault(probe.verdict, []).append(probe.capability)
    parts = []
    for verdict, label in _VERDICT_LABELS.items():
        capabilities = ", ".join(by_verdict.get(verdict, ()))
        if capabilities:
            parts.append(f"{label}{capabilities}")
    return "; ".join(parts)


def _failed(role: str, error: MmevalError) -> Finding:
    if isinstance(error, BackendDownError):
        reason = error.reason.removeprefix(f"the {role}: ")  # the subject names it
        cause = f"{sentence(reason)} Start the server, or correct base_url"
        return Finding("machine", Subject(role=role), cause=cause, severity="error")
    return finding_of(error, Subject(role=role))


def _without_json(role: str, probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yields a note if the server of a judge does not enforce JSON replies."""
    for probe in probes:
        if probe.capability == JSON and probe.verdict == "no":
            cause = f"the server does not enforce JSON replies ({probe.evidence})"
            yield Finding(
                "unsupported", Subject(role=role), cause=cause, severity="note"
            )


def _without_answer(role: str, probes: Sequence[Probe]) -> Iterator[Finding]:
    """Yields a finding for a model that does not answer at all."""
    for probe in probes:
        if probe.capability == ANSWERS and probe.verdict != "yes":
            kind: Kind = "setting" if probe.verdict == "no" else "failed"
            cause = f"the model does not answer: {probe.evidence}"
            yield Finding(kind, Subject(role=role), cause=cause, severity="error")
