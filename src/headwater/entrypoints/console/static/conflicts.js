// Sources that several fetchers want equally: a person decides who gets them.

import { change, read } from "./api.js";
import { button, el, outside, quiet, row, section, table } from "./dom.js";
import { moment } from "./moments.js";
import { growing } from "./paging.js";
import { doing, say } from "./saying.js";

const AT_ONCE = 20;

export async function conflicts(at) {
  const [open, decided] = await Promise.all([openOnes(at), decidedOnes(at.signal)]);
  return { title: "Conflicts", parts: [section("To decide", open), section("Decided", decided)] };
}

/** Each with what the candidates' visits say of them, which only a single one is told with. */
function openOnes(at) {
  return growing({
    into: el("div", { class: "cards" }),
    shown: (conflict) => card(conflict, at),
    empty: "No conflict to decide.",
    async load(cursor) {
      const page = await listed("unresolved", cursor, at.signal);
      const items = await Promise.all(page.items.map(async (each) => ({
        ...(await read(`conflicts/${each.conflict_id}`, {}, at.signal)),
        now: (await read(`subscriptions/${each.subscription_id}`, {}, at.signal)).fetcher_id,
      })));
      return { items, next: page.next };
    },
  });
}

async function listed(status, cursor, signal) {
  const page = await read("conflicts", { status, cursor, limit: AT_ONCE }, signal);
  return { items: page.conflicts, next: page.next_cursor };
}

function card(conflict, at) {
  const { conflict_data: data, suggestion } = conflict;
  return el("article", { class: "card" },
    el("h3", {}, outside(conflict.source_url)),
    data.conflict_reason ? el("p", {}, data.conflict_reason) : null,
    suggestion ? quiet(suggestion.why) : null,
    el("div", { class: "actions" }, conflict.candidate_fetchers.map((each) => choice(each, conflict, at))),
    el("small", {}, "opened ", moment(conflict.created_at)));
}

function choice({ fetcher_id, name }, { conflict_id, now, suggestion }, at) {
  const marks = [fetcher_id === now && "has it now", fetcher_id === suggestion?.fetcher_id && "suggested"].filter(Boolean);
  const pressed = button(`Give it to ${name}${marks.length ? ` (${marks.join(", ")})` : ""}`, () => doing(pressed, async () => {
    await change("POST", `conflicts/${conflict_id}/resolve`, { fetcher_id });
    say(`Decided: ${name} fetches it.`);
    await at.again();
  }));
  return pressed;
}

function decidedOnes(signal) {
  return growing({
    into: table(DECIDED, []).tBodies[0],
    shown: (conflict) => row(DECIDED, conflict),
    empty: "None has been decided yet.",
    load: (cursor) => listed("resolved", cursor, signal),
  });
}

function winner({ resolution_data: data, candidate_fetchers }) {
  const id = data?.resolved_fetcher_id;
  return candidate_fetchers.find((each) => each.fetcher_id === id)?.name ?? (id ? `fetcher ${id}` : null);
}

const DECIDED = [
  ["Source", (each) => outside(each.source_url)],
  ["Candidates", (each) => each.candidate_fetchers.map(({ name }) => name).join(", ")],
  ["Given to", winner],
  ["By", (each) => each.resolution_data?.resolved_by],
  ["Why", (each) => each.resolution_data?.resolution_reason],
  ["When", (each) => moment(each.resolved_at)],
];
