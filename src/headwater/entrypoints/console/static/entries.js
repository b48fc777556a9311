// Every entry, by words, category and how far back.

import { el, field } from "./dom.js";
import { entryList } from "./entry_list.js";
import { daysAgo } from "./moments.js";

const SINCE = { "": "ever", 1: "1 day", 7: "7 days", 30: "30 days", 365: "a year" };

export async function entries({ query, signal }) {
  const q = query.get("q") ?? "";
  const category = query.get("category") ?? "";
  const days = query.get("days") ?? "";
  const asked = { q, category, since: Number(days) > 0 ? daysAgo(Number(days)) : "" };
  const isAsked = Boolean(q || category || days);
  const found = await entryList(asked, signal, isAsked ? "No entry like that." : "No entry yet. They come with the first visit of a feed.");
  return { title: "Entries", parts: [search({ q, category, days }), found] };
}

function search({ q, category, days }) {
  const words = el("input", { name: "q", type: "search", maxlength: 200, value: q, placeholder: "all of these words" });
  const under = el("input", { name: "category", maxlength: 1000, value: category, placeholder: "exactly this one" });
  const since = el("select", { name: "days" }, Object.entries(SINCE).map(([value, text]) =>
    el("option", { value, selected: value === days }, text)));
  const choose = (sent) => {
    sent.preventDefault();
    const said = Object.entries({ q: words.value.trim(), category: under.value.trim(), days: since.value });
    location.hash = `#/entries?${new URLSearchParams(said.filter(([, value]) => value))}`;
  };
  return el("form", { class: "filters", role: "search", on: { submit: choose } },
    field("Words", words), field("Category", under), field("Since", since),
    el("button", { type: "submit", class: "first" }, "Search"));
}
