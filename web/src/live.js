// A result while it comes. The server renders every state; an event only says that there is something new, so
// nothing is lost when events are: the stream goes on after the last event that the page has, or it is asked again.
import htmx from "htmx.org";

const KINDS = ["queued", "started", "compiling", "compiled", "case", "note", "requeued", "done", "cancelled"];
const PAUSE_MS = 150;
const LOOK_MS = 5000;

export function watch(live) {
  const id = live.dataset.id;
  let planned = null;
  let busy = false;
  let over = false;

  function plan(delay) {
    if (planned === null && !over) planned = setTimeout(refresh, delay);
  }

  async function refresh() {
    planned = null;
    if (busy) return plan(PAUSE_MS);
    busy = true;
    try {
      await htmx.ajax("GET", `/submissions/${id}/live`, { target: "#live", swap: "innerHTML" });
      tell();
    } catch {
      plan(LOOK_MS);
    } finally {
      busy = false;
    }
  }

  function tell() {
    const state = document.getElementById("state");
    const words = state.dataset.words;
    const told = document.getElementById("told");
    if (told.textContent !== words) told.textContent = words;
    document.title = document.title.replace(/^[^:]*:/, `${words}:`);
    if (state.dataset.state !== "done" && state.dataset.state !== "cancelled") return;
    over = true;
    stream.close();
    clearInterval(looking);
    live.dataset.over = "yes";
    const active = document.activeElement;
    // Whoever writes elsewhere is not interrupted.
    if (!active || active === document.body || live.contains(active)) document.getElementById("verdict").focus();
  }

  const stream = new EventSource(`/submissions/${id}/events?after=${live.dataset.after}`);
  for (const kind of KINDS) stream.addEventListener(kind, () => plan(PAUSE_MS));
  stream.addEventListener("error", () => plan(stream.readyState === EventSource.CLOSED ? 0 : LOOK_MS));
  // The place in the queue changes without an event of this submission.
  const looking = setInterval(() => plan(0), LOOK_MS);
}
