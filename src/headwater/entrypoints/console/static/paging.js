// A list that grows: one page, and a button for the next one.

import { button, el, quiet } from "./dom.js";
import { doing } from "./saying.js";

const FURTHER = "Nothing so far; what is older has not been looked through yet.";

/**
 * `load(cursor)` gives { items, next }; `into` is where `shown(item)` is put; `empty` is said when
 * there is nothing at all; `grown` hears of each page. The first page is there when this returns.
 */
export async function growing({ load, into, shown, empty, grown }) {
  const list = into.closest("table") ?? into;
  const nothing = quiet(empty);
  const more = button("Show more", () => doing(more, add));
  let cursor = null;

  /** A page may be empty though others come: a search reads only so far at a time. */
  async function add() {
    const page = await load(cursor);
    into.append(...page.items.map(shown));
    cursor = page.next;
    more.hidden = cursor === null;
    list.hidden = into.childElementCount === 0;
    nothing.hidden = !list.hidden;
    nothing.textContent = cursor === null ? empty : FURTHER;
    grown?.();
  }

  await add();
  return el("div", { class: "growing" }, nothing, list, more);
}
