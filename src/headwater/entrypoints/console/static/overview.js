// How it goes: figures, what needs a look, promises, workers and sinks, events as they come.

import { Refused, read } from "./api.js";
import { attention } from "./attention.js";
import { counts } from "./counts.js";
import { badge, el, quiet, section, table } from "./dom.js";
import { happenings } from "./happenings.js";
import { duration, moment } from "./moments.js";
import { plural } from "./words.js";

const AGAIN_AFTER = 15_000;

export async function overview({ signal }) {
  const told = await happenings({ signal });
  const standing = el("div", {}, await present(told.lately, signal));
  const looking = setInterval(() => refresh(standing, told.lately, signal), AGAIN_AFTER);
  signal.addEventListener("abort", () => clearInterval(looking));
  return { title: "Overview", parts: [standing, told.part] };
}

/** Not while nobody looks, nor under the hands of somebody, nor while an older look hangs. */
async function refresh(standing, lately, signal) {
  if (document.hidden || standing.ariaBusy || standing.contains(document.activeElement)) return;
  standing.ariaBusy = "true";
  try {
    standing.replaceChildren(...(await present(lately, signal)));
  } catch (trouble) {
    // The next look may find it again; the events below say meanwhile that it is away.
    if (!(trouble instanceof Refused) && !signal.aborted) throw trouble;
  } finally {
    standing.ariaBusy = null;
  }
}

async function present(lately, signal) {
  const [now, promised, { sinks }] = await Promise.all([
    counts(signal), read("slo", { worst: 3 }, signal), read("sinks", { limit: 100 }, signal),
  ]);
  const isNew = Object.values(now.states).every((count) => count === 0);
  return [
    now.workers === null && el("p", { class: "note" }, "This token only reads: what changes something is refused."),
    isNew && el("p", { class: "note" }, "No feed yet. ", el("a", { href: "#/feeds" }, "Add one by its URL.")),
    figures(now, lately()),
    section("Needs a look", await attention(now, sinks, signal)),
    section("Promises", table(PROMISES, promised.levels)),
    now.workers?.length > 0 && section("Workers", workers(now)),
    sinks.length > 0 && section("Sinks", table(SINKS, sinks)),
  ].filter(Boolean);
}

function figures(now, lately) {
  return el("ul", { class: "figures", "aria-label": "Figures" },
    figure(now.states.active, "active", "#/feeds?state=active"),
    figure(now.failing, "failing", null, now.failing > 0 && "bad"),
    figure(now.states.paused, "paused", "#/feeds?state=paused"),
    figure(now.states.gone, "gone", "#/feeds?state=gone"),
    figure(now.due, now.due > 0 && now.lag >= 1 ? `due, up to ${duration(now.lag)} late` : "due now"),
    figure(now.visiting, "being visited"),
    figure(lately, "new entries, 24 h", "#/entries"));
}

function figure(count = 0, name, href, kind) {
  const inside = [el("b", {}, count.toLocaleString("en")), el("span", {}, name)];
  return el("li", { class: kind }, href ? el("a", { href }, inside) : inside);
}

function workers({ workers: known, version }) {
  return el("div", {}, table(WORKERS, known), quiet(`Headwater ${version}`));
}

/** With the feed's own figure; that of freshness is so many times its interval. */
function worst({ worst: feeds, name, unit }) {
  const own = (value) => (name === "freshness" ? value.toFixed(1) : inUnit(value, unit));
  return el("ul", { class: "lines" }, feeds.map(({ feed_id, url, value, detail }) =>
    el("li", {}, el("a", { href: `#/feeds/${feed_id}` }, url), ` ${own(value)} ${detail}`)));
}

function inUnit(value, unit) {
  return unit === "share" ? `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %` : `${value.toFixed(2)} s`;
}

const PROMISES = [
  ["Promise", (each) => each.promise],
  ["Now", (each) => (each.value === null ? "not measured yet" : el("span", { class: "short" }, inUnit(each.value, each.unit)))],
  ["Kept", (each) => (each.met === null ? null : badge(each.met ? "kept" : "broken", each.met ? "good" : "bad"))],
  ["Worst", (each) => (each.worst.length ? worst(each) : null)],
];

const WORKERS = [
  ["Machine", ({ host, pid }) => `${host}, process ${pid}`],
  ["Started", (each) => moment(each.started_at)],
  ["Last heard of", (each) => moment(each.heartbeat_at)],
];

const SINKS = [
  ["Sink", ({ name, kind }) => (name === kind ? name : `${name} (${kind})`)],
  ["State", (each) => badge(each.state, { active: "good", disabled: "" }[each.state] ?? "bad")],
  ["Behind", (each) => plural(each.lag, "event")],
  ["Last delivered", (each) => moment(each.last_delivered_at)],
  ["Dead letters", (each) => each.dead_letters || null],
];
