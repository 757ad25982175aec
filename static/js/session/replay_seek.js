// Seeks in the replay of a session: on the live page it opens the page as of an event; there, it morphs the page into
// that of another event, so open details and focus stay, and scrolls to the event. Events: "replay:seek" requests a URL
// (its detail), "replay:shown" follows when it is shown, "replay:interrupted" means that the reader seeks.
import { isPast, show, stops, seekByReader } from "./replay_track.js";

const pane = () => document.querySelector("#loop-scroll");
const LISTS = '[id^="session-turns-"], [id^="session-events-"]';
let busy;

// The conversation and the events of such a page end at the event.
function scrollToEvent() {
  if (pane()?.querySelector(LISTS)) pane().scrollTop = pane().scrollHeight;
}

// Shows the session at another URL; a newer call cancels this one.
async function seek(to) {
  if (!isPast()) return location.assign(to);
  busy?.abort();
  const { signal } = (busy = new AbortController());
  try {
    const answer = await fetch(to, { signal });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok || !fresh.querySelector("[data-moment]")) return location.assign(answer.url);
    const keep = document.querySelector('[id^="session-track-"]')?.id;
    const main = document.querySelector("#main");
    Idiomorph.morph(main, fresh.querySelector("#main"), {
      ignoreActiveValue: Boolean(document.activeElement?.matches("input, textarea, select")), // as live updates
      callbacks: { beforeNodeMorphed: (old) => !keep || old.id != keep },
    });
    history.replaceState(history.state, "", answer.url);
    htmx.process(main);
    show();
    scrollToEvent();
    dispatchEvent(new Event("replay:shown"));
  } catch (error) {
    if (error.name != "AbortError") throw error;
  }
}

addEventListener("click", (event) => {
  const to = event.target.closest?.("[data-seek]");
  if (!to || event.ctrlKey || event.metaKey || event.shiftKey || !isPast()) return;
  event.preventDefault();
  seekByReader(to.href);
});

addEventListener("replay:seek", (event) => seek(event.detail));
addEventListener("live:frame", async () => {
  if (!isPast()) return;
  show();
  if (location.hash != "#play" || !stops().length) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  (await import("./player.js")).press();
});
show();
if (isPast() && (!location.hash || location.hash == "#play")) scrollToEvent();
