// The words of the API in plain English. A test keeps the errors the same as docs/operations.md.

export const OUTCOMES = {
  fetched: "fetched",
  unchanged: "not modified",
  unreadable: "fetched, not readable",
  throttled: "asked to wait",
  gone: "gone",
  failed: "failed",
};

export const FAILED = new Set(["unreadable", "gone", "failed"]);

export const STATES = ["active", "paused", "gone", "duplicate", "removed"];

/** What is said of an event; what it is about stands beside. */
export const EVENTS = {
  new_entry: "new entry",
  updated_entry: "entry edited",
  feed_moved: "feed moved",
  feed_gone: "feed gone",
  feed_failing: "feed keeps failing",
  feed_recovered: "feed works again",
  subscription_created: "followed",
  subscription_changed: "subscription changed",
  subscription_assigned: "given to another fetcher",
  subscription_deleted: "not followed any more",
  conflict_opened: "conflict to decide",
  conflict_resolved: "conflict decided",
  release_found: "release wanted",
  release_held: "release waits for a person",
  release_downloaded: "release in the library",
  release_upgraded: "release upgraded",
  release_failed: "release given up",
  episode_missing: "episode missing",
};

export const TROUBLE = new Set(["feed_gone", "feed_failing", "conflict_opened", "release_held", "release_failed"]);

/** A failed visit: its code, in a sentence. */
export function meaning(code) {
  return MEANINGS[code] ?? code;
}

export function plural(count, one) {
  return `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
}

const MEANINGS = {
  bad_url: "The URL cannot be fetched as it is written.",
  blocked_address: "The URL leads to an address or port that feeds may not reach.",
  dns_error: "The host name could not be resolved.",
  connect_error: "The host did not accept a connection.",
  tls_error: "The secure connection failed: bad certificate, name or protocol.",
  timeout: "The answer did not come in time.",
  secret_unreadable: "The credentials of this feed do not open with the key that is set.",
  bad_http: "The host did not answer in proper HTTP.",
  headers_too_large: "The answer's headers are larger than the limits allow.",
  too_many_interim: "The host sent too many interim (1xx) answers.",
  connection_lost: "The connection broke before an answer came.",
  incomplete_body: "The connection ended before the whole document came.",
  body_too_large: "The document is larger than the limit.",
  network_error: "The request failed in the network layer.",
  too_many_redirects: "The URL redirects in a loop or too many times.",
  bad_redirect: "The URL redirects to something that is no http or https URL.",
  unexpected_304: "The host said 'not modified' although nothing to compare was sent.",
  unexpected_status: "The host answered with a status that makes no sense here.",
  empty_body: "The host answered with success but sent no document.",
  unaccepted_type: "The document's content type is not on the list of accepted types.",
  http_400: "The host calls the request bad (400).",
  http_401: "The host asks for a login (401).",
  http_403: "The host refuses access (403).",
  http_404: "Nothing is found at this URL (404).",
  http_410: "The server says that the feed is gone for good (410).",
  http_429: "The server asks us to wait: too many requests (429).",
  http_4xx: "The host refuses the request (another 4xx status).",
  http_500: "The host has an internal error (500).",
  http_502: "A gateway in front of the host got no good answer (502).",
  http_503: "The server asks us to wait: it is busy, or being worked on (503).",
  http_504: "A gateway in front of the host waited too long (504).",
  http_5xx: "The host has trouble of its own (another 5xx status).",
  bad_coding: "The document is damaged, or not compressed the way its label says.",
  unsupported_coding: "The document is compressed in a way we did not ask for.",
  too_many_codings: "The document is compressed more than once.",
  fetcher_error: "The fetcher of this source had trouble of its own.",
  not_a_feed: "The document is not a feed.",
  parse_error: "The document ends before its first entry.",
  quarantined: "This very document killed its parser before; it is not tried again.",
  parser_crashed: "The parser ended on this document. The bytes are kept.",
  parser_timeout: "The parser took longer than its limit on this document. The bytes are kept.",
  parser_memory: "The parser needed more memory than its limit on this document. The bytes are kept.",
  parser_unavailable: "No parse process could be started on this machine. The document is not to blame and is read at the next visit.",
  internal_error: "A mistake of ours, or something that the database will not store.",
};
