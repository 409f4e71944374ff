/* Invisible characters, made visible: what turns the order of text around, hides in it, or cannot be written. */
"use strict";

mmeval.controls = (() => {
  const NAMES = {
    0x00: "NUL", 0x08: "BACKSPACE", 0x0d: "CARRIAGE RETURN", 0x1b: "ESCAPE", 0xad: "SOFT HYPHEN", 0x61c: "ARABIC LETTER MARK",
    0x200b: "ZERO WIDTH SPACE", 0x200c: "ZERO WIDTH NON-JOINER", 0x200d: "ZERO WIDTH JOINER", 0x200e: "LEFT-TO-RIGHT MARK",
    0x200f: "RIGHT-TO-LEFT MARK", 0x2028: "LINE SEPARATOR", 0x2029: "PARAGRAPH SEPARATOR", 0x202a: "LEFT-TO-RIGHT EMBEDDING",
    0x202b: "RIGHT-TO-LEFT EMBEDDING", 0x202c: "POP DIRECTIONAL FORMATTING", 0x202d: "LEFT-TO-RIGHT OVERRIDE",
    0x202e: "RIGHT-TO-LEFT OVERRIDE", 0x2060: "WORD JOINER", 0x2066: "LEFT-TO-RIGHT ISOLATE", 0x2067: "RIGHT-TO-LEFT ISOLATE",
    0x2068: "FIRST STRONG ISOLATE", 0x2069: "POP DIRECTIONAL ISOLATE", 0xfeff: "BYTE ORDER MARK",
  };
  /* Controls, formats, lone surrogates and separators but tab and newline; letters without a glyph; no visible Arabic signs. */
  const HIDDEN = new RegExp(
    "(?![\\t\\n\\u0600-\\u0605\\u06DD\\u08E2])[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u3164\\uFFA0]", "gu");
  /* Joiners belong to the spelling of many scripts, and hold emoji together: after these characters they are no secret. */
  const JOINED = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F|(?!\p{Script=Latin})[\p{L}\p{M}]/u;

  function isJoiner(text, at) {
    const code = text.charCodeAt(at);
    if (code !== 0x200c && code !== 0x200d) return false;
    const before = at > 0 ? text[at - 1] : "";
    return JOINED.test(/[\uDC00-\uDFFF]/.test(before) ? text.slice(at - 2, at) : before);
  }

  /* The nodes of a text, each hidden character a mark with its number. */
  function nodes(value) {
    const text = String(value).replace(/\r\n/g, "\n");
    const found = [];
    let from = 0;
    for (const match of text.matchAll(HIDDEN)) {
      if (isJoiner(text, match.index)) continue;
      if (match.index > from) found.push(document.createTextNode(text.slice(from, match.index)));
      found.push(mark(match[0].codePointAt(0)));
      from = match.index + match[0].length;
    }
    if (from < text.length) found.push(document.createTextNode(text.slice(from)));
    return found;
  }

  function mark(code) {
    const number = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    return mmeval.dom.el("span", { class: "control", dir: "ltr", title: `${number} ${NAMES[code] || "invisible character"}` }, number);
  }

  /* A text as one string, for attributes and titles. */
  function plain(value) {
    return nodes(value).map((node) => node.textContent).join("");
  }

  /* Marks what is hidden in the text that the page came with. */
  function reveal(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      HIDDEN.lastIndex = 0;
      if (HIDDEN.test(text.data) && !text.parentNode.closest("svg")) text.replaceWith(...nodes(text.data));
    }
    HIDDEN.lastIndex = 0;
  }

  return { nodes, plain, reveal };
})();
