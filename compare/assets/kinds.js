/* Kinds of parts: what each is called, and its icon. */
"use strict";

mmeval.kinds = (() => {
  const { el, drawing } = mmeval.dom;
  const BOX = "0 0 16 16";
  const KINDS = {
    text: ["text", "M2 4H14M2 8H14M2 12H9"],
    code: ["code", "M5 4L1 8L5 12M11 4L15 8L11 12"],
    reasoning: ["reasoning", "M2 8H2.5M7.75 8H8.25M13.5 8H14"],
    image: ["picture", "M1.5 2.5H14.5V13.5H1.5ZM1.5 11L5.5 7.5L9 10.5L11 9L14.5 12M10 5.5H11"],
    audio: ["sound", "M2 6V10M5 4V12M8 2V14M11 5V11M14 7V9"],
    video: ["video", "M1.5 3.5H14.5V12.5H1.5ZM6.5 6V10L10 8Z"],
    document: ["document", "M3.5 1.5H9.5L12.5 4.5V14.5H3.5ZM9.5 1.5V4.5H12.5M5.5 8H10.5M5.5 11H10.5"],
    "3d": ["3D", "M8 1.5L14 4.75V11.25L8 14.5L2 11.25V4.75ZM2 4.75L8 8L14 4.75M8 8V14.5"],
  };

  function name(kind) {
    return Object.hasOwn(KINDS, kind) ? KINDS[kind][0] : String(kind);
  }

  function icon(kind) {
    if (!Object.hasOwn(KINDS, kind)) return el("span", {}, mmeval.controls.nodes(kind));
    return drawing(...KINDS[kind], BOX, "icon");
  }

  /* The icons of the kinds of an answer, as the index lists them: "text+image". */
  function icons(kinds) {
    return el("span", { class: "icons" }, kinds.split("+").filter(Boolean).map(icon));
  }

  return { name, icon, icons };
})();
