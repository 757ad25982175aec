// [data-play]: plays a session of the past, stop by stop of the line under it, as fast as [data-speed] says. From the
// present it first goes to the begin. What replay.js shows it asks for by "replay:seek"; replay.js loads it when it is
// first wanted.
import { isPast, stops } from "./replay_track.js";

const IDLE_S = 5; // longer waits are skipped
const FRAME_MS = 150; // at least, between two events that are shown
const button = () => document.querySelector("[data-play]");
const here = () => Number(document.querySelector("[data-replay]").dataset.event);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
let playing = 0; // which play it is, 0 for none
let plays = 0;
let speed = 4;

function show() {
  button().ariaPressed = Boolean(playing);
  for (const each of document.querySelectorAll("[data-speed]")) each.ariaPressed = each.dataset.speed == speed;
}

function stop() {
  playing = 0;
  show();
}

async function play() {
  const all = stops();
  let at = all.findLastIndex(([event]) => event <= here());
  if (!isPast() || at >= all.length - 1) return location.assign(`${button().dataset.first}#play`);
  const mine = (playing = ++plays);
  show();
  while (playing == mine && at < all.length - 1) {
    const now = Math.max(all[at][2], 0);
    const wait = Math.max(FRAME_MS, (1000 * Math.min(all[at + 1][2] - now, IDLE_S)) / speed);
    await sleep(wait);
    // What happens within one frame is passed over.
    const until = Math.max(all[at + 1][2], now + (speed * wait) / 1000);
    at++;
    while (at < all.length - 1 && all[at + 1][2] <= until && all[at + 1][2] > all[at][2]) at++;
    if (playing != mine) return;
    const shown = new Promise((done) => addEventListener("replay:shown", done, { once: true }));
    const base = document.querySelector("[data-replay]").dataset.url;
    dispatchEvent(
      new CustomEvent("replay:seek", { detail: `${base}${base.includes("?") ? "&" : "?"}at=${all[at][0]}` }),
    );
    await shown;
  }
  if (playing == mine) stop();
}

// The reader pressed the button or a speed; without a target the address asked for it.
export function press(target) {
  const rate = target?.closest("[data-speed]")?.dataset.speed;
  if (rate) show((speed = Number(rate)));
  else playing ? stop() : play();
}

addEventListener("replay:taken", stop);
addEventListener("replay:shown", show);
