// The replay track, a slider: shows the position of the page in the session's history; seeks by pointer and keyboard.
const replay = () => document.getElementById("replay");
const track = () => replay()?.querySelector(".replay-track");
export const isPast = () => "moment" in (replay()?.dataset ?? {});
const url = (event) => `${replay().dataset.url}${replay().dataset.url.includes("?") ? "&" : "?"}at=${event}`;
export const stops = () =>
  (track()?.dataset.stops ?? "")
    .trim()
    .split(" ")
    .filter(Boolean)
    .map((stop) => stop.split(":").map(Number)); // event, x, seconds
const plural = (n, one) => `${n.toLocaleString("en")} ${one}${n == 1 ? "" : "s"}`;
const spokenTime = (s) =>
  s < 60 ? plural(Math.floor(s), "second") : `${plural(Math.floor(s / 60), "minute")} ${Math.floor(s % 60)}`;

function moveHead(x) {
  for (const line of track()?.querySelectorAll("[data-head]") ?? [])
    for (const name of ["x1", "x2"]) line.setAttribute(name, x);
}

// Moves the head of the track, and its ARIA values, to the event of the page.
export function show() {
  for (const each of document.querySelectorAll("[data-play], [data-speeds]")) each.hidden = false;
  const all = Number(track()?.getAttribute("aria-valuemax"));
  if (!isPast() || !all) return;
  const { event, number, seconds } = replay().dataset;
  moveHead(stops().findLast(([at]) => at <= event)?.[1] ?? 0);
  track().setAttribute("aria-valuenow", number);
  track().setAttribute(
    "aria-valuetext",
    `${spokenTime(Number(seconds))}, event ${Number(number).toLocaleString("en")} of ${all.toLocaleString("en")}`,
  );
  replay().querySelector("[data-lag]").textContent =
    all > number ? `${plural(all - number, "event")} behind live` : "Latest";
}

// Seeks for the reader, which stops the player.
export function seekByReader(to) {
  dispatchEvent(new Event("replay:interrupted"));
  dispatchEvent(new CustomEvent("replay:seek", { detail: to }));
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
  line.onpointermove = (moved) => moveHead(near(moved, all)[1]);
  line.onpointerup = line.onpointercancel = (last) => {
    line.onpointermove = line.onpointerup = line.onpointercancel = null;
    last.type == "pointerup" ? seekByReader(url(near(last, all)[0])) : show();
  };
  line.onpointermove(event);
});

// The first request for an earlier event replays the session on the server: start it when the pointer is near.
let isNear = false;
addEventListener("pointerover", (event) => {
  if (isNear || isPast() || !event.target.closest?.("[data-replay]") || !stops().length) return;
  isNear = true;
  fetch(url(stops().at(-1)[0]), { method: "HEAD" });
});

// Keys of the ARIA slider pattern.
const NEXT = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1 };
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.target !== track() || event.ctrlKey || event.metaKey || event.altKey) return;
  const press = (key) => replay().querySelector(`[data-key="${key}"]`).click();
  const turn = event.shiftKey || event.key.startsWith("Page") ? "Shift+" : "";
  if (event.key == " ") press("Space");
  else if (event.key == "Home") seekByReader(replay().querySelector("[data-first]").dataset.first);
  else if (event.key == "End" && stops().length) seekByReader(url(stops().at(-1)[0]));
  else if (NEXT[event.key]) press(`${turn}Arrow${NEXT[event.key] > 0 ? "Right" : "Left"}`);
  else return;
  event.preventDefault();
});
