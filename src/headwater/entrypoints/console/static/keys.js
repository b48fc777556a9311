// Shortcuts: 1 to 4 for the views, / for the first field. Not while somebody types.

const PLACES = { 1: "#/", 2: "#/feeds", 3: "#/entries", 4: "#/conflicts" };

export function listen() {
  addEventListener("keydown", (pressed) => {
    if (pressed.ctrlKey || pressed.metaKey || pressed.altKey || isTyping(pressed.target)) return;
    if (pressed.key in PLACES) {
      location.hash = PLACES[pressed.key];
    } else if (pressed.key === "/") {
      const first = document.querySelector("main input");
      if (first) pressed.preventDefault();
      first?.focus();
    }
  });
}

function isTyping(target) {
  return target.matches("input, select, textarea, dialog *");
}
