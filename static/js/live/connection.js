// Shows the state of the connection ([data-connection]), and announces changes to screen readers ([data-announce]).
import { timeZone } from "./times.js";

const LOST_MS = 30_000; // after this the page shows since when it is stale
const SILENT_MS = 45_000; // the server sends something every 15 s; after this silence the socket is dead
let state = "lost";
let updatedAt = Date.now(); // when the page was last up to date
let socket;

htmx.config.wsReconnectDelay = (tries) => Math.min(250 * 2 ** tries, 4000) * (0.5 + Math.random() / 2);

function words() {
  const gone = Date.now() - updatedAt;
  if (state == "live") return "paused" in document.body.dataset ? "Paused" : "Live";
  if (state == "catching-up") return "Catching up";
  if (state == "lost" && gone < LOST_MS) return `Reconnecting, ${Math.round(gone / 1000)}s`;
  const since = new Date(updatedAt).toLocaleTimeString("en-GB", { timeStyle: "short", timeZone });
  const ended = document.body.matches(".shared") ? "Link ended, stale" : "Access ended, stale";
  return `${state == "signed-out" ? ended : "Stale"} since ${since}`;
}

function show() {
  for (const line of document.querySelectorAll("[data-connection]")) {
    const text = line.querySelector("span");
    line.dataset.connection = state;
    line.querySelector(".dot").className = `dot dot-${state == "live" ? "live" : "off"}`;
    if (text.textContent != words()) text.textContent = words();
  }
}

function become(next) {
  if (next == state) return;
  if (state == "live" || (next == "live" && spoken.textContent)) say(next == "live" ? "Live again" : "Connection lost");
  state = next;
  show();
}

// The page's only live region announces at most one sentence every 5 s, the newest.
const spoken = document.body.appendChild(document.createElement("p"));
spoken.role = "status";
spoken.className = "visually-hidden";
const news = () => [...document.querySelectorAll("[data-announce]")].pop()?.dataset.announce;
let announced = news();
let sentence = "";
let quiet;
function say(text) {
  if (quiet) return void (sentence = text);
  if (spoken.textContent != text) spoken.textContent = text;
  sentence = "";
  quiet = setTimeout(() => {
    quiet = 0;
    if (sentence) say(sentence);
  }, 5000);
}

function check() {
  if (state == "live" && Date.now() - updatedAt > SILENT_MS) {
    become("lost");
    socket.reconnect();
  }
  show();
}
setInterval(check, 1000);
addEventListener("visibilitychange", check);

// A new connection renders all panels, including those skipped while paused.
addEventListener("live:pause", ({ detail: paused }) => (paused ? show() : socket?.reconnect()));

addEventListener("htmx:wsOpen", ({ detail }) => {
  socket = { now: detail.event.target, reconnect: detail.socketWrapper.reconnect };
  become("catching-up");
});
addEventListener("htmx:wsClose", ({ detail: { event, socketWrapper } }) => {
  if (socket && event.target != socket.now) return;
  become(event.code == 4401 ? "signed-out" : "lost");
  // After these hx-ws reconnects by itself.
  if (![1006, 1011, 1012, 1013, 4401].includes(event.code)) setTimeout(socketWrapper.reconnect, 1000);
});
addEventListener("live:frame", ({ detail }) => {
  updatedAt = Date.now();
  become("live");
  if (detail.hasNews && news() && news() != announced) say((announced = news()));
});
show();
