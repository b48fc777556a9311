// Entries, newest first, each a line that leads to all of it.

import { read } from "./api.js";
import { badge, el, hostOf } from "./dom.js";
import { moment } from "./moments.js";
import { growing } from "./paging.js";

const AT_ONCE = 25;

export function entryList(asked, signal, empty = "No entry yet.") {
  return growing({
    into: el("ul", { class: "lines" }),
    shown: line,
    empty,
    async load(cursor) {
      const page = await read("entries", { ...asked, cursor, limit: AT_ONCE }, signal);
      return { items: page.entries, next: page.next_cursor };
    },
  });
}

export function titleOf(entry) {
  return entry.title || entry.canonical_link || entry.entry_uid;
}

function line(entry) {
  return el("li", {}, el("span", {},
    el("a", { href: `#/entries/${entry.feed_id}/${encodeURIComponent(entry.entry_uid)}` }, titleOf(entry)), " ",
    entry.version > 1 ? badge("edited") : null, " ",
    el("small", {}, moment(entry.published ?? entry.first_seen), [host(entry), ...entry.categories].filter(Boolean).map((each) => ` · ${each}`))));
}

function host({ canonical_link: link }) {
  return link ? hostOf(link) : null;
}
