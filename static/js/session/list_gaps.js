// Puts a link ([data-gap]) where turns or events are missing from a list, because they were removed or not received
// while disconnected; a click loads one page of them. A gap is found by comparing neighbours: an event names the
// previous event in its list ([data-after]), turns are numbered. Cost: O(rows) for each update.
export const list = document.querySelector("[data-window]");
export const button = document.querySelector("[data-follow]");
export const pane = document.getElementById(button.getAttribute("aria-controls"));
export const most = Number(list.dataset.limit);
export const loaded = new WeakSet(); // rows that the reader loaded by a link
const refreshed = new WeakSet();
export const rows = () => [...list.children].filter((each) => !("gap" in each.dataset));
export const order = (row) => Number(row?.dataset.order ?? -1);
const isEvent = (row) => "after" in row.dataset;
const positionAfter = (row) => (isEvent(row) ? order(row) : order(row) + 1);
// Returns the position of the entry before a row in the loop.
const positionBefore = (row) => Number(row.dataset.after ?? order(row));
export const top = (element) => element.getBoundingClientRect().top;

// Changes the list while keeping a row at its position on the screen.
export function keepScroll(row, change) {
  const at = row && top(row);
  change();
  if (row && top(row) != at) pane.scrollTop += top(row) - at;
}

// Returns the URL and the text of the link to the entries missing before a row.
function gapTarget(above, row) {
  const url = new URL(list.dataset.url, location);
  url.hash = "loop";
  if (isEvent(row)) url.searchParams.set(above ? "after" : "before", order(above ?? row));
  else url.searchParams.set("before", above ? Math.min(order(row), positionAfter(above) + most) : order(row));
  if (!above) return [url, isEvent(row) ? "Earlier events" : "Earlier turns"];
  return [
    url,
    isEvent(row)
      ? "Later events"
      : `Turns ${(positionAfter(above) + 1).toLocaleString("en")} to ${order(row).toLocaleString("en")}`,
  ];
}

// Inserts or updates the link before a row.
function placeGapLink(above, row) {
  let gap = row.previousElementSibling;
  if (!gap || !("gap" in gap.dataset)) {
    gap = document.createElement(list.localName == "ol" ? "li" : "div");
    gap.dataset.gap = "";
    gap.append(Object.assign(document.createElement("a"), { className: "button button-small gap-link" }));
    row.before(gap);
  }
  const [href, textContent] = gapTarget(above, row);
  const link = gap.querySelector("a");
  if (link.href != href || link.textContent != textContent) Object.assign(link, { href, textContent });
  gap.dataset.order = order(row) - 0.5;
  return gap;
}

export function updateGaps() {
  const all = rows();
  const pairs = all.map((row, at) => [all[at - 1], row]);
  const missing = pairs.filter(([above, row]) => positionBefore(row) > (above ? positionAfter(above) : 0));
  const gaps = new Set(missing.map(([above, row]) => placeGapLink(above, row)));
  for (const old of list.querySelectorAll(":scope > [data-gap]")) if (!gaps.has(old)) old.remove();
  list.dataset.first = order(missing.at(-1)?.[1] ?? all[0]); // complete from here on
  // A turn that was running before the gap may have ended while disconnected: load it again.
  for (const [above] of missing.filter(([each]) => each?.ariaBusy == "true" && !refreshed.has(each))) {
    refreshed.add(above);
    const url = new URL(list.dataset.url, location);
    url.searchParams.set("before", positionAfter(above));
    load(url, above, above.id);
  }
}

async function load(url, anchor, only) {
  const answer = await fetch(url, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return location.assign(url);
  const fresh = document.createElement("template");
  fresh.innerHTML = await answer.text();
  const found = document.createDocumentFragment();
  found.append(
    ...[...fresh.content.querySelectorAll(`[data-into="${list.id}"]`)].filter((each) => !only || each.id == only),
  );
  if (!only) for (const row of found.children) loaded.add(row);
  keepScroll(anchor, () => {
    list.dataset.first = 0; // lets the loaded rows be inserted
    dispatchEvent(new CustomEvent("live:put", { detail: found }));
    updateGaps();
  });
}

// Loads the entries of a link and keeps the row above the link, else the row below, in place. Focus moves to the next
// link, or to the pane.
export async function loadGap(link) {
  const gap = link.closest("[data-gap]");
  const above = gap.previousElementSibling;
  const isFocused = link == document.activeElement;
  button.ariaPressed = "false";
  await load(link.href, above ?? gap.nextElementSibling);
  const next = !above && list.querySelector(":scope > [data-gap]:first-child a");
  if (isFocused && !gap.isConnected) (next || pane).focus({ preventScroll: true });
}
