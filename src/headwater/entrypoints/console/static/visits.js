// The visits of one feed: what was met, what came, and the record of the bytes behind it.

import { read } from "./api.js";
import { badge, el, row, table } from "./dom.js";
import { moment } from "./moments.js";
import { growing } from "./paging.js";
import { FAILED, OUTCOMES, meaning } from "./words.js";

const AT_ONCE = 10;

export function visitList(path, signal) {
  return growing({
    into: table(COLUMNS, []).tBodies[0],
    shown: (visit) => row(COLUMNS, visit),
    empty: "It was not visited yet.",
    async load(cursor) {
      const page = await read(`${path}/visits`, { cursor, limit: AT_ONCE }, signal);
      return { items: page.visits, next: page.next_cursor };
    },
  });
}

function outcome(visit) {
  const kind = FAILED.has(visit.outcome) ? "bad" : "";
  const words = visit.error_detail ?? (visit.error ? meaning(visit.error) : "");
  return el("span", {}, badge(OUTCOMES[visit.outcome] ?? visit.outcome, kind), ` ${words || (visit.status ?? "")}`, visit.limits ? " Our own limits cut it." : "");
}

function raw({ fetch_id }) {
  if (!fetch_id) return null;
  return el("span", { class: "short" },
    el("a", { href: `raw/${fetch_id}?meta=1`, target: "_blank", rel: "noopener" }, "record"), " ",
    el("a", { href: `raw/${fetch_id}`, download: `${fetch_id}.bin` }, "bytes"));
}

const COLUMNS = [
  ["When", (visit) => moment(visit.finished_at)],
  ["Outcome", outcome],
  ["New", (visit) => visit.new_entries + (visit.updated_entries ? ` (${visit.updated_entries} edited)` : "")],
  ["Took", (visit) => el("span", { class: "short" }, `${Math.round(visit.latency_ms)} ms`)],
  ["Next visit, and why", (visit) => visit.reason],
  ["Raw", raw],
];
