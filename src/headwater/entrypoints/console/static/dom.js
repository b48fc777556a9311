// Elements out of names and text. Text only ever becomes a text node, so nothing in it can run.

const SVG = "http://www.w3.org/2000/svg";

/** `about` holds attributes; `on` in it holds listeners. What is null or false is left out. */
export function el(name, about = {}, ...inside) {
  return filled(document.createElement(name), about, inside);
}

export function svg(name, about = {}, ...inside) {
  return filled(document.createElementNS(SVG, name), about, inside);
}

function filled(made, { on = {}, ...attributes }, inside) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (isThere(value)) made.setAttribute(name, value);
  }
  for (const [what, then] of Object.entries(on)) made.addEventListener(what, then);
  made.append(...inside.flat(Infinity).filter(isThere));
  return made;
}

function isThere(each) {
  return each !== null && each !== undefined && each !== false;
}

/** A link that a publisher wrote: only to the web, and it learns nothing of us. Else plain text. */
export function outside(url, text = url) {
  if (!isWeb(url)) return el("span", {}, text ?? "");
  return el("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, text);
}

function isWeb(url) {
  return URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);
}

export function hostOf(url) {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** A part of the page with its heading. */
export function section(title, ...inside) {
  return el("section", {}, el("h2", {}, title), ...inside);
}

export function quiet(text) {
  return el("p", { class: "quiet" }, text);
}

/** Names and values, side by side; a value of null is left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => isThere(value) && value !== "");
  return el("dl", { class: "facts" }, shown.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

export function badge(text, kind = "") {
  return el("span", { class: `badge ${kind}` }, text);
}

export function button(text, then, about = {}) {
  return el("button", { type: "button", on: { click: then }, ...about }, text);
}

/** A field with its label around it. */
export function field(label, input) {
  return el("label", {}, el("span", {}, label), input);
}

/** `columns` are [heading, what stands in the cell of an item]. */
export function table(columns, items) {
  const body = el("tbody");
  const whole = el("table", {},
    el("thead", {}, el("tr", {}, columns.map(([name]) => el("th", { scope: "col" }, name)))), body);
  body.append(...items.map((item) => row(columns, item)));
  return whole;
}

export function row(columns, item) {
  return el("tr", {}, columns.map(([name, cell]) => {
    const inside = cell(item);
    return el("td", { "data-label": name, class: isThere(inside) ? null : "none" }, inside ?? "–");
  }));
}
