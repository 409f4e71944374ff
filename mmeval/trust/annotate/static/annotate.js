/* The page for raters: one answer at a time, a question about it, and keys for everything. */
"use strict";

mmeval.annotate = (() => {
  const { el, button } = mmeval.dom;
  const { nodes } = mmeval.controls;
  const main = document.getElementById("main");
  const progress = document.getElementById("progress");
  const CANNOT_SAY = "cannot say";
  const SIDES = ["First answer", "Second answer"];
  let page = null;

  async function request(address, options) {
    const response = await fetch(address, { cache: "no-store", ...options });
    const value = await response.json();
    if (!response.ok) throw new Error(value.error || response.statusText);
    return value;
  }

  /* A reason that a person can act on. */
  function reason(error) {
    return error instanceof TypeError ? "The server cannot be reached. Nothing is lost: try again with Enter." : String(error.message);
  }

  async function load(address) {
    try {
      show(await request(address));
    } catch (error) {
      if (page) {
        fail(reason(error));
        return;
      }
      main.replaceChildren(el("p", { class: "failure", role: "alert" }, nodes(reason(error))), button("Try again (Enter)", () => load("next")));
    }
  }

  function show(value) {
    if (value.finished) {
      finish(value);
      return;
    }
    const choice = initial(value.question);
    page = { id: value.id, question: value.question, choice, current: 0, since: performance.now(), saving: false };
    progress.textContent = `${value.done + 1} of ${value.total}`;
    page.failure = el("p", { class: "failure", role: "alert" });
    page.comment = el("textarea", { id: "comment", maxlength: "5000", placeholder: "comment (optional)", "aria-label": "comment" });
    page.answer = el("div", { class: "given" });
    main.replaceChildren(...sections(value), asked());
    draw();
    const text = page.answer.querySelector("textarea");
    (text || main).focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }

  function initial(question) {
    if (question.kind === "rubric") return question.criteria.map(() => undefined);
    if (question.kind === "labels") return [];
    return undefined;
  }

  function box(title, contents) {
    return el("section", {}, el("h2", {}, title), contents.map((parts) => el("div", { class: "shown" }, parts.length ? mmeval.parts.all(parts) : el("p", { class: "part-note" }, "It is empty."))));
  }

  function sections(value) {
    const shown = [];
    if (value.messages.length) shown.push(box("Request", value.messages));
    if (value.references.length) shown.push(box("Reference", value.references));
    const isPair = value.answers.length > 1;
    const answers = value.answers.map((parts, at) => box(isPair ? SIDES[at] : "Answer", [parts]));
    shown.push(el("div", { class: isPair ? "answers pair" : "answers" }, answers));
    return shown;
  }

  const HELP = {
    grade: "number keys choose, 0 cannot say",
    choice: "number keys choose, 0 cannot say",
    pair: "number keys choose, 0 cannot say",
    yes_no: "y or 1 yes, n or 2 no, 0 cannot say",
    rubric: "y met, n not met, 0 cannot say, ↑ ↓ other criterion",
    labels: "number keys or ↑ ↓ and space mark errors",
    text: "Ctrl+Enter saves",
  };

  function asked() {
    const { question } = page;
    const keys = `${HELP[question.kind]}; Enter saves, b goes back, c comments (Esc leaves it)`;
    return el("section", { class: "ask", "aria-labelledby": "question" },
      el("p", { class: "question", id: "question", dir: "auto" }, nodes(question.text)),
      page.answer, page.comment, page.failure,
      el("div", { class: "actions" }, button("Save (Enter)", save, { "aria-keyshortcuts": "Enter" }), button("Back (b)", back), el("p", { class: "keys" }, keys)));
  }

  function draw() {
    const { question } = page;
    if (question.kind === "text") {
      if (!page.answer.firstChild) page.answer.append(el("textarea", { id: "text", "aria-labelledby": "question", maxlength: "20000" }));
      return;
    }
    const rows = { rubric, labels }[question.kind];
    page.answer.replaceChildren(...(rows ? rows() : [options()]));
    const current = page.answer.querySelector(".current");
    if (current) current.scrollIntoView({ block: "nearest" });
  }

  function chooser(label, isChosen, listener) {
    return button(nodes(label), () => { listener(); draw(); }, { "aria-pressed": String(isChosen) });
  }

  function options() {
    const { question } = page;
    const label = (option, at) => {
      const text = option.text ? `${option.name}: ${option.text}` : option.name;
      return question.kind === "grade" || at > 8 ? text : `${at + 1}  ${text}`;
    };
    const all = question.options.map((option, at) => chooser(label(option, at), page.choice === at, () => { page.choice = at; }));
    all.push(chooser(`0  ${CANNOT_SAY}`, page.choice === null, () => { page.choice = null; }));
    return el("div", { class: "options", role: "group", "aria-labelledby": "question" }, all);
  }

  function rubric() {
    const values = [["yes", true], ["no", false], [CANNOT_SAY, null]];
    return page.question.criteria.map((text, at) => {
      const all = values.map(([name, value]) => chooser(name, page.choice[at] === value, () => { page.choice[at] = value; page.current = at; }));
      return el("div", { class: at === page.current ? "criterion current" : "criterion" }, el("p", { dir: "auto" }, nodes(text)), el("div", { class: "options" }, all));
    });
  }

  function labels() {
    return page.question.criteria.map((text, at) => {
      const name = at < 9 ? `${at + 1}  ${text}` : text;
      const mark = chooser(name, page.choice.includes(at), () => { toggle(at); });
      return el("div", { class: at === page.current ? "criterion current" : "criterion" }, mark);
    });
  }

  function toggle(at) {
    page.current = at;
    page.choice = page.choice.includes(at) ? page.choice.filter((place) => place !== at) : [...page.choice, at];
  }

  function fail(text) {
    page.failure.replaceChildren(...nodes(text));
  }

  function chosen() {
    if (page.question.kind !== "text") return page.choice;
    const text = document.getElementById("text").value;
    return text.trim() === "" ? undefined : text;
  }

  async function save() {
    if (page.saving) return;
    const value = chosen();
    if (value === undefined || (Array.isArray(value) && value.includes(undefined))) {
      fail("Please answer first.");
      return;
    }
    page.saving = true;
    fail("");
    const body = JSON.stringify({ id: page.id, chosen: value, comment: page.comment.value, seconds: (performance.now() - page.since) / 1000 });
    try {
      await request("rate", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    } catch (error) {
      page.saving = false;
      fail(reason(error));
      return;
    }
    page.saving = false;
    await load("next");
  }

  function back() {
    return load(`previous?id=${encodeURIComponent(page ? page.id : "")}`);
  }

  function finish(value) {
    page = null;
    progress.textContent = `${value.done} rated`;
    const text = value.leads_on ? "Thank you. All answers are rated. Enter leads back." : "Thank you. There is nothing more to rate now.";
    const more = value.leads_on ? button("Back (Enter)", lead) : button("Look again (Enter)", () => load("next"));
    main.replaceChildren(el("p", { class: "done" }, text), more, button("Change the last answer (b)", back));
    more.focus();
  }

  function lead() {
    location.assign("end");
  }

  /* What a key does to the answer; false if it does nothing. */
  function answerKey(key) {
    const { question } = page;
    const digit = /^[0-9]$/.test(key) ? Number(key) : -1;
    if (question.kind === "rubric") return criterionKey({ y: true, 1: true, n: false, 2: false, 0: null }, key);
    if (question.kind === "labels") {
      if (key === " ") toggle(page.current);
      else if (digit > 0 && digit <= question.criteria.length) toggle(digit - 1);
      else return moveKey(key);
      return true;
    }
    if (question.kind === "text") return false;
    if (digit === 0) page.choice = null;
    else if (question.kind === "yes_no" && (key === "y" || key === "n")) page.choice = key === "y" ? 0 : 1;
    else return optionKey(key, digit);
    return true;
  }

  /* A grade is chosen by its own number, any other option by its place. */
  function optionKey(key, digit) {
    const all = page.question.options;
    if (digit > 0) {
      const named = page.question.kind === "grade" ? all.findIndex((option) => option.name === key) : digit - 1;
      if (named < 0 || named >= all.length) return false;
      page.choice = named;
      return true;
    }
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return false;
    const from = Number.isInteger(page.choice) ? page.choice : step > 0 ? -1 : all.length;
    page.choice = Math.min(all.length - 1, Math.max(0, from + step));
    return true;
  }

  function criterionKey(values, key) {
    if (!Object.hasOwn(values, key)) return moveKey(key);
    page.choice[page.current] = values[key];
    page.current = Math.min(page.current + 1, page.choice.length - 1);
    return true;
  }

  function moveKey(key) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step === undefined) return false;
    page.current = Math.min(page.question.criteria.length - 1, Math.max(0, page.current + step));
    return true;
  }

  function pressed(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (document.querySelector("dialog[open]") || event.isComposing) return;
    const isWriting = Boolean(target.closest("textarea"));
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      if (page) act(event, save);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isWriting) {
      if (event.key === "Escape") act(event, () => main.focus());
      return;
    }
    if (event.key === "b") act(event, back);
    else if (!page) {
      if (event.key === "Enter" && !target.closest("button")) act(event, () => main.querySelector("button")?.click());
    } else if (event.key === "Enter" && !target.closest("button, summary, a")) act(event, save);
    else if (event.key === "c") act(event, () => page.comment.focus());
    else if (!isTaken(event, target) && answerKey(event.key)) act(event, draw);
  }

  /* Arrows and space belong to what uses them itself. */
  function isTaken(event, target) {
    if (event.key === " ") return Boolean(target.closest("button, summary, audio, video"));
    return event.key.startsWith("Arrow") && Boolean(target.closest("canvas, audio, video, pre"));
  }

  function act(event, action) {
    event.preventDefault();
    action();
  }

  document.addEventListener("keydown", pressed);
  load("next");
  return {};
})();
