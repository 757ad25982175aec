// Keys of the loop, for which loop.js listens: [ and ] go to the previous and next turn, e to the next error, w to the
// next winner.
const pane = document.querySelector("#loop-scroll");
const HEAD = 40; // height of a turn's sticky header
const from = (each) => each.getBoundingClientRect().top - pane.getBoundingClientRect().top;

function turn(step) {
  const heads = [...pane.querySelectorAll(".turn")].map((each) => [each, from(each)]);
  const to = step > 0 ? heads.find(([, at]) => at > 1) : heads.findLast(([, at]) => at < -1);
  if (to) pane.scrollTop += to[1];
}

// Past the end of the page the server finds the next place: after this loop, for errors after the last turn shown.
function jump(kind) {
  const url = new URL(document.querySelector(`[data-jump=${kind}]`).href);
  const last = kind == "e" && [...pane.querySelectorAll(".turn-header")].at(-1)?.id.split("-")[1];
  url.searchParams.set("loop", pane.dataset.loop);
  if (last) url.searchParams.set("turn", last);
  location.assign(url);
}

let shown; // the last error visited, which the scroll position does not show if all fits
const FOLDED = ".call-group[data-failed]:not([open])";

// Opens a collapsed group with failed calls and continues the search in its content.
function open(group) {
  group.querySelector("summary").click(); // a click, like the reader's: an update leaves it open
  if (group.querySelector("[data-loaded]")) error();
  else pane.addEventListener("htmx:afterSettle", error, { once: true });
}

function error() {
  const all = [...pane.querySelectorAll(`.tool.is-failed, .turn-note.tone-error, ${FOLDED}`)].filter((each) =>
    each.checkVisibility(),
  );
  const next = all.includes(shown) ? all[all.indexOf(shown) + 1] : all.find((each) => from(each) > HEAD + 1);
  if (!next) return jump("e");
  if (next.matches(FOLDED)) return open(next);
  shown = next;
  pane.scrollTop += from(next) - HEAD;
  next.querySelector("summary")?.focus({ preventScroll: true });
}

export function press(key) {
  ({ "[": () => turn(-1), "]": () => turn(1), e: error, w: () => jump("w") })[key]();
}
