// Events as they come. A stream that ends is taken up again where it was, after a growing rest.

const FIRST_REST = 3_000;
const LONGEST_REST = 60_000;

/** `after` is the last number known. Ends with the signal. `state` hears "live" and "waiting". */
export function follow({ after, types, signal, heard, state }) {
  let last = after;
  let rest = FIRST_REST;
  let stream = null;
  let waiting = null;

  function open() {
    stream = new EventSource(`events/stream?after=${last}`);
    stream.addEventListener("open", () => { rest = FIRST_REST; state("live"); });
    stream.addEventListener("error", lost);
    stream.addEventListener("log_reset", (told) => { last = JSON.parse(told.data).last_seq; });
    for (const type of types) stream.addEventListener(type, take);
  }

  function take(told) {
    const event = JSON.parse(told.data);
    last = event.seq;
    heard(event);
  }

  /** Whatever the browser would do by itself: after a refusal it would never come back. */
  function lost() {
    stream.close();
    state("waiting");
    waiting = setTimeout(open, rest * (0.75 + Math.random() / 2));
    rest = Math.min(rest * 2, LONGEST_REST);
  }

  if (signal.aborted) return;
  signal.addEventListener("abort", () => { clearTimeout(waiting); stream.close(); });
  open();
}
