/* The hash: the whole state of the page in its address, so that links, reloads and the back button work. */
"use strict";

mmeval.hash = (() => {
  const encode = (text) => encodeURIComponent(text).replace(/%2F/gi, "/").replace(/%20/g, "+");

  /* {view, filters, trial}: `view` is "results", "samples" or "gallery", whose addresses begin with its name; `trial` is {run, task, index, repeat} or null. A run right before a trial belongs to it. */
  function parse(hash) {
    const pairs = [...new URLSearchParams(hash.replace(/^#/, ""))];
    const state = { view: "results", filters: mmeval.filters.none(), trial: null };
    pairs.forEach(([name, value], at) => {
      const ofTrial = name === "run" && at + 1 < pairs.length && pairs[at + 1][0] === "trial";
      if (name === "trial") state.trial = trialNamed(value, at > 0 && pairs[at - 1][0] === "run" ? pairs[at - 1][1] : "0");
      else if (!ofTrial) filter(state.filters, name, value);
    });
    if (hash.includes("=") || hash === "#samples") state.view = "samples";
    if (pairs[0]?.[0] === "gallery") state.view = "gallery";
    return state;
  }

  function trialNamed(text, run) {
    const words = text.split("/");
    if (words.length < 3) return { run: Number(run), task: text, index: 0, repeat: 0 };
    const [index, repeat] = words.slice(-2).map(Number);
    return { run: Number(run), task: words.slice(0, -2).join("/"), index, repeat };
  }

  function filter(filters, name, value) {
    if (name === "run" || name === "task" || name === "kinds" || name === "text" || name === "outcome") filters[name] = value;
    else if (name === "status") filters.statuses = value.split(",").filter(Boolean);
    else if (name === "order") filters.order = ["failures", "lowest", "highest", "difference", "data"].includes(value) ? value : "";
    else if (name === "score") filters.score = scoreRange(value);
    else if (name.startsWith("label.")) filters.labels = { ...filters.labels, [name.slice(6)]: value };
  }

  function scoreRange(text) {
    const words = text.split(":");
    if (words.length < 3) return { metric: text, low: null, high: null };
    const [low, high] = words.slice(-2).map((word) => (word === "" || !Number.isFinite(Number(word)) ? null : Number(word)));
    return { metric: words.slice(0, -2).join(":"), low, high };
  }

  function format(state, severalRuns) {
    if (state.view === "results") return "#results";
    const { filters, trial } = state;
    const pairs = [];
    for (const name of ["run", "task", "kinds", "outcome", "text", "order"]) if (filters[name] !== "") pairs.push([name, filters[name]]);
    if (filters.statuses.length) pairs.push(["status", filters.statuses.join(",")]);
    if (filters.score) {
      const { metric, low, high } = filters.score;
      pairs.push(["score", `${metric}:${low ?? ""}:${high ?? ""}`]);
    }
    for (const [name, value] of Object.entries(filters.labels)) pairs.push([`label.${name}`, value]);
    if (trial && severalRuns) pairs.push(["run", String(trial.run)]);
    if (trial) pairs.push(["trial", `${trial.task}/${trial.index}/${trial.repeat}`]);
    const words = pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`);
    if (state.view === "gallery") words.unshift("gallery");
    return `#${words.join("&") || "samples"}`;
  }

  return { parse, format };
})();
