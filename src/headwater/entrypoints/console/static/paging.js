// A list that grows: one page, and a button for the next one.

import { button, el, quiet } from "./dom.js";
import { doing } from "./saying.js";

/**
 * `load(cursor)` gives { items, next }; `into` is where `shown(item)` is put; `empty` is said when
 * there is nothing at all; `grown` hears of each page. The first page is there when this returns.
 */
export async function growing({ load, into, shown, empty, grown }) {
  const whole = el("div", { class: "growing" });
  const more = button("Show more", () => doing(more, add));
  let cursor = null;

  async function add() {
    const page = await load(cursor);
    into.append(...page.items.map(shown));
    cursor = page.next;
    more.hidden = cursor === null;
    grown?.();
  }

  await add();
  if (into.childElementCount === 0) whole.append(quiet(empty));
  else whole.append(into.closest("table") ?? into);
  whole.append(more);
  return whole;
}
