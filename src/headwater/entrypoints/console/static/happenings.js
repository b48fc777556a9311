// The newest events, and those that come while somebody looks.

import { read } from "./api.js";
import { badge, el, quiet } from "./dom.js";
import { follow } from "./live.js";
import { daysAgo, moment } from "./moments.js";
import { EVENTS, TROUBLE, meaning } from "./words.js";

const LOOKED_AT = 200;
const SHOWN = 20;

/** `lately` counts the new entries of the last day, among the newest events. */
export async function happenings({ signal }) {
  const { last_seq } = await read("events", { limit: 1 }, signal);
  const { events, next } = await read("events", { after: Math.max(0, last_seq - LOOKED_AT), limit: LOOKED_AT }, signal);
  const list = el("ol", { class: "lines told", reversed: true }, events.slice(-SHOWN).reverse().map(line));
  const nothing = quiet("Nothing has happened yet.");
  nothing.hidden = events.length > 0;
  const state = el("small", { class: "state", role: "status" }, "connecting…");
  follow({
    after: next, types: Object.keys(EVENTS), signal,
    state: (how) => { state.textContent = how === "live" ? "live" : "lost; trying again soon"; },
    heard(event) {
      events.splice(0, events.push(event) - LOOKED_AT);
      nothing.hidden = true;
      list.prepend(line(event));
      while (list.childElementCount > SHOWN) list.lastElementChild.remove();
    },
  });
  const part = el("section", {}, el("h2", {}, "Events ", state), nothing, list);
  return { part, lately: () => newIn(events) };
}

function newIn(events) {
  const day = daysAgo(1);
  const fresh = events.filter(({ type, at }) => type === "new_entry" && at >= day).length;
  return events.length === LOOKED_AT && events[0].at >= day ? `${fresh}+` : fresh;
}

function line(event) {
  const { type, at, payload } = event;
  return el("li", {}, badge(EVENTS[type] ?? type, TROUBLE.has(type) ? "bad" : ""),
    el("span", {}, about(event), " ", payload.error ? `${meaning(payload.error)} ` : "", el("small", {}, moment(at))));
}

function about({ type, feed_id, payload }) {
  const text = payload.text ?? payload.title ?? payload.canonical_link ?? payload.source_url ?? payload.new_url
    ?? payload.url ?? payload.entry_uid ?? "";
  if (payload.entry_uid && feed_id) {
    return el("a", { href: `#/entries/${feed_id}/${encodeURIComponent(payload.entry_uid)}` }, text);
  }
  if (type.startsWith("conflict")) return el("a", { href: "#/conflicts" }, text);
  return feed_id && type !== "subscription_deleted" ? el("a", { href: `#/feeds/${feed_id}` }, text) : text;
}
