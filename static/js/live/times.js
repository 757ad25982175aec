// Local times: [data-start] counts up, [data-when] is relative for a day, then has a clock time for a week,
// [data-clock] is the time of day, [data-date] with its date, in the zone of the profile ([data-zone] of the body) or
// the browser's. Fragments of a frame are converted before they are inserted: equal panels stay equal. On an as-of
// page ([data-moment]) the clock is fixed.
const { now: sent, zone: chosen } = document.body.dataset;
export const timeZone = chosen || Intl.DateTimeFormat().resolvedOptions().timeZone;

const skew = Date.now() - Date.parse(sent);
const now = () => Date.parse(document.querySelector("[data-moment]")?.dataset.moment) || Date.now() - skew;
// Creating a format takes longer than using it a hundred times.
const style = (options) => new Intl.DateTimeFormat("en-GB", { ...options, timeZone });
const clock = style({ timeStyle: "medium" });
const day = { day: "numeric", month: "short" };
const full = style({ ...day, hour: "2-digit", minute: "2-digit", year: "numeric" });
const recent = style({ ...day, hour: "2-digit", minute: "2-digit" });
const days = [style(day), style({ ...day, year: "numeric" })];
const year = style({ year: "numeric" });
const zone = chosen || "local";
const two = (n) => String(n).padStart(2, "0");

function elapsed(s) {
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`;
  if (s >= 2 * 2629746) return `${Math.floor(s / 2629746)} months`;
  return `${Math.floor(s / 86400)}d ${two(Math.floor((s % 86400) / 3600))}h`;
}

function relative(s, date) {
  if (s < 2) return "now";
  if (s < 60) return `${s}s ago`;
  if (s < 3600) return `${Math.floor(s / 60)}m ago`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ago`;
  if (s < 7 * 86400) return recent.format(date);
  return days[Number(year.format(date) != year.format(new Date()))].format(date);
}

function localize(times) {
  const at = now();
  for (const time of times) {
    const { start, when, clock: isClock, date: isDate } = time.dataset;
    const date = new Date(time.dateTime);
    const s = Math.max(0, Math.floor((at - date) / 1000));
    const own = isClock != null ? clock.format(date) : isDate != null && full.format(date);
    const text = start != null ? elapsed(s) : when != null ? relative(s, date) : own;
    if (text && time.textContent != text) time.firstChild ? (time.firstChild.data = text) : (time.textContent = text);
    if (!time.title.includes(zone)) time.title += `, ${clock.format(date)} ${zone}`;
  }
}

// Only the times inside of a change are converted.
function changed(records) {
  const times = new Set();
  for (const { target, addedNodes } of records) {
    for (const each of [target, target.parentNode]) if (each?.localName == "time") times.add(each);
    for (const node of addedNodes) {
      if (node.localName == "time") times.add(node);
      else for (const time of node.querySelectorAll?.("time") ?? []) times.add(time);
    }
  }
  if (times.size) localize(times);
}

const localizeAll = () => localize(document.querySelectorAll("time"));
const tick = () => localize(document.querySelectorAll("time[data-start], time[data-when]"));
const watched = { childList: true, characterData: true, attributeFilter: ["datetime", "title"], subtree: true };
new MutationObserver(changed).observe(document.body, watched);
addEventListener("live:fresh", ({ detail }) => localize(detail.querySelectorAll("time")));
addEventListener("replay:shown", localizeAll);
setInterval(tick, 1000);
localizeAll();
