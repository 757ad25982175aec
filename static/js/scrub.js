// [data-scrub]: the line under a session. Seeking from the present opens a page of the past; within the past that page is
// morphed into the one of the event, so what the reader opened, scrolled and has focused stays. Without it the steps are links.
const IDLE_S = 5; // longer waits are skipped while playing
const FRAME_MS = 150; // between two events that are shown while playing
const scrub = () => document.querySelector("[data-scrub]");
const track = () => document.querySelector('[id^="session-track-"]');
const isPast = () => "then" in (scrub()?.dataset ?? {});
const url = (event) => `${scrub().dataset.url}${scrub().dataset.url.includes("?") ? "&" : "?"}at=${event}`;
let stops = []; // [event, x, seconds]
let said = "";
let playing = false;
let speed = 4;
let busy;

function read() {
  const { stops: text = "" } = track()?.dataset ?? {};
  if (text != said) stops = (said = text).trim().split(" ").map((stop) => stop.split(":").map(Number));
  if (!text) stops = [];
}

// The stop at or before an event.
function place(event) {
  let low = 0, high = stops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    stops[middle][0] <= event ? (low = middle) : (high = middle - 1);
  }
  return low;
}

function length(s) {
  return s < 3600 ? `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")}` : `${Math.floor(s / 3600)}:${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}:${String(Math.floor(s % 60)).padStart(2, "0")}`;
}

function head(x) {
  for (const line of track()?.querySelectorAll("[data-head]") ?? []) for (const name of ["x1", "x2"]) line.setAttribute(name, x);
}

// Puts the head of the line, and what screen readers hear of it, where the page stands.
function show() {
  read();
  for (const each of scrub().querySelectorAll("[data-play], [data-speeds]")) each.hidden = false;
  scrub().querySelector("[data-play]").ariaPressed = playing;
  for (const each of scrub().querySelectorAll("[data-speed]")) each.ariaPressed = each.dataset.speed == speed;
  if (!isPast() || !stops.length) return;
  const { event, number, seconds } = scrub().dataset;
  const all = Number(track().getAttribute("aria-valuemax"));
  head(stops[place(Number(event))][1]);
  track().setAttribute("aria-valuenow", number);
  track().setAttribute("aria-valuetext", `${words(Number(seconds))}, event ${Number(number).toLocaleString("en")} of ${all.toLocaleString("en")}`);
  const behind = all - number;
  scrub().querySelector("[data-behind]").textContent = behind ? `${behind.toLocaleString("en")} ${behind == 1 ? "event" : "events"} behind live` : "At the newest event";
}

const many = (n, one) => `${n} ${one}${n == 1 ? "" : "s"}`;
function words(s) {
  return s < 60 ? many(Math.floor(s), "second") : `${many(Math.floor(s / 60), "minute")} ${Math.floor(s % 60)}`;
}

// Shows the session as another address has it. Of several only the last is shown.
async function seek(to) {
  if (!isPast()) return location.assign(to);
  busy?.abort();
  const { signal } = (busy = new AbortController());
  try {
    const answer = await fetch(to, { signal });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok || !fresh.querySelector("[data-then]")) return stop(location.assign(answer.url));
    const pane = document.querySelector("#loop-scroll");
    const wasAtEnd = !pane || pane.scrollTop + pane.clientHeight > pane.scrollHeight - 8;
    const line = track()?.id;
    Idiomorph.morph(document.querySelector("#main"), fresh.querySelector("#main"), {
      ignoreActiveValue: true,
      callbacks: { beforeNodeMorphed: (old) => old.id != line || !line },
    });
    history.replaceState(history.state, "", answer.url + location.hash.replace("#play", ""));
    htmx.process(document.querySelector("#main"));
    show();
    if (wasAtEnd) toEnd();
  } catch (error) {
    if (error.name != "AbortError") throw error;
  }
}

function toEnd() {
  const pane = document.querySelector("#loop-scroll");
  if (pane && isPast()) pane.scrollTop = pane.scrollHeight;
}

