// One feed: why it is visited when it is, how its visits went, what it brought.

import { read } from "./api.js";
import { intervals } from "./chart.js";
import { el, facts, outside, quiet, section } from "./dom.js";
import { entryList } from "./entry_list.js";
import { actions } from "./feed_actions.js";
import { outcomeOf, stateOf } from "./feeds.js";
import { duration, moment } from "./moments.js";
import { visitList } from "./visits.js";
import { meaning } from "./words.js";

const DECISIONS = 50;

export async function feed(at, id) {
  const { signal } = at;
  const path = `feeds/${encodeURIComponent(id)}`;
  const [its, told, stats, visits, entries] = await Promise.all([
    read(path, {}, signal), read(`${path}/schedule`, { limit: DECISIONS }, signal),
    read(`${path}/stats`, { window: "7d" }, signal), visitList(path, signal), entryList({ feed_id: id }, signal),
  ]);
  return {
    title: its.title ?? its.url,
    parts: [
      el("p", { class: "about" }, stateOf(its), " ", outside(its.url), its.home_link ? [" · ", outside(its.home_link, "its page")] : null),
      actions(its, at),
      section("Why then", why(its), told.decisions.length > 1 ? intervals(told.decisions) : null),
      section("Entries", entries),
      section("Visits", visits),
      section("The last 7 days", days(stats)),
      section("What is known of it", known(its)),
    ],
  };
}

function why(its) {
  const { schedule, stats } = its;
  return el("div", {},
    el("p", { class: "reason" }, schedule.being_visited ? "It is being visited now." : schedule.reason, " ",
      el("small", {}, schedule.last_decision_at ? ["decided ", moment(schedule.last_decision_at)] : null)),
    facts([
      ["Next visit", schedule.being_visited ? "now" : moment(its.next_visit_at)],
      ["Last visit", outcomeOf(its)],
      ["Interval", `${duration(schedule.interval_sec)} (from ${duration(schedule.min_interval_sec)} to ${duration(schedule.max_interval_sec)})`],
      ["Asked to rest", schedule.retry_after_sec && duration(schedule.retry_after_sec)],
      ["Failures in a row", stats.consecutive_failures || null],
      ["Last success", moment(stats.last_success_at)],
      ["Posts about every", stats.ewma_interarrival_sec && duration(stats.ewma_interarrival_sec)],
    ]));
}

function days(stats) {
  if (stats.fetch_count === 0) return quiet("No visit has been counted yet.");
  return facts([
    ["Visits", stats.fetch_count.toLocaleString("en")],
    ["Success", share(stats.success_rate)],
    ["Not modified", share(stats.not_modified_rate)],
    ["New entries", stats.new_entries.toLocaleString("en")],
    ["Edited entries", stats.updated_entries.toLocaleString("en")],
    ["Bytes", `${size(stats.bytes_in)} came, ${size(stats.bytes_saved)} spared`],
    ["Mean answer", `${Math.round(stats.average_latency_ms ?? 0)} ms`],
    ["Errors", Object.entries(stats.error_code_counts).map(([code, count]) => `${count} × ${meaning(code)}`).join(" ")],
  ]);
}

function known(its) {
  const { publisher_hints: hints, overrides, validators } = its;
  return facts([
    ["Kind", its.type],
    ["Categories", its.categories.join(", ")],
    ["Priority", its.priority],
    ["ETag", validators.etag],
    ["Last-Modified", validators.last_modified],
    ["Hint: ttl", hints.ttl_minutes !== null ? `${hints.ttl_minutes} min` : null],
    ["Hint: not in these hours", hints.skip_hours?.join(", ")],
    ["Hint: not on these days", hints.skip_days?.join(", ")],
    ["Hint: updates every", hints.update_sec !== null ? duration(hints.update_sec) : null],
    ["Hint: fresh for", hints.fresh_for_sec !== null ? duration(hints.fresh_for_sec) : null],
    ["Own settings", ownSettings(overrides)],
    ["First URL", its.original_url !== its.url ? outside(its.original_url) : null],
    ["Moving to", its.moved_to ? outside(its.moved_to) : null],
    ["Documents seen", its.stats.documents_seen],
    ["Followed since", moment(its.created_at)],
    ["Id", el("code", {}, its.id)],
  ]);
}

function ownSettings(overrides) {
  const usual = { verify_tls: true };
  return Object.entries(overrides)
    .filter(([name, value]) => value !== null && value !== (usual[name] ?? false))
    .map(([name, value]) => `${name} = ${value}`).join(", ");
}

function share(rate) {
  return rate === null ? null : `${(rate * 100).toFixed(rate > 0.99 && rate < 1 ? 2 : 0)} %`;
}

function size(bytes) {
  const names = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(names.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** step).toFixed(step ? 1 : 0)} ${names[step]}`;
}
