// Times as the reader's: [data-start] counts up, [data-when] is relative for a day, [data-clock] is local clock time.
// The server writes text that never changes, so a redraw puts it back and the observer turns it again before it shows.
// On a page of the past ([data-then]) the clock stands at its moment.
const ahead = Date.now() - Date.parse(document.body.dataset.now);
const now = () => Date.parse(document.querySelector("[data-then]")?.dataset.then) || Date.now() - ahead;
const local = (date, style) => date.toLocaleString("en-GB", style);
const two = (n) => String(n).padStart(2, "0");

function length(s) {
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86400)}d ${two(Math.floor((s % 86400) / 3600))}h`;
}

function relative(s, date) {
  if (s < 2) return "now";
  if (s < 60) return `${s}s ago`;
  if (s < 3600) return `${Math.floor(s / 60)}m ago`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ago`;
  const year = date.getFullYear() == new Date().getFullYear() ? undefined : "numeric";
  return local(date, { day: "numeric", month: "short", year });
}

function tick() {
  for (const time of document.querySelectorAll("time")) {
    const { start, when, clock } = time.dataset;
    const date = new Date(time.dateTime);
    const s = Math.max(0, Math.floor((now() - date) / 1000));
    const text = start != null ? length(s) : when != null ? relative(s, date) : clock != null && local(date, { timeStyle: "medium" });
    if (text && time.textContent != text) time.textContent = text;
    if (!time.title.includes("local")) time.title += `, ${local(date, { timeStyle: "medium" })} local`;
  }
}

new MutationObserver(tick).observe(document.body, { childList: true, characterData: true, subtree: true });
setInterval(tick, 1000);
tick();
