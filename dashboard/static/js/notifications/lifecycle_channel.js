// Follows the lifecycle channel and hands what notifies to the service worker. Which rows do, and with what words, is
// the server's to say (dashboard/notifications/policy.py).
const ASKED = "approval-requested";
const QUIET_MS = 45_000; // the channel says something every 15 s: quieter, it is dead
const AGAIN_MS = 1000; // before the server is asked again what it did not answer
const PACE_MS = 250; // between looks: what rings meanwhile is told together
const { serviceWorker } = navigator;
const rest = (ms) => new Promise((rested) => setTimeout(rested, ms));
let rung = []; // frames that are not told yet
let rows; // of the policy that may notify, known from the first answer on
let telling = Promise.resolve();
let pause = 1000; // before the channel is tried again

const row = ({ type, reason, pending_approval }) =>
  [type, reason, reason == "finish" && pending_approval && "pending approval"].filter(Boolean).join(", ");
const session = (url) => /\/sessions\/(\d+)/.exec(url)?.[1];

// Approvals are told once each, as the store has them: a frame only says that there are some.
function asked({ reader, waiting }) {
  const kept = `asked-${reader}`;
  const told = JSON.parse(localStorage.getItem(kept) ?? "[]");
  const fresh = waiting.filter(({ event }) => !told.includes(event));
  localStorage.setItem(kept, JSON.stringify([...told, ...fresh.map(({ event }) => event)].slice(-500)));
  return fresh;
}

// Returns what the server says of some sessions: to somebody who has signed out, that there is nothing to tell.
async function news(query) {
  const answer = await fetch(`/notifications/now?${query}`, { signal: AbortSignal.timeout(10_000) });
  if (answer.status == 401) return { reader: 0, rows: {}, muted: [], titles: {}, waiting: [] };
  if (!answer.ok) throw answer;
  return answer.json();
}

async function tell() {
  const frames = rung.filter((frame) => !rows || Object.hasOwn(rows, row(frame))).slice(-100);
  rung = [];
  if (!frames.length) return;
  const query = frames.map(({ url }) => `session=${session(url) ?? ""}`).join("&");
  const now = await news(query).catch(() => null);
  if (!now) {
    rung.unshift(...frames);
    await rest(AGAIN_MS);
    return soon();
  }
  const { active } = await serviceWorker.ready; // now, so that what is noted as told is handed over in one go
  rows = now.rows;
  const notes = new Map(); // one a session, the latest; that it waits outranks what else happened
  for (const frame of frames) {
    const title = now.titles[session(frame.url)];
    const says = Object.hasOwn(rows, row(frame)) && !now.muted.includes(row(frame)) && rows[row(frame)];
    if (says && frame.type != ASKED)
      notes.set(session(frame.url), { title: title ?? frame.session_id, says, url: title && frame.url });
  }
  for (const { url, title } of asked(now)) notes.set(session(url), { title, says: rows[ASKED], url });
  if (notes.size) active.postMessage([...notes.values()]);
  await rest(PACE_MS);
}

function soon() {
  telling = telling.then(tell, tell);
}

function heard(frame) {
  rung.push(frame);
  soon();
}

async function listen() {
  await serviceWorker.register("/worker.js");
  const dead = new AbortController();
  let watch;
  const wait = () => {
    clearTimeout(watch);
    watch = setTimeout(() => dead.abort(), QUIET_MS);
  };
  wait();
  const answer = await fetch("/api/v1/lifecycle", { signal: dead.signal, cache: "no-store" });
  if (!answer.ok) return answer.status;
  pause = 1000;
  heard({ type: ASKED }); // somebody may have asked while nobody listened
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "", part; !(part = await reader.read()).done; wait()) {
    const said = (text + part.value).split("\n\n");
    text = said.pop();
    for (const each of said) if (each.startsWith("event: lifecycle")) heard(JSON.parse(each.split("\ndata: ")[1]));
  }
}

// Ends when the reader has signed out.
export async function follow() {
  while ((await listen().catch(() => 0)) != 401) {
    await rest(pause);
    pause = Math.min(2 * pause, 10_000);
  }
}
