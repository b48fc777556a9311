// Which view the address asks for, and what every view has in common.

import { Refused } from "./api.js";
import { button, el } from "./dom.js";
import { listen } from "./keys.js";
import { keepRight } from "./moments.js";
import { conflicts } from "./conflicts.js";
import { entries } from "./entries.js";
import { entry } from "./entry.js";
import { feed } from "./feed.js";
import { feeds } from "./feeds.js";
import { overview } from "./overview.js";
import { say } from "./saying.js";

/** Each gives { title, parts } for what the pattern found; `at` has the signal and `again`. */
const VIEWS = [
  [/^\/?$/, overview],
  [/^\/feeds$/, feeds],
  [/^\/feeds\/([^/]+)$/, feed],
  [/^\/entries$/, entries],
  [/^\/entries\/([^/]+)\/([^/]+)$/, entry],
  [/^\/conflicts$/, conflicts],
];

const main = document.querySelector("main");
let leaving = new AbortController();

/** `how`: at the "start", because somebody "moved", or the same place "again". */
async function show(how) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const [path, query] = location.hash.slice(1).split("?");
  main.setAttribute("aria-busy", "true");
  markPlace(path);
  if (how === "moved") say("");
  try {
    const at = { signal, query: new URLSearchParams(query ?? ""), again: () => show("again") };
    const view = await viewOf(path, at);
    if (!signal.aborted) put(view, how);
  } catch (trouble) {
    if (signal.aborted) return;
    put(refused(trouble), how);
    if (!(trouble instanceof Refused)) throw trouble;
  }
}

async function viewOf(path, at) {
  for (const [pattern, view] of VIEWS) {
    const found = pattern.exec(path);
    if (found) return view(at, ...found.slice(1).map(readable));
  }
  return { title: "Nothing here", parts: [el("p", {}, "There is no such view. ", el("a", { href: "#/" }, "Overview"))] };
}

function put({ title, parts }, how) {
  const heading = el("h1", { tabindex: "-1" }, title);
  document.title = `${title} – Headwater`;
  main.replaceChildren(heading, ...parts);
  main.removeAttribute("aria-busy");
  if (how !== "start") heading.focus({ preventScroll: true });
  if (how === "moved") scrollTo(0, 0);
}

function refused(trouble) {
  const said = trouble instanceof Refused ? trouble.message : "Something went wrong on this page.";
  const parts = [el("p", { class: "trouble", role: "alert" }, said), button("Try again", () => show("again"))];
  return { title: "Not shown", parts };
}

function markPlace(path) {
  for (const link of document.querySelectorAll("nav a")) {
    const its = link.getAttribute("href").slice(1);
    const here = its === "/" ? /^\/?$/.test(path) : path.startsWith(its);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Addresses are typed by people too: a broken escape is taken as it stands. */
function readable(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

document.querySelector(".skip").addEventListener("click", (pressed) => {
  pressed.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => show("moved"));
listen();
keepRight();
show("start");
