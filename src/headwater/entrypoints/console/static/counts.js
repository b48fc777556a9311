// How many of what: from /status for an admin, from the metrics for a token that only reads.

import { Refused, read, readText } from "./api.js";

/** `workers` is null where they are not told. */
export async function counts(signal) {
  try {
    return ofStatus(await read("status", {}, signal));
  } catch (refusal) {
    if (!(refusal instanceof Refused) || refusal.status !== 403) throw refusal;
    return ofMetrics(await readText("metrics", signal));
  }
}

function ofStatus({ counts: told, workers, lag_sec, versions }) {
  return {
    states: told.feeds, failing: told.feeds_failing, due: told.feeds_due,
    visiting: told.feeds_being_visited, lag: lag_sec, workers, version: versions.headwater,
  };
}

function ofMetrics(text) {
  const figures = new Map(text.split("\n").filter((line) => line && !line.startsWith("#")).map(split));
  const states = {};
  for (const [name, value] of figures) {
    const found = /^headwater_feeds\{state="(\w+)"\}$/.exec(name);
    if (found) states[found[1]] = value;
  }
  const figure = (name) => figures.get(`headwater_${name}`) ?? 0;
  return {
    states, failing: figure("feeds_failing"), due: figure("feeds_due"), visiting: figure("feeds_claimed"),
    lag: figure("oldest_due_seconds"), workers: null, version: null,
  };
}

function split(line) {
  const space = line.lastIndexOf(" ");
  return [line.slice(0, space), Number(line.slice(space + 1))];
}
