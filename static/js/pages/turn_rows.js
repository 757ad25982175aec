// Rows of turns side by side ([data-rows]: their URL) are loaded when the reader comes near them, the nearest first,
// and again when a live update changes their [data-version]. Rows that are not loaded are a link to them.
const AHEAD = "800px"; // distance from the window
const loading = new Set(); // ids
const outdated = new Set(); // of these, those that changed while they were loading
const near = new Set();
const observer = new IntersectionObserver(seen, { rootMargin: AHEAD });

function observe() {
  observer.disconnect();
  near.clear();
  for (const rows of document.querySelectorAll("[data-rows]:not([data-loaded])")) observer.observe(rows);
}

function distance(rows) {
  const { top, bottom } = rows.getBoundingClientRect();
  return Math.abs(top + bottom - innerHeight);
}

function seen(entries) {
  for (const { target, isIntersecting } of entries) isIntersecting ? near.add(target) : near.delete(target);
  const [nearest] = [...near].sort((a, b) => distance(a) - distance(b));
  if (nearest && !loading.size) load(nearest);
}

// Inserts loaded rows. The rows that the reader sees stay in place, and the focus stays in rows that replace its link.
function put(id, html) {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const old = document.getElementById(id);
  if (!old || !fresh.content.getElementById(id)) return;
  const isFocused = old.contains(document.activeElement);
  const heads = document.querySelector(".comparison thead th").getBoundingClientRect();
  const shown = [...document.querySelectorAll(".steps tr:has(.step)")].find((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return !old.contains(row) && bottom > heads.bottom && top < innerHeight;
  });
  const at = shown?.getBoundingClientRect().top;
  delete old.dataset.loaded; // loaded rows are not morphed by live updates
  dispatchEvent(new CustomEvent("live:put", { detail: fresh.content }));
  const scrollers = shown ? [document.querySelector(".comparison-scroll"), window] : []; // on a phone the first one
  for (const scroller of scrollers) scroller.scrollBy(0, shown.getBoundingClientRect().top - at);
  if (isFocused && !old.contains(document.activeElement)) old.querySelector("a").focus({ preventScroll: true });
}

async function load(rows) {
  if (loading.has(rows.id)) return outdated.add(rows.id);
  loading.add(rows.id);
  try {
    const answer = await fetch(rows.dataset.rows, { headers: { "HX-Request": "true" } });
    if (answer.ok) put(rows.id, await answer.text());
  } catch {
    return; // not connected: the link stays
  } finally {
    loading.delete(rows.id);
  }
  if (outdated.delete(rows.id)) return load(rows);
  observe();
}

addEventListener("live:fresh", ({ detail: frame }) => {
  for (const fresh of frame.querySelectorAll("[data-version]")) {
    const rows = document.getElementById(fresh.id);
    const isLoaded = rows && ("loaded" in rows.dataset || loading.has(rows.id));
    if (isLoaded && rows.dataset.version != fresh.dataset.version) load(rows);
  }
});
addEventListener("live:frame", observe);
observe();
