// A list that grows: one page, and a button for the next one.

import { Refused, isOver } from "./api.js";
import { button, el, quiet } from "./dom.js";

/**
 * `load(cursor)` gives { items, next }; `into` is where `shown(item)` is put; `empty` is said when
 * there is nothing at all. The first page is there when this returns.
 */
export async function growing({ load, into, shown, empty }) {
  const whole = el("div", { class: "growing" });
  const more = button("Show more", next);
  const trouble = el("p", { class: "trouble", role: "alert", hidden: true });
  let cursor = null;

  async function add() {
    const page = await load(cursor);
    into.append(...page.items.map(shown));
    cursor = page.next;
    more.hidden = cursor === null;
  }

  async function next() {
    more.disabled = true;
    trouble.hidden = true;
    try {
      await add();
    } catch (refusal) {
      if (isOver(refusal)) return;
      if (!(refusal instanceof Refused)) throw refusal;
      trouble.textContent = refusal.message;
      trouble.hidden = false;
    }
    more.disabled = false;
  }

  await add();
  if (into.childElementCount === 0) whole.append(quiet(empty));
  else whole.append(into.closest("table") ?? into);
  whole.append(trouble, more);
  return whole;
}
