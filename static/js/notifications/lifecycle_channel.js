// Listens to the lifecycle channel and passes notifications to the service worker. The server decides which events
// notify and with which text (dashboard/lifecycle/notification_policy.py).
const APPROVAL = "approval-requested";
const QUIET_MS = 45_000; // the channel sends something every 15 s; after this silence it is dead
const AGAIN_MS = 1000; // delay before a failed request is repeated
const PACE_MS = 250; // events within this time are handled together
const { serviceWorker } = navigator;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let queue = []; // events that are not handled yet
let rows; // rows of the policy that may notify, after the first response
let flushing = Promise.resolve();
let pause = 1000; // delay before the channel reconnects

const row = ({ type, reason, pending_approval }) =>
  [type, reason, reason == "finish" && pending_approval && "pending approval"].filter(Boolean).join(", ");
const session = (url) => /\/sessions\/(\d+)/.exec(url)?.[1];

// Each approval notifies once. An event only says that there are open approvals; the server lists them.
function newApprovals({ reader, waiting }) {
  const key = `asked-${reader}`;
  const notified = JSON.parse(localStorage.getItem(key) ?? "[]");
  const fresh = waiting.filter(({ event }) => !notified.includes(event));
  localStorage.setItem(key, JSON.stringify([...notified, ...fresh.map(({ event }) => event)].slice(-500)));
  return fresh;
}

// Returns the server's data on some sessions; empty when the user has signed out.
async function news(query) {
  const answer = await fetch(`/notifications/now?${query}`, { signal: AbortSignal.timeout(10_000) });
  if (answer.status == 401) return { reader: 0, rows: {}, muted: [], titles: {}, waiting: [] };
  if (!answer.ok) throw answer;
  return answer.json();
}

async function flush() {
  const frames = queue.filter((frame) => !rows || Object.hasOwn(rows, row(frame))).slice(-100);
  queue = [];
  if (!frames.length) return;
  const query = frames.map(({ url }) => `session=${session(url) ?? ""}`).join("&");
  const now = await news(query).catch(() => null);
  if (!now) {
    queue.unshift(...frames);
    await sleep(AGAIN_MS);
    return soon();
  }
  const { active } = await serviceWorker.ready; // before the loop, so that marking and sending are one step
  rows = now.rows;
  const notes = new Map(); // the latest per session; waiting takes precedence
  for (const frame of frames) {
    const title = now.titles[session(frame.url)];
    const says = Object.hasOwn(rows, row(frame)) && !now.muted.includes(row(frame)) && rows[row(frame)];
    if (says && frame.type != APPROVAL)
      notes.set(session(frame.url), { title: title ?? frame.session_id, says, url: title && frame.url });
  }
  for (const { url, title } of newApprovals(now)) notes.set(session(url), { title, says: rows[APPROVAL], url });
  if (notes.size) active.postMessage([...notes.values()]);
  await sleep(PACE_MS);
}

function soon() {
  flushing = flushing.then(flush, flush);
}

function enqueue(frame) {
  queue.push(frame);
  soon();
}

async function listen() {
  // Registering again would wait for an update of the worker, which the browser looks for by itself.
  if (!(await serviceWorker.getRegistration())) await serviceWorker.register("/worker.js");
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
  enqueue({ type: APPROVAL }); // for approvals that were requested while disconnected
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "", part; !(part = await reader.read()).done; wait()) {
    const messages = (text + part.value).split("\n\n");
    text = messages.pop();
    for (const each of messages)
      if (each.startsWith("event: lifecycle")) enqueue(JSON.parse(each.split("\ndata: ")[1]));
  }
}

// Stops when the user has signed out.
export async function follow() {
  while ((await listen().catch(() => 0)) != 401) {
    await sleep(pause);
    pause = Math.min(2 * pause, 10_000);
  }
}
