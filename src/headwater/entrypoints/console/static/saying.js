// What the page says to people: in passing, when something was refused, before something goes.

import { Refused, isOver } from "./api.js";
import { button, el } from "./dom.js";

/** One line, read out too; gone with the next view. */
export function say(text, kind = "") {
  document.querySelector("#said").replaceChildren(...(text ? [el("p", { class: kind }, text)] : []));
}

/** Does it while its button cannot be pressed again; a refusal is told in its own words. */
export async function doing(pressed, work) {
  pressed.disabled = true;
  say("");
  try {
    return await work();
  } catch (trouble) {
    if (isOver(trouble)) return null;
    if (!(trouble instanceof Refused)) throw trouble;
    say(trouble.message, "trouble");
    return null;
  } finally {
    pressed.disabled = false;
    if (document.activeElement === document.body) pressed.focus(); // lost while disabled
  }
}

/** True when the person says yes; Escape means no. */
export function asked(question, yes) {
  return new Promise((decide) => {
    const box = el("dialog", { on: { close: () => { box.remove(); decide(box.returnValue === "yes"); } } },
      el("p", {}, question),
      el("div", { class: "actions" },
        button(yes, () => box.close("yes"), { class: "danger" }),
        button("Cancel", () => box.close("no"), { autofocus: true })));
    document.body.append(box);
    box.showModal();
  });
}
