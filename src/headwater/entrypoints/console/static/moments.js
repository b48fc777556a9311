// Times as people say them; the exact moment stands in the title.

import { el } from "./dom.js";

const STEPS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/** Seconds in words, two steps at most: `12 h 40 min`. */
export function duration(seconds) {
  const whole = Math.round(seconds);
  const first = STEPS.findIndex(([, size]) => whole >= size);
  if (first < 0) return "0 s";
  const [name, size] = STEPS[first];
  const more = STEPS[first + 1];
  const rest = more ? Math.floor((whole % size) / more[1]) : 0;
  return `${Math.floor(whole / size)} ${name}${rest ? ` ${rest} ${more[0]}` : ""}`;
}

/** A `<time>` that stays right while the page is open. */
export function moment(text) {
  if (!text) return null;
  return el("time", { datetime: text, title: text }, relative(text));
}

function relative(text) {
  const seconds = (Date.parse(text) - Date.now()) / 1000;
  if (Math.abs(seconds) < 5) return "now";
  const said = duration(roughly(Math.abs(seconds)));
  return seconds < 0 ? `${said} ago` : `in ${said}`;
}

/** Far away, the small step says nothing. */
function roughly(seconds) {
  if (seconds > 10 * 86400) return Math.floor(seconds / 86400) * 86400;
  if (seconds > 600) return Math.floor(seconds / 60) * 60;
  return seconds;
}

export function keepRight() {
  setInterval(() => {
    for (const each of document.querySelectorAll("time")) each.textContent = relative(each.dateTime);
  }, 10_000);
}

export function daysAgo(days) {
  return new Date(Date.now() - days * 86_400_000).toISOString();
}
