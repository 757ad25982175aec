// Of a loop that goes on a page keeps what a reload would show ([data-window]): the last [data-most] turns or events, of turns as
// many as weigh [data-bytes]. Who reads further up keeps what is there and some of what follows; what a reader opened, selected or
// has focused stays. Where some are missing, left behind or not told while a connection was lost, a link ([data-gap]) brings
// them back, some at a time. An event says which stands before it in its list ([data-after]); turns are numbered.
const list = document.querySelector("[data-window]");
const button = document.querySelector("[data-follow]");
const pane = document.getElementById(button.getAttribute("aria-controls"));
const most = Number(list.dataset.most);
const bytes = Number(list.dataset.bytes || Infinity);
const ROOM = 4; // windows, for a reader further up
const ABOVE = most / 2; // that stay above the first in view
const sizes = new WeakMap(); // of turns that have ended
const refreshed = new WeakSet();
const rows = () => [...list.children].filter((each) => !("gap" in each.dataset));
const order = (row) => Number(row?.dataset.order ?? -1);
const isEvent = (row) => "after" in row.dataset;
const place = (row) => (isEvent(row) ? order(row) : order(row) + 1);
const after = (row) => Number(row.dataset.after ?? order(row)); // the place of what stands before it in the loop
const top = (element) => element.getBoundingClientRect().top;
let looked = ""; // what was there when it was last looked at
let isLong = false;

function size(row) {
  const found = sizes.get(row) ?? row.innerHTML.length;
  if (row.ariaBusy != "true") sizes.set(row, found);
  return found;
}

// Returns where the window begins: of a list, and so many windows.
function begin(all, windows) {
  let weight = 0;
  let at = all.length;
  while (at && all.length - at < most * windows) {
    weight += bytes < Infinity && size(all[at - 1]);
    if (weight > bytes * windows && at < all.length) break;
    at--;
  }
  return at;
}

function isHeld(row, opened) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && selection.containsNode(row, true);
  return isSelected || row.contains(document.activeElement) || (opened.has(row) && row.querySelector("details[open]"));
}

function trim(all, opened) {
  const isAtEnd = pane.scrollTop + pane.clientHeight > pane.scrollHeight - 4;
  const isUp = !isAtEnd && button.ariaPressed != "true";
  if (isUp && !begin(all, ROOM)) return;
  const edge = top(pane);
  const first = isUp ? all.findIndex((each) => each.getBoundingClientRect().bottom > edge) : all.length;
  const isNear = (at) => at >= first - ABOVE && at < first + most;
  const start = begin(all, 1);
  const left = all.filter((each, at) => at < start && !(isUp && isNear(at)) && !isHeld(each, opened));
  still(isUp && all[first], () => left.forEach((row) => row.remove()));
}

// Changes the list and leaves a row where the reader sees it.
function still(row, change) {
  const at = row && top(row);
  change();
  if (row && top(row) != at) pane.scrollTop += top(row) - at;
}

// Returns the way to what is missing before a row, and its words.
function way(above, row) {
  const url = new URL(list.dataset.url, location);
  url.hash = "loop";
  if (isEvent(row)) url.searchParams.set(above ? "after" : "before", order(above ?? row));
  else url.searchParams.set("before", above ? Math.min(order(row), place(above) + most) : order(row));
  if (!above) return [url, isEvent(row) ? "Earlier events" : "Earlier turns"];
  return [url, isEvent(row) ? "Later events" : `Turns ${(place(above) + 1).toLocaleString("en")} to ${order(row).toLocaleString("en")}`];
}

// Puts a link before a row, or leads the one that stands there where it should.
function lead(above, row) {
  let gap = row.previousElementSibling;
  if (!gap || !("gap" in gap.dataset)) {
    gap = document.createElement(list.localName == "ol" ? "li" : "div");
    gap.dataset.gap = "";
    gap.append(Object.assign(document.createElement("a"), { className: "btn btn-s around" }));
    row.before(gap);
  }
  const [href, textContent] = way(above, row);
  const link = gap.querySelector("a");
  if (link.href != href || link.textContent != textContent) Object.assign(link, { href, textContent });
  gap.dataset.order = order(row) - 0.5;
  return gap;
}

function mend() {
  const all = rows();
  const pairs = all.map((row, at) => [all[at - 1], row]);
  const missing = pairs.filter(([above, row]) => after(row) > (above ? place(above) : 0));
  const gaps = new Set(missing.map(([above, row]) => lead(above, row)));
  for (const old of list.querySelectorAll(":scope > [data-gap]")) if (!gaps.has(old)) old.remove();
  list.dataset.first = order(missing.at(-1)?.[1] ?? all[0]); // from here on it is whole
  // What ran when the connection was lost, and then was left behind, ended while nobody told.
  for (const [above] of missing.filter(([each]) => each?.ariaBusy == "true" && !refreshed.has(each))) {
    refreshed.add(above);
    const url = new URL(list.dataset.url, location);
    url.searchParams.set("before", place(above));
    load(url, above, above.id);
  }
}

async function load(url, anchor, only) {
  const answer = await fetch(url, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return location.assign(url);
  const fresh = document.createElement("template");
  fresh.innerHTML = await answer.text();
  const found = document.createDocumentFragment();
  found.append(...[...fresh.content.querySelectorAll(`[data-into="${list.id}"]`)].filter((each) => !only || each.id == only));
  still(anchor, () => {
    list.dataset.first = 0; // they may go in
    dispatchEvent(new CustomEvent("live:put", { detail: found }));
    mend();
  });
}

// Brings back what a link leads to. What is read stays in place: what stands above the link, else what stands below. The focus
// goes on to the next such link, or to the pane.
export async function bring(link) {
  const gap = link.closest("[data-gap]");
  const above = gap.previousElementSibling;
  const isFocused = link == document.activeElement;
  button.ariaPressed = "false";
  await load(link.href, above ?? gap.nextElementSibling);
  const next = !above && list.querySelector(":scope > [data-gap]:first-child a");
  if (isFocused && !gap.isConnected) (next || pane).focus({ preventScroll: true });
}

// Looks after the list when something came. `opened`: the rows in which the reader opened something.
export function look(opened) {
  const now = `${list.childElementCount} ${order(list.lastElementChild)}`;
  if (now == looked && !isLong) return;
  const all = rows();
  isLong = begin(all, 1) > 0;
  if (isLong) trim(all, opened);
  mend();
  looked = `${list.childElementCount} ${order(list.lastElementChild)}`;
}
