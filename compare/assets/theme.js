/* The theme: that of the system, until another is chosen. */
"use strict";

mmeval.theme = (() => {
  const KEY = "mmeval-theme";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  /* A page from disk may have no storage; the choice then lasts as long as the page. */
  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function keep(name) {
    try {
      localStorage.setItem(KEY, name);
    } catch {
      /* nothing to keep it in */
    }
  }

  function current() {
    return document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  }

  function make() {
    const chosen = stored();
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
    const toggle = mmeval.dom.button("", () => {
      document.documentElement.dataset.theme = current() === "dark" ? "light" : "dark";
      keep(document.documentElement.dataset.theme);
      say();
    }, { class: "quiet", id: "theme" });
    const say = () => { toggle.textContent = current() === "dark" ? "Light" : "Dark"; toggle.setAttribute("aria-label", `${toggle.textContent} theme`); };
    dark.addEventListener("change", say);
    say();
    return toggle;
  }

  return { make };
})();
