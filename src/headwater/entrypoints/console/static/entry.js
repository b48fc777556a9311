// One entry: its text as the publisher wrote it, and what it said before each edit.

import { read } from "./api.js";
import { badge, el, facts, outside, quiet, section } from "./dom.js";
import { titleOf } from "./entry_list.js";
import { moment } from "./moments.js";
import { plural } from "./words.js";

export async function entry({ signal }, feedId, uid) {
  const [its, feed] = await Promise.all([
    read(`entries/${encodeURIComponent(uid)}`, { feed_id: feedId, versions: "1" }, signal),
    read(`feeds/${encodeURIComponent(feedId)}`, {}, signal),
  ]);
  return {
    title: titleOf(its),
    parts: [
      el("p", { class: "about" }, its.version > 1 ? badge(`version ${its.version}`) : null, " ",
        el("a", { href: `#/feeds/${feed.id}` }, feed.title ?? feed.url), its.canonical_link ? [" · ", outside(its.canonical_link)] : null),
      section("Text", text(its)),
      its.enclosures.length > 0 && section("Enclosures", el("ul", { class: "lines" }, its.enclosures.map((each) =>
        el("li", {}, outside(each.url), el("small", {}, each.type ?? ""))))),
      its.versions?.length > 0 && section("Before", its.versions.map(version)),
      section("What is known of it", known(its)),
    ].filter(Boolean),
  };
}

/** Markup is shown as it stands: nothing of it is ever made into a page. */
function text({ summary, content }) {
  const said = content ?? summary;
  return said ? el("pre", { class: "text", tabindex: "0" }, said) : quiet("It has no text.");
}

function version(each) {
  return el("details", {}, el("summary", {}, `Version ${each.version}, until `, moment(each.replaced_at)),
    el("p", {}, each.entry.title ?? ""), text(each.entry));
}

function known(its) {
  return facts([
    ["Published", moment(its.published)],
    ["Updated", moment(its.updated)],
    ["First seen", moment(its.first_seen)],
    ["Last seen", el("span", {}, moment(its.last_seen), its.is_present ? "" : " (not in the newest document)")],
    ["Seen", plural(its.seen_count, "time")],
    ["Authors", its.authors.map(({ name, email }) => name ?? email).filter(Boolean).join(", ")],
    ["Categories", its.categories.join(", ")],
    ["Uid", el("code", {}, its.entry_uid)],
    ["Raw", its.raw_refs.map(({ fetch_id, note }) => note === "expired" ? "expired "
      : el("a", { href: `raw/${encodeURIComponent(fetch_id)}?meta=1`, target: "_blank", rel: "noopener" }, "record "))],
  ]);
}
