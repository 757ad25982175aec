// Where turns of a loop are missing from its list ([data-window]), because the page left them behind or a connection was lost
// for long, a link ([data-gap]) brings them back, some at a time.
const list = document.querySelector("[data-window]");
const most = Number(list.dataset.most);
const refreshed = new WeakSet();
const order = (turn) => Number(turn?.dataset.order ?? -1);

// Returns the way to turns from one place in the loop up to another.
function gap(first, end) {
  const url = new URL(list.dataset.url, location);
  url.searchParams.set("before", first ? Math.min(end, first + most) : end);
  url.hash = "loop";
  const textContent = first ? `Turns ${(first + 1).toLocaleString("en")} to ${end.toLocaleString("en")}` : "Earlier turns";
  const link = Object.assign(document.createElement("a"), { className: "btn btn-s around", textContent, href: url });
  Object.assign(link.dataset, { gap: "", order: end - 0.5 });
  return link;
}

// Puts a link wherever turns are missing, and leaves those that stand there.
export function mend() {
  const all = [...list.children].filter((each) => !("gap" in each.dataset));
  const above = [...list.parentElement.querySelectorAll(".turns")].filter((each) => each != list).at(-1)?.lastElementChild;
  const link = !above && list.previousElementSibling?.matches("a.around") && list.previousElementSibling;
  const isLed = link && new URL(link.href).searchParams.get("before") == order(all[0]);
  if (link && !isLed) link.remove();
  const gaps = all.map((turn, at) => [at ? all[at - 1] : above, turn]);
  const missing = gaps.filter(([before, turn], at) => order(turn) > order(before) + 1 && !(isLed && !at));
  const links = new Set(missing.map(([before, turn]) => {
    const fresh = gap(order(before) + 1, order(turn));
    const old = turn.previousElementSibling;
    if (!old?.isEqualNode(fresh)) turn.before(fresh);
    return turn.previousElementSibling;
  }));
  for (const old of list.querySelectorAll(":scope > [data-gap]")) if (!links.has(old)) old.remove();
  list.dataset.first = order(missing.at(-1)?.[1] ?? all[0]); // from here on it is whole
  // What ran when the connection was lost, and then was left behind, ended while nobody told.
  for (const [before] of missing.filter(([each]) => each?.ariaBusy == "true" && !refreshed.has(each))) {
    refreshed.add(before);
    load(order(before) + 1, before.id);
  }
}

async function load(before, only) {
  const url = new URL(list.dataset.url, location);
  url.searchParams.set("before", before);
  const answer = await fetch(url, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return location.assign(url);
  const fresh = document.createElement("template");
  fresh.innerHTML = await answer.text();
  const found = document.createDocumentFragment();
  found.append(...[...fresh.content.querySelectorAll("[data-into]")].filter((each) => each.matches(".turn") && (!only || each.id == only)));
  list.dataset.first = 0; // they may go in
  dispatchEvent(new CustomEvent("live:put", { detail: found }));
  mend();
}

addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-gap]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const follow = document.querySelector("[data-follow]");
  if (follow) follow.ariaPressed = "false";
  load(new URL(link.href).searchParams.get("before"));
});
