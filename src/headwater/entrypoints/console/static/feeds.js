// All feeds: which, how they go, when they are visited next.

import { read } from "./api.js";
import { adding } from "./adding.js";
import { badge, el, field, hostOf, row, table } from "./dom.js";
import { duration, moment } from "./moments.js";
import { growing } from "./paging.js";
import { OUTCOMES, STATES, meaning } from "./words.js";

const AT_ONCE = 100;

export async function feeds({ query, signal }) {
  const state = query.get("state") ?? "";
  const text = query.get("text") ?? "";
  const rows = table(COLUMNS, []).tBodies[0];
  const shown = await growing({
    into: rows,
    shown: (feed) => hiddenUnless(row(COLUMNS, feed), feed, text),
    empty: state || isUrl(text) ? "No feed like that." : "No feed yet. Add one by its URL.",
    async load(cursor) {
      const asked = { state, cursor, limit: AT_ONCE, url: isUrl(text) ? text : "" };
      const page = await read("feeds", asked, signal);
      return { items: page.feeds, next: page.next_cursor };
    },
  });
  return { title: "Feeds", parts: [adding(), filters(state, text, rows), shown] };
}

/** The API finds a feed by its whole URL; a part of a name is looked for among those shown. */
function filters(state, text, rows) {
  const which = el("select", { name: "state" }, ["", ...STATES].map((each) =>
    el("option", { value: each, selected: each === state }, each || "all but removed")));
  const words = el("input", { name: "text", type: "search", value: text, placeholder: "part of a title, or a whole URL" });
  const choose = () => { location.hash = `#/feeds?${new URLSearchParams({ state: which.value, text: words.value.trim() })}`; };
  which.addEventListener("change", choose);
  words.addEventListener("input", () => {
    for (const each of rows.rows) each.hidden = !each.dataset.text.includes(words.value.trim().toLowerCase());
  });
  return el("form", { class: "filters", role: "search", on: { submit: (sent) => { sent.preventDefault(); choose(); } } },
    field("State", which), field("Find", words));
}

function hiddenUnless(shown, feed, text) {
  shown.dataset.text = `${feed.title ?? ""} ${feed.url}`.toLowerCase();
  shown.hidden = !isUrl(text) && !shown.dataset.text.includes(text.toLowerCase());
  return shown;
}

function isUrl(text) {
  return /^https?:\/\//i.test(text);
}

export function stateOf({ state, stats }) {
  if (state !== "active") return badge(state, state === "gone" ? "bad" : "");
  return stats.consecutive_failures > 0 ? badge("failing", "bad") : badge("active", "good");
}

export function outcomeOf({ stats, last_error }) {
  if (!stats.last_outcome) return "not visited yet";
  const words = last_error ? meaning(last_error) : OUTCOMES[stats.last_outcome] ?? stats.last_outcome;
  return el("span", {}, `${words} `, el("small", {}, moment(stats.last_fetch_at)));
}

const COLUMNS = [
  ["Title", (feed) => el("a", { href: `#/feeds/${feed.id}` }, feed.title ?? feed.url)],
  ["Host", (feed) => el("small", { class: "host", title: feed.url }, hostOf(feed.url))],
  ["State", stateOf],
  ["Last visit", outcomeOf],
  ["Next visit", (feed) => (feed.schedule.being_visited ? "being visited" : moment(feed.next_visit_at))],
  ["Interval", (feed) => el("span", { class: "short" }, duration(feed.schedule.interval_sec))],
];
