// What a person may ask of a feed: visit now, pause, resume, remove.

import { change, read } from "./api.js";
import { button, el } from "./dom.js";
import { asked, doing, say } from "./saying.js";

const LOOKS = 60;
const BETWEEN_LOOKS = 1_000;

export function actions(feed, at) {
  const path = `feeds/${feed.id}`;
  const visit = button("Visit now", () => doing(visit, () => visitNow(path, feed, at)), { class: "first" });
  const isPaused = feed.state !== "active";
  const pause = button(isPaused ? "Resume" : "Pause", () => doing(pause, async () => {
    await change("PATCH", path, { state: isPaused ? "active" : "paused" });
    say(isPaused ? "It is visited again." : "Paused: no more visits until you resume it.");
    await at.again();
  }));
  const remove = button("Remove", () => doing(remove, () => removed(path, feed)), { class: "danger" });
  const shown = feed.state === "removed" ? [] : [feed.state === "active" && visit, pause, remove];
  return el("div", { class: "actions" }, shown);
}

/** A worker comes when the host's turn does: until then the page looks again now and then. */
async function visitNow(path, feed, at) {
  const told = await change("POST", `${path}/refetch`, {});
  say(told.in_progress ? "A worker is there already…" : "Asked. A worker comes when its host has a turn…");
  for (let look = 0; look < LOOKS; look += 1) {
    await new Promise((then) => { setTimeout(then, BETWEEN_LOOKS); });
    if (at.signal.aborted) return;
    const { stats } = await read(path, {}, at.signal);
    if (stats.last_fetch_at !== feed.stats.last_fetch_at) {
      say("Visited.");
      await at.again();
      return;
    }
  }
}

async function removed(path, feed) {
  const name = el("bdi", {}, feed.title ?? feed.url);
  if (!(await asked(["Remove “", name, "”? There are no more visits; its entries and history stay."], "Remove"))) return;
  await change("DELETE", path);
  location.hash = "#/feeds";
}
