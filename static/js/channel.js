// Follows the lifecycle channel and hands what notifies to the service worker. Which rows do, and with what words, is the
// server's to say (dashboard/notifications/policy.py).
const ASKED = "approval-requested";
const QUIET_MS = 45_000; // the channel says something every 15 s: quieter, it is dead
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

async function tell() {
  const frames = rung.filter((frame) => !rows || Object.hasOwn(rows, row(frame))).slice(-100);
  rung = [];
  if (!frames.length) return;
  const query = frames.map(({ url }) => `session=${session(url) ?? ""}`).join("&");
  const answer = await fetch(`/notifications/now?${query}`, { signal: AbortSignal.timeout(10_000) }).catch(() => ({}));
  if (!answer.ok) return void rung.unshift(...frames); // the next frame, or the next channel, tells them
  const now = await answer.json();
  rows = now.rows;
  const notes = new Map(); // one a session, the latest; that it waits outranks what else happened
  for (const frame of frames) {
    const title = now.titles[session(frame.url)];
    const says = Object.hasOwn(rows, row(frame)) && !now.muted.includes(row(frame)) && rows[row(frame)];
    if (says && frame.type != ASKED)
      notes.set(session(frame.url), { title: title ?? frame.session_id, says, url: title && frame.url });
  }
  for (const { url, title } of asked(now)) notes.set(session(url), { title, says: rows[ASKED], url });
  if (notes.size) (await serviceWorker.ready).active.postMessage([...notes.values()]);
  await rest(PACE_MS);
}

function heard(frame) {
  rung.push(frame);
  telling = telling.then(tell, tell);
}

async function listen() {
  const dead = new AbortController();
  let watch;
  const wait = () => {
    clearTimeout(watch);
    watch = setTimeout(() => dead.abort(), QUIET_MS);
  };
  wait();
  const answer = await fetch("/api/v1/lifecycle", { signal: dead.signal });
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
  await serviceWorker.register("/worker.js");
  while ((await listen().catch(() => 0)) != 401) {
    await rest(pause);
    pause = Math.min(2 * pause, 10_000);
  }
}
