/* A trial in full: what was asked, what was expected, what came, and what every metric and judge said of it. */
"use strict";

mmeval.trial = (() => {
  const { el, button } = mmeval.dom;
  const { nodes, plain } = mmeval.controls;
  const { number } = mmeval.scores;
  /* The height to which an input is folded, as in the style. */
  const FOLDED = 240;
  const MOST_SCORES = 4;

  function status(name) {
    const known = /^(scored|unscored|failed|unsupported|unavailable|inapplicable|refused|uncounted)$/.test(name);
    return el("span", { class: `status ${known ? `status-${name}` : ""}` }, nodes(name));
  }

  function section(title, name, ...children) {
    return el("section", { class: `block block-${name}`, "aria-label": title }, el("h3", {}, title), children);
  }

  /* A section of parts, with a switch between what is shown and the text as it was written. */
  function shown(title, name, values, empty) {
    const box = section(title, name);
    const rich = values.length ? mmeval.parts.all(values) : el("p", { class: "empty" }, empty);
    box.append(rich);
    if (!values.some((part) => part.text !== undefined)) return box;
    let raw = null;
    const flip = button("Raw text", () => {
      const before = raw || rich;
      raw = raw ? null : el("pre", { class: "raw", tabindex: "0", dir: "auto", "aria-label": `${title} as raw text` }, nodes(mmeval.parts.raw(values)));
      before.replaceWith(raw || rich);
      flip.setAttribute("aria-pressed", String(Boolean(raw)));
    }, { class: "quiet flip", "aria-pressed": "false" });
    box.firstChild.append(flip);
    return box;
  }

  function input(messages) {
    const parts = messages.flatMap((message) => message.parts || []);
    const box = shown("Input", "input", parts, "Nothing was asked.");
    if (messages.length > 1) {
      box.replaceChildren(box.firstChild, ...messages.map((message) =>
        el("div", { class: "message" }, el("p", { class: "role" }, nodes(message.role)), mmeval.parts.all(message.parts))));
      box.firstChild.querySelector("button")?.remove();
    }
    return folded(box);
  }

  /* Folds a box that is tall, so that the answer below it is in sight. Media arrive later, and may make it so. */
  function folded(box) {
    const [heading, ...content] = box.childNodes;
    const whole = el("div", { class: "whole" }, content);
    const fold = el("div", { class: "cut" }, whole);
    const more = button("Show all", () => {
      const isOpen = fold.classList.toggle("open");
      more.textContent = isOpen ? "Show less" : "Show all";
      more.setAttribute("aria-expanded", String(isOpen));
    }, { class: "quiet unfold", "aria-expanded": "false", hidden: true });
    new ResizeObserver(() => { more.hidden = whole.offsetHeight <= FOLDED; }).observe(whole);
    box.replaceChildren(heading, fold, more);
    return box;
  }

  /* References or candidates, a box each. */
  function several(all, title, name) {
    return all.map((parts, at) => shown(all.length > 1 ? `${title} ${at + 1} of ${all.length}` : title, name, parts || [], `An empty ${name}.`));
  }

  function output(trial, title = "Output", name = "output") {
    if (trial.error) {
      return section(title, name,
        el("div", { class: "failure", role: "note" }, el("p", {}, el("strong", {}, nodes(trial.error.kind || "error"))), el("p", { class: "words", dir: "auto" }, nodes(trial.error.message || ""))),
        trial.output && trial.output.length ? mmeval.parts.all(trial.output) : null);
    }
    return shown(title, name, trial.output || [], trial.output ? "An empty answer." : "There is no answer.");
  }

  function warnings(trial) {
    const all = [...(trial.warnings || [])];
    if (trial.finish === "length") all.unshift("The limit of tokens cut this answer off.");
    else if (trial.finish && trial.finish !== "stop") all.unshift(`The answer ended with: ${trial.finish}`);
    return all.length ? section("Warnings", "warnings", el("ul", {}, all.map((text) => el("li", { dir: "auto" }, nodes(text))))) : null;
  }

  /* A request and its reply: of a judge, or of a step on the way to the answer. */
  function exchange(one, open) {
    const served = one.served && one.asked && one.served !== one.asked ? `${one.served} (asked for ${one.asked})` : one.served || one.asked || "";
    const tokens = Array.isArray(one.tokens) ? `${one.tokens[0] ?? "?"} tokens in, ${one.tokens[1] ?? "?"} out` : "";
    const seconds = typeof one.seconds === "number" ? `${one.seconds.toFixed(1)} s` : "";
    const facts = [served, tokens, seconds, one.finish && one.finish !== "stop" ? one.finish : "", one.at].filter(Boolean);
    const error = one.error && typeof one.error === "object" ? [one.error.kind, one.error.message].filter(Boolean).join(": ") : one.error;
    return el("details", { class: "exchange", open },
      el("summary", {}, el("span", { class: "path" }, nodes(one.path || "")), " ", el("strong", {}, nodes(one.role || "")), " ", one.title ? [nodes(one.title), " "] : null,
        el("span", { class: "facts" }, facts.map((fact, at) => [at ? " · " : "", nodes(fact)])), error ? status("failed") : null),
      error ? el("p", { class: "failure words", dir: "auto" }, nodes(error)) : null,
      one.parts && one.parts.length ? mmeval.parts.all(one.parts) : error ? null : el("p", { class: "empty" }, one.parts === null ? "Its reply is the output above." : "An empty reply."),
      mmeval.tree.isEmpty(one.evidence) ? null : el("div", { class: "evidence" }, el("h5", {}, "Evidence"), mmeval.tree.tree(one.evidence)),
      (one.steps || []).map((step) => exchange(step, false)));
  }

  /* Whose replies these are: a variant of a role counts as its role. */
  function replies(verdicts) {
    const counts = new Map();
    for (const verdict of verdicts) {
      const role = String(verdict.role || "judge").split(".")[0];
      counts.set(role, (counts.get(role) || 0) + 1);
    }
    const roles = [...counts.keys()];
    if (verdicts.length === 1) return ["The ", nodes(roles[0]), "'s reply"];
    if (roles.length === 1) return [`${verdicts.length} replies of the `, nodes(roles[0])];
    return [`${verdicts.length} replies: `, roles.map((role, at) => [at ? ", " : "", `${counts.get(role)} of the `, nodes(role)])];
  }

  function score(one) {
    const bounds = Array.isArray(one.bounds) ? el("span", { class: "bounds" }, ` between ${number(one.bounds[0])} and ${number(one.bounds[1])}`) : null;
    const verdicts = one.verdicts || [];
    return el("article", { class: "score" },
      el("header", {}, el("h4", {}, nodes(one.name)), el("span", { class: "score-value" }, one.status === "scored" ? number(one.value) : status(one.status), bounds)),
      one.reason ? el("p", { class: "reason words", dir: "auto" }, nodes(one.reason)) : null,
      mmeval.tree.isEmpty(one.evidence) ? null : el("div", { class: "evidence" }, el("h5", {}, "Evidence"), mmeval.tree.tree(one.evidence)),
      verdicts.length ? el("div", { class: "verdicts" }, el("h5", {}, replies(verdicts)), verdicts.map((verdict) => exchange(verdict, verdicts.length === 1))) : null);
  }

  function steps(trial) {
    const all = trial.steps || [];
    return all.length ? section(`Steps (${all.length})`, "steps", all.map((step) => exchange(step, false))) : null;
  }

  function more(title, name, value) {
    return mmeval.tree.isEmpty(value) ? null : section(title, name, mmeval.tree.tree(value));
  }

  /* The head of the pane: where this trial stands, what it is, and the same sample elsewhere. */
  function heading(about) {
    const facts = [about.outcome, about.task, about.sample, about.repeats > 1 ? `repeat ${about.repeat + 1}` : "", about.run].filter((fact) => fact !== "");
    return el("div", { class: "trial-head" },
      el("h2", { id: "trial-title", tabindex: "-1", dir: "auto" }, about.title ? nodes(about.title) : "(no text)"),
      judged(about.scores),
      el("p", { class: "facts" }, status(about.status), " ", facts.map((fact, at) => [at ? " · " : "", el("bdi", {}, nodes(fact))])),
      about.others.length ? el("p", { class: "others" }, "The same sample: ", about.others.map((other, at) => [at ? " · " : "", el("a", { href: other.href }, nodes(other.name))])) : null);
  }

  function judged(scores) {
    if (!scores.length) return null;
    const more = scores.length - MOST_SCORES;
    return el("p", { class: "head-scores" },
      scores.slice(0, MOST_SCORES).map(({ name, chip }) => el("span", {}, el("bdi", {}, nodes(name)), " ", chip)),
      more > 0 ? el("span", {}, `${more} more below`) : null);
  }

  /* What another run answered to the same sample: its trial, or the reason why that cannot be read. */
  function across(other) {
    const title = `Output of ${plain(other.name)}`;
    return other.trial ? rated(output(other.trial, title, "other"), other.trial) : section(title, "other", el("p", { class: "failure" }, plain(other.reason)));
  }

  /* A box with the scores of its answer at its foot, by name and value. */
  function rated(box, trial) {
    const scores = (trial.scores || []).map((one, at) => [at ? " · " : "", el("bdi", {}, nodes(one.name)), " ", el("strong", {}, one.status === "scored" ? number(one.value) : plain(one.status))]);
    if (scores.length) box.append(el("footer", { class: "rated" }, scores));
    return box;
  }

  /* The scores of a trial with their reasons; `run` is what its run is called, empty where the page has one. */
  function scores(trial, run) {
    if (!trial || !trial.scores || !trial.scores.length) return null;
    return section(run ? `Scores of ${plain(run)}` : "Scores", "scores", trial.scores.map(score));
  }

  /* `run` is what the trial's own run is called, empty where the page has one run. */
  function body(trial, others = [], run = "") {
    const own = run ? rated(output(trial, `Output of ${plain(run)}`), trial) : output(trial);
    return [
      warnings(trial),
      input(trial.input || []),
      el("div", { class: others.length ? "answers several" : "answers" }, own, others.map(across), several(trial.references || [], "Reference", "reference")),
      trial.candidates && trial.candidates.length ? el("div", { class: "answers several" }, several(trial.candidates, "Candidate", "candidate")) : null,
      others.length
        ? el("div", { class: "answers several" }, scores(trial, run), others.map((other) => scores(other.trial, other.name)))
        : scores(trial, ""),
      steps(trial),
      more("Labels", "labels", trial.labels),
      more("Metadata", "metadata", trial.metadata),
    ];
  }

  return { heading, body, status };
})();
