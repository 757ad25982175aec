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
    all > number ? `${plural(all - number, "event")} before the end` : "Latest";
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

// Moves the head with a pointer that was pressed on the track, and seeks when it is released, or to where it was
// released while this module loaded.
export function grab(line, press, release) {
  const all = stops();
  if (!all.length) return;
  const end = (last) => {
    line.onpointermove = line.onpointerup = line.onpointercancel = null;
    last.type == "pointerup" ? seekByReader(url(near(last, all)[0])) : show();
  };
  if (release) return end(release);
  line.setPointerCapture(press.pointerId);
  line.onpointermove = (moved) => moveHead(near(moved, all)[1]);
  line.onpointerup = line.onpointercancel = end;
  line.onpointermove(press);
}

// Handles a key of the ARIA slider pattern.
const NEXT = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1 };
export function press({ key, shiftKey }) {
  const click = (name) => replay().querySelector(`[data-key="${name}"]`).click();
  const turn = shiftKey || key.startsWith("Page") ? "Shift+" : "";
  if (key == " ") click("Space");
  else if (key == "Home") seekByReader(replay().querySelector("[data-first]").dataset.first);
  else if (key == "End" && stops().length) seekByReader(url(stops().at(-1)[0]));
  else if (NEXT[key]) click(`${turn}Arrow${NEXT[key] > 0 ? "Right" : "Left"}`);
}

// The first request for an earlier event replays the session on the server: start it, as the pointer is near.
if (!isPast() && stops().length) fetch(url(stops().at(-1)[0]), { method: "HEAD" });
