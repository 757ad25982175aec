// [data-replay]: the replay of a session. A page as of an event loads its modules at once, the live page when the
// pointer or the focus reaches it. Without scripts the steps are links.
const KEYS = /^( |Home|End|Page(Up|Down)|Arrow(Up|Down|Left|Right))$/;
const load = async () => (await import("./replay_seek.js")) && (await import("./replay_track.js"));
const at = (event, what) => event.target.closest?.(what);

for (const each of document.querySelectorAll("[data-play], [data-speeds]")) each.hidden = false;
for (const near of ["pointerover", "focusin"]) addEventListener(near, (event) => at(event, "[data-replay]") && load());
addEventListener("pointerdown", async (event) => {
  const track = !event.button && at(event, ".replay-track");
  if (!track) return;
  let release;
  addEventListener("pointerup", (last) => (release = last), { once: true });
  (await load()).grab(track, event, release);
});
addEventListener("keydown", async (event) => {
  if (event.defaultPrevented || !at(event, ".replay-track") || !KEYS.test(event.key)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  (await load()).press(event);
});
addEventListener("click", async (event) => {
  const button = at(event, "[data-play], [data-speed]");
  if (button) (await load()) && (await import("./player.js")).press(button);
});
if (document.querySelector("[data-moment]")) load();
