// [data-scrub]: the line under a session. Seeking from the present opens a page of the past; within the past that page is
// morphed into the one of the event, so what the reader opened, scrolled and has focused stays. Without it the steps are links.
// Others seek with a "seek" event, whose detail is an address; "sought" says that it is shown, "taken" that the reader seeks.
const scrub = () => document.getElementById("scrub");
const track = () => scrub()?.querySelector(".scrub-t");
const isPast = () => "then" in (scrub()?.dataset ?? {});
const url = (event) => `${scrub().dataset.url}${scrub().dataset.url.includes("?") ? "&" : "?"}at=${event}`;
const stops = () => (track()?.dataset.stops ?? "").trim().split(" ").filter(Boolean).map((stop) => stop.split(":").map(Number)); // event, x, seconds
const many = (n, one) => `${n.toLocaleString("en")} ${one}${n == 1 ? "" : "s"}`;
const words = (s) => (s < 60 ? many(Math.floor(s), "second") : `${many(Math.floor(s / 60), "minute")} ${Math.floor(s % 60)}`);
const pane = () => document.querySelector("#loop-scroll");
let busy;

function head(x) {
  for (const line of track()?.querySelectorAll("[data-head]") ?? []) for (const name of ["x1", "x2"]) line.setAttribute(name, x);
}

// Puts the head of the line, and what screen readers hear of it, where the page stands.
function show() {
  for (const each of document.querySelectorAll("[data-play], [data-speeds]")) each.hidden = false;
  const all = Number(track()?.getAttribute("aria-valuemax"));
  if (!isPast() || !all) return;
  const { event, number, seconds } = scrub().dataset;
  head(stops().findLast(([at]) => at <= event)?.[1] ?? 0);
  track().setAttribute("aria-valuenow", number);
  track().setAttribute("aria-valuetext", `${words(Number(seconds))}, event ${Number(number).toLocaleString("en")} of ${all.toLocaleString("en")}`);
  scrub().querySelector("[data-behind]").textContent = all > number ? `${many(all - number, "event")} behind live` : "At the newest event";
}

// Shows the session as another address has it. Of several only the last is shown.
async function seek(to) {
  if (!isPast()) return location.assign(to);
  busy?.abort();
  const { signal } = (busy = new AbortController());
  try {
    const answer = await fetch(to, { signal });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok || !fresh.querySelector("[data-then]")) return location.assign(answer.url);
    const wasAtEnd = !pane() || pane().scrollTop + pane().clientHeight > pane().scrollHeight - 8;
    const keep = track()?.id;
    const main = document.querySelector("#main");
    Idiomorph.morph(main, fresh.querySelector("#main"), {
      ignoreActiveValue: true,
      callbacks: { beforeNodeMorphed: (old) => !keep || old.id != keep },
    });
    history.replaceState(history.state, "", answer.url);
    htmx.process(main);
    show();
    if (wasAtEnd && pane()) pane().scrollTop = pane().scrollHeight;
    dispatchEvent(new Event("sought"));
  } catch (error) {
    if (error.name != "AbortError") throw error;
  }
}

function take(to) {
  dispatchEvent(new Event("taken"));
  seek(to);
}

function near(event, all) {
  const box = track().querySelector("svg").getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * 1000;
  return all.reduce((best, each) => (Math.abs(each[1] - x) < Math.abs(best[1] - x) ? each : best));
}

addEventListener("pointerdown", (event) => {
  const line = event.target.closest?.('[id^="session-track-"]');
  const all = stops();
  if (!line || event.button || !all.length) return;
  line.setPointerCapture(event.pointerId);
  line.onpointermove = (moved) => head(near(moved, all)[1]);
  line.onpointerup = line.onpointercancel = (last) => {
    line.onpointermove = line.onpointerup = line.onpointercancel = null;
    last.type == "pointerup" ? take(url(near(last, all)[0])) : show();
  };
  line.onpointermove(event);
});

// The first look back tells the session anew, so it begins when the pointer comes near.
let isNear = false;
addEventListener("pointerover", (event) => {
  if (isNear || isPast() || !event.target.closest?.("[data-scrub]") || !stops().length) return;
  isNear = true;
  fetch(url(stops().at(-1)[0]), { method: "HEAD" });
});

const player = async (target) => (await import(scrub().dataset.player)).press(target);
addEventListener("click", (event) => {
  if (event.target.closest?.("[data-play], [data-speed]")) player(event.target);
  const to = event.target.closest?.("[data-seek]");
  if (!to || event.ctrlKey || event.metaKey || event.shiftKey || !isPast()) return;
  event.preventDefault();
  take(to.href);
});

// On the line itself, as the ARIA slider pattern says.
const NEXT = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1 };
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.target !== track() || event.ctrlKey || event.metaKey || event.altKey) return;
  const press = (key) => scrub().querySelector(`[data-key="${key}"]`).click();
  const turn = event.shiftKey || event.key.startsWith("Page") ? "Shift+" : "";
  if (event.key == " ") press("Space");
  else if (event.key == "Home") take(scrub().querySelector("[data-first]").dataset.first);
  else if (event.key == "End" && stops().length) take(url(stops().at(-1)[0]));
  else if (NEXT[event.key]) press(`${turn}Arrow${NEXT[event.key] > 0 ? "Right" : "Left"}`);
  else return;
  event.preventDefault();
});

addEventListener("seek", (event) => seek(event.detail));
addEventListener("live:frame", () => {
  if (!isPast()) return;
  show();
  if (location.hash != "#play" || !stops().length) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  player();
});
show();
