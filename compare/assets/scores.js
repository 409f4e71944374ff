/* Scores: by which of them a trial is judged, how good a score is, and how it is shown. */
"use strict";

mmeval.scores = (() => {
  const { el } = mmeval.dom;
  const GRADES = 5;
  const spreads = new Map();

  function number(value) {
    if (typeof value !== "number") return "none";
    return String(Math.abs(value) >= 1e6 ? value : Number(value.toFixed(4)));
  }

  /* The metric by which a trial is judged: the one that is filtered by, else its task's headline, else the first that
     it has. */
  function judging(index, filters, row) {
    if (filters.score) return filters.score.metric;
    const has = (name) => typeof index.rows.scores[name]?.[row] === "number";
    const own = index.tasks[index.rows.task[row]].headline;
    return has(own) ? own : index.metrics.find((metric) => has(metric.name))?.name;
  }

  /* The ends of a metric's range; of a metric without one the lowest and the highest score that there is. */
  function spread(index, metric) {
    if (metric.range) return metric.range;
    if (!spreads.has(metric.name)) {
      let [low, high] = [Infinity, -Infinity];
      for (const value of index.rows.scores[metric.name] || []) {
        if (typeof value !== "number") continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
      spreads.set(metric.name, [low, high]);
    }
    return spreads.get(metric.name);
  }

  /* How good a trial's score is, from 0 to 1, whatever the metric's range and direction; null where there is none. */
  function goodness(index, name, row) {
    const metric = index.metrics.find((other) => other.name === name);
    const value = metric && index.rows.scores[name]?.[row];
    if (typeof value !== "number") return null;
    const [low, high] = spread(index, metric);
    const place = Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
    return metric.higher_is_better === false ? 1 - place : place;
  }

  /* A score on a coloured ground, above a bar that is the longer, the better the score is. */
  function chip(index, name, row) {
    const metric = index.metrics.find((other) => other.name === name);
    const [low, high] = spread(index, metric);
    const direction = metric.higher_is_better === false ? "lower is better" : "higher is better";
    /* scores that are all alike are neither good nor bad */
    const grade = low === high ? "none" : Math.min(GRADES - 1, Math.floor(goodness(index, name, row) * GRADES));
    const title = `${name}, from ${number(low)} to ${number(high)}, ${direction}`;
    return el("span", { class: `grade grade-${grade}`, title: mmeval.controls.plain(title) }, number(index.rows.scores[name][row]));
  }

  return { number, judging, goodness, chip };
})();
