// [data-play]: plays a session from stop to stop of its track, at the speed of [data-speed]. On the live page it first
// opens the first event. It requests each event with "replay:seek"; replay.js loads this module on first use.
import { isPast, stops } from "./replay_track.js";

const IDLE_S = 5; // longer waits are shortened to this
const FRAME_MS = 150; // minimum time between two events shown
const button = () => document.querySelector("[data-play]");
const here = () => Number(document.querySelector("[data-replay]").dataset.event);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
let playing = 0; // number of the current play, 0 for none
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
    // Skip stops within one frame.
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

// Handles the play button and the speeds; without a target the URL requested playing.
export function press(target) {
  const rate = target?.closest("[data-speed]")?.dataset.speed;
  if (rate) show((speed = Number(rate)));
  else playing ? stop() : play();
}

addEventListener("replay:interrupted", stop);
addEventListener("replay:shown", show);
