// Following a feed by its URL. A page that links to feeds is answered with those to choose from.

import { Refused, change } from "./api.js";
import { button, el, field } from "./dom.js";
import { doing, say } from "./saying.js";

export function adding() {
  const url = el("input", { name: "url", type: "url", required: true, inputmode: "url", autocomplete: "off",
    placeholder: "https://example.org/feed.xml" });
  const press = el("button", { type: "submit", class: "first" }, "Add");
  const choice = el("div", { class: "choice", hidden: true });
  return el("form", {
    class: "adding",
    on: {
      submit(sent) {
        sent.preventDefault();
        choice.hidden = true;
        doing(press, () => follow(url.value.trim(), choice));
      },
    },
  }, field("Add a feed, or a page that links to feeds", url), press, choice);
}

async function follow(url, choice) {
  say("Asking for it…");
  try {
    const feed = await change("POST", "feeds", { url });
    location.hash = `#/feeds/${feed.id}`;
  } catch (refusal) {
    if (!(refusal instanceof Refused)) throw refusal;
    if (refusal.facts.candidates?.length) offer(refusal, choice);
    else if (refusal.code === "duplicate_url" && refusal.facts.feed_id) offerKnown(refusal, choice);
    else throw refusal;
  }
}

function offer({ message, facts }, choice) {
  say(message);
  choice.replaceChildren(el("p", {}, "Which of them?"), el("ul", { class: "lines" }, facts.candidates.map(({ url, title }) => {
    const take = button(`Add ${title || url}`, () => doing(take, () => follow(url, choice)));
    return el("li", {}, take, el("small", {}, url));
  })));
  choice.hidden = false;
  choice.querySelector("button").focus();
}

function offerKnown({ message, facts }, choice) {
  say(message, "trouble");
  choice.replaceChildren(el("a", { href: `#/feeds/${facts.feed_id}` }, "Show that feed"));
  choice.hidden = false;
}
