// How long a feed rested after each visit, oldest on the left; failures are marked.

import { el, svg } from "./dom.js";
import { duration } from "./moments.js";
import { FAILED, OUTCOMES } from "./words.js";

const WIDE = 640;
const HIGH = 150;
const LEFT = 112;
const EDGE = 16;

/** `decisions` come newest first. The scale is logarithmic: minutes and days fit on one picture. */
export function intervals(decisions) {
  const seen = decisions.toReversed();
  const chosen = seen.map((each) => Math.max(1, each.interval_after));
  const [low, high] = [Math.min(...chosen), Math.max(...chosen)];
  const x = (n) => LEFT + EDGE + (n * (WIDE - LEFT - 2 * EDGE)) / Math.max(1, seen.length - 1);
  const y = (seconds) => HIGH - EDGE - share(seconds, low, high) * (HIGH - 2 * EDGE);
  const failures = seen.filter((each) => FAILED.has(each.outcome)).length;
  const range = low === high ? `always ${duration(low)}` : `from ${duration(low)} to ${duration(high)}`;
  const about = `Intervals chosen after the last ${seen.length} visits, ${range}; `
    + `${failures} of them failed.`;
  return el("figure", {},
    svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": about },
      [...new Set([low, high])].map((seconds) => [
        svg("line", { class: "grid", x1: LEFT, x2: WIDE - EDGE, y1: y(seconds), y2: y(seconds) }),
        svg("text", { x: LEFT - 8, y: y(seconds) + 5, "text-anchor": "end" }, duration(seconds)),
      ]),
      svg("path", { class: "line", d: steps(chosen, x, y) }),
      seen.map((each, n) => mark(each, x(n), y(chosen[n])))),
    el("figcaption", {}, about));
}

function share(seconds, low, high) {
  return low === high ? 0.5 : Math.log(seconds / low) / Math.log(high / low);
}

function steps(chosen, x, y) {
  return chosen.map((seconds, n) => (n === 0 ? `M${x(0)} ${y(seconds)}` : `H${x(n)}V${y(seconds)}`)).join("");
}

function mark(decision, cx, cy) {
  const bad = FAILED.has(decision.outcome);
  return svg("circle", { class: bad ? "bad" : "good", cx, cy, r: bad ? 5 : 3 },
    svg("title", {}, `${decision.decided_at}: ${OUTCOMES[decision.outcome] ?? decision.outcome}, ${decision.reason}`));
}
