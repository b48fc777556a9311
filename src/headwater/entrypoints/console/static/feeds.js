// All feeds: which, how they go, when they are visited next.

import { read } from "./api.js";
import { adding } from "./adding.js";
import { badge, el, field, hostOf, quiet, row, table } from "./dom.js";
import { duration, moment } from "./moments.js";
import { growing } from "./paging.js";
import { OUTCOMES, STATES, meaning } from "./words.js";

const AT_ONCE = 100;

export async function feeds({ query, signal }) {
  const state = query.get("state") ?? "";
  const text = query.get("text") ?? "";
  const rows = table(COLUMNS, []).tBodies[0];
  const { words, none, narrow } = finding(text, rows);
  const shown = await growing({
    into: rows,
    grown: narrow,
    shown: (feed) => marked(row(COLUMNS, feed), feed),
    empty: state || isUrl(text) ? "No feed like that." : "No feed yet. Add one by its URL.",
    async load(cursor) {
      const asked = { state, cursor, limit: AT_ONCE, url: isUrl(text) ? text : "" };
      const page = await read("feeds", asked, signal);
      return { items: page.feeds, next: page.next_cursor };
    },
  });
  return { title: "Feeds", parts: [adding(), filters(state, words), none, shown] };
}

/** The API finds a feed by its whole URL; a part of a name is looked for among those shown. */
function finding(text, rows) {
  const words = el("input", { name: "text", type: "search", value: text, placeholder: "part of a title, or a whole URL" });
  const none = quiet("Not among the feeds loaded so far.");
  function narrow() {
    const wanted = isUrl(text) && words.value === text ? "" : words.value.trim().toLowerCase();
    for (const each of rows.rows) each.hidden = !each.dataset.text.includes(wanted);
    none.hidden = !rows.rows[0] || rows.querySelector("tr:not([hidden])");
  }
  words.addEventListener("input", narrow);
  return { words, none, narrow };
}

function filters(state, words) {
  const which = el("select", { name: "state" }, ["", ...STATES].map((each) =>
    el("option", { value: each, selected: each === state }, each || "all but removed")));
  const choose = () => { location.hash = `#/feeds?${new URLSearchParams({ state: which.value, text: words.value.trim() })}`; };
  which.addEventListener("change", choose);
  return el("form", { class: "filters", role: "search", on: { submit: (sent) => { sent.preventDefault(); choose(); } } },
    field("State", which), field("Find", words));
}

function marked(shown, feed) {
  shown.dataset.text = `${feed.title ?? ""} ${feed.url}`.toLowerCase();
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