function stop() {
  playing = false;
  show();
}

async function play() {
  if (!isPast() || place(Number(scrub().dataset.event)) >= stops.length - 1) return location.assign(`${scrub().querySelector("[data-play]").dataset.first}#play`);
  playing = true;
  show();
  let clock = stops[place(Number(scrub().dataset.event))][2];
  for (let at = place(Number(scrub().dataset.event)); playing && at < stops.length - 1; ) {
    const began = performance.now();
    const wait = Math.max(FRAME_MS, Math.min((stops[at + 1][2] - clock) / speed, IDLE_S / speed) * 1000);
    await new Promise((done) => setTimeout(done, wait));
    if (!playing) return;
    clock = Math.max(clock + ((performance.now() - began) / 1000) * speed, Math.min(stops[at + 1][2], clock + IDLE_S));
    let next = at + 1;
    if (stops[next][2] > clock) clock = stops[next][2];
    while (next < stops.length - 1 && stops[next + 1][2] <= clock) next++;
    await seek(url(stops[(at = next)][0]));
  }
  stop();
}

const toggle = () => (playing ? stop() : play());

function near(event) {
  const box = track().querySelector("svg").getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * 1000;
  return stops.reduce((best, each) => (Math.abs(each[1] - x) < Math.abs(best[1] - x) ? each : best), stops[0]);
}

addEventListener("pointerdown", (event) => {
  const line = event.target.closest?.('[id^="session-track-"]');
  if (!line || event.button || !stops.length) return;
  line.setPointerCapture(event.pointerId);
  if (playing) stop();
  const drag = (moved) => {
    const [, x, seconds] = near(moved);
    head(x);
    const time = scrub().querySelector(".scrub-r b");
    if (time) time.textContent = length(seconds);
  };
  drag(event);
  line.onpointermove = drag;
  line.onpointerup = line.onpointercancel = (last) => {
    line.onpointermove = line.onpointerup = line.onpointercancel = null;
    if (last.type == "pointerup") seek(url(near(last)[0]));
  };
});

addEventListener("click", (event) => {
  const to = event.target.closest?.("[data-seek]");
  if (event.target.closest?.("[data-play]")) toggle();
  const rate = event.target.closest?.("[data-speed]")?.dataset.speed;
  if (rate) show((speed = Number(rate)));
  if (!to || event.ctrlKey || event.metaKey || event.shiftKey || !isPast()) return;
  event.preventDefault();
  if (playing) stop();
  seek(to.href);
});

// The first look back tells the session anew, so it begins when the pointer comes near.
let isNear = false;
addEventListener("pointerover", (event) => {
  if (isNear || isPast() || !stops.length || !event.target.closest?.("[data-scrub]")) return;
  isNear = true;
  fetch(url(stops.at(-1)[0]), { method: "HEAD" });
});

// On the line itself, as the ARIA slider pattern says.
const steps = { ArrowRight: "ArrowRight", ArrowUp: "ArrowRight", ArrowLeft: "ArrowLeft", ArrowDown: "ArrowLeft", PageUp: "Shift+ArrowRight", PageDown: "Shift+ArrowLeft" };
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.target !== track() || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.shiftKey && steps[event.key] ? `Shift+${steps[event.key].replace("Shift+", "")}` : steps[event.key];
  const act = {
    " ": toggle,
    Home: () => seek(scrub().querySelector("[data-play]").dataset.first),
    End: () => stops.length && seek(url(stops.at(-1)[0])),
  }[event.key] ?? (key && (() => scrub().querySelector(`[data-key="${key}"]`).click()));
  if (act) event.preventDefault(act());
});

if (scrub()) {
  addEventListener("live:frame", () => {
    show();
    if (location.hash == "#play" && stops.length && isPast() && !playing) {
      history.replaceState(history.state, "", location.pathname + location.search);
      play();
    }
  });
  show();
  toEnd();
}
