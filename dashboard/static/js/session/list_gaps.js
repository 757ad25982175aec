// Where turns or events are missing, left behind or not told while a connection was lost, a link ([data-gap]) brings
// them back, some at a time. An event says which stands before it in its list ([data-after]); turns are numbered.
export const list = document.querySelector("[data-window]");
export const button = document.querySelector("[data-follow]");
export const pane = document.getElementById(button.getAttribute("aria-controls"));
export const most = Number(list.dataset.limit);
const refreshed = new WeakSet();
export const rows = () => [...list.children].filter((each) => !("gap" in each.dataset));
export const order = (row) => Number(row?.dataset.order ?? -1);
const isEvent = (row) => "after" in row.dataset;
const positionAfter = (row) => (isEvent(row) ? order(row) : order(row) + 1);
// The position of what stands before a row in the loop.
const positionBefore = (row) => Number(row.dataset.after ?? order(row));
export const top = (element) => element.getBoundingClientRect().top;

// Changes the list and leaves a row where the reader sees it.
export function keepScroll(row, change) {
  const at = row && top(row);
  change();
  if (row && top(row) != at) pane.scrollTop += top(row) - at;
}

// Returns the way to what is missing before a row, and its words.
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

// Puts a link before a row, or leads the one that stands there where it should.
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
  list.dataset.first = order(missing.at(-1)?.[1] ?? all[0]); // from here on it is whole
  // What ran when the connection was lost, and then was left behind, ended while nobody told.
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
  keepScroll(anchor, () => {
    list.dataset.first = 0; // they may go in
    dispatchEvent(new CustomEvent("live:put", { detail: found }));
    updateGaps();
  });
}

// Brings back what a link leads to. What is read stays in place: what stands above the link, else what stands below.
// The focus goes on to the next such link, or to the pane.
export async function bring(link) {
  const gap = link.closest("[data-gap]");
  const above = gap.previousElementSibling;
  const isFocused = link == document.activeElement;
  button.ariaPressed = "false";
  await load(link.href, above ?? gap.nextElementSibling);
  const next = !above && list.querySelector(":scope > [data-gap]:first-child a");
  if (isFocused && !gap.isConnected) (next || pane).focus({ preventScroll: true });
}
