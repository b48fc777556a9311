// The one way to data: the REST API that every other program uses.

import { duration } from "./moments.js";

/** A refusal in the API's own words. `facts` is the whole envelope. */
export class Refused extends Error {
  constructor(facts) {
    super(inWords(facts));
    this.code = facts.error;
    this.status = facts.status_code;
    this.facts = facts;
  }
}

/** True for what ended because the person went on to another view. */
export function isOver(trouble) {
  return trouble.name === "AbortError";
}

export async function read(path, query = {}, signal = undefined) {
  const said = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const asked = new URLSearchParams(said).toString();
  return told(await sent(asked ? `${path}?${asked}` : path, { signal }));
}

export async function readText(path, signal = undefined) {
  const answer = await sent(path, { signal });
  if (!answer.ok) return told(answer);
  return answer.text();
}

/** A POST carries a key: sent twice, it has one effect. */
export async function change(method, path, body = undefined) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method === "POST") headers["Idempotency-Key"] = newKey();
  return told(await sent(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }));
}

async function sent(path, options) {
  try {
    return await fetch(path, { credentials: "same-origin", redirect: "error", ...options });
  } catch (trouble) {
    if (isOver(trouble)) throw trouble;
    throw new Refused({ error: "unreachable", status_code: 0, message: "Headwater does not answer. Is it running?" });
  }
}

async function told(answer) {
  const isJson = (answer.headers.get("content-type") ?? "").startsWith("application/json");
  const said = isJson ? await answer.json() : null;
  if (answer.ok && isJson) return said;
  throw new Refused(said ?? { error: "odd_answer", status_code: answer.status, message: "The answer cannot be read." });
}

function inWords(facts) {
  const said = [facts.message];
  if (Array.isArray(facts.detail)) said.push(...facts.detail.map(({ loc, msg }) => `${loc.at(-1)}: ${msg}.`));
  if (facts.retry_after_sec) said.push(`Try again in ${duration(Math.ceil(facts.retry_after_sec))}.`);
  if (facts.status_code === 401) said.push("Load this page again to log in.");
  return said.join(" ");
}

/** `randomUUID` is only there on https and loopback; these bytes are everywhere. */
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
