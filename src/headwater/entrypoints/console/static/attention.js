// What a person should look at: feeds that fail, conflicts, sinks in trouble, fetchers to let in.

import { read } from "./api.js";
import { badge, el, quiet } from "./dom.js";
import { moment } from "./moments.js";
import { meaning, plural } from "./words.js";

const MOST = 20;
const isFailing = (each) => each.consecutive_failures > 0;

export async function attention(now, sinks, signal) {
  const [failing, conflicts, fetchers] = await Promise.all([
    now.failing > 0 ? failingFeeds(now.failing, signal) : [],
    read("conflicts", { limit: MOST }, signal),
    read("fetcher-modules", {}, signal),
  ]);
  const found = [
    ...failing.map(feedLine),
    now.failing > failing.length && line("failing", plural(now.failing - failing.length, "more feed"), " in trouble"),
    ...conflicts.conflicts.map(conflictLine),
    ...sinks.filter(({ state, dead_letters }) => state === "stopped" || state === "waiting" || dead_letters > 0).map(sinkLine),
    ...fetchers.fetcher_modules.filter((each) => !each.is_enabled && !each.is_builtin).map(fetcherLine),
    now.workers?.length === 0 && line("no worker", "Nobody visits feeds. `headwater run` and `headwater work` start one."),
  ].filter(Boolean);
  return found.length ? el("ul", { class: "lines told" }, found) : quiet("Nothing needs you now.");
}

/** The figures of days know them all, a little late; the newest stand in the list of feeds. */
async function failingFeeds(count, signal) {
  const { subscriptions } = await read("stats/worst", { window: "7d", min_visits: 1, limit: 200 }, signal);
  const found = new Map(subscriptions.filter(isFailing).map((each) => [each.feed_id, { ...each, title: each.name ?? each.source_url }]));
  if (found.size < Math.min(count, MOST)) {
    const { feeds } = await read("feeds", { state: "active", limit: 200 }, signal);
    for (const { id, title, url, last_error, stats } of feeds) {
      if (isFailing(stats)) found.set(id, { feed_id: id, title: title ?? url, last_error, ...stats });
    }
  }
  return [...found.values()].slice(0, MOST);
}

function line(kind, ...inside) {
  return el("li", {}, badge(kind, "bad"), el("span", {}, inside));
}

function feedLine({ feed_id, title, last_error, last_success_at, consecutive_failures }) {
  return line("failing", el("a", { href: `#/feeds/${feed_id}` }, title), ` ${meaning(last_error)} `,
    el("small", {}, plural(consecutive_failures, "failure"), " in a row, last success: ", moment(last_success_at) ?? "never"));
}

function conflictLine({ source_url, candidate_fetchers, created_at }) {
  const names = candidate_fetchers.map(({ name }) => name).join(", ");
  return line("conflict", el("a", { href: "#/conflicts" }, source_url), ` Who fetches it: ${names}? `,
    el("small", {}, moment(created_at)));
}

function sinkLine({ name, state, dead_letters, last_error, failing_since }) {
  const said = [last_error, dead_letters > 0 && plural(dead_letters, "dead letter")].filter(Boolean).join(", ");
  return line("sink", `${name} is ${state}${said ? `: ${said}` : ""} `, el("small", {}, moment(failing_since) ?? ""));
}

function fetcherLine({ name, created_at }) {
  return line("fetcher", `${name} joined and is not enabled. `, el("small", {}, moment(created_at)));
}
