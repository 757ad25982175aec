// Ways within a loop: [ and ] go to the turn before and after the one at the top, e to the next error, w to the next
// winner.
const pane = document.querySelector("#loop-scroll");
const HEAD = 40; // what the head of a turn covers
const from = (each) => each.getBoundingClientRect().top - pane.getBoundingClientRect().top;

// The address of a session alone means its newest loop; opened, it names the loop that is shown, so a reload shows the
// same.
if (/\/sessions\/\d+$/.test(location.pathname) && Number(pane?.dataset.loop)) {
  history.replaceState(
    history.state,
    "",
    `${location.pathname}/loops/${pane.dataset.loop}${location.search}${location.hash}`,
  );
}

// On a narrow window the two panes stand side by side: an address that names a view of the loop opens at the loop.
if (!location.hash && new URLSearchParams(location.search).has("tab")) document.querySelector("#loop").scrollIntoView();

function turn(step) {
  const heads = [...pane.querySelectorAll(".turn")].map((each) => [each, from(each)]);
  const to = step > 0 ? heads.find(([, at]) => at > 1) : heads.findLast(([, at]) => at < -1);
  if (to) pane.scrollTop += to[1];
}

// Beyond what is on the page the server knows the way: from this loop on, for errors from its last turn that is here.
function jump(kind) {
  const url = new URL(document.querySelector(`[data-jump=${kind}]`).href);
  const last = kind == "e" && [...pane.querySelectorAll(".turn-header")].at(-1)?.id.split("-")[1];
  url.searchParams.set("loop", pane.dataset.loop);
  if (last) url.searchParams.set("turn", last);
  location.assign(url);
}

let shown; // the error gone to last: where all fits, scrolling would not tell
const FOLDED = ".call-group[data-failed]:not([open])";

// Calls that failed may be in a group that was never opened: it is, and what it brings is looked through.
function open(group) {
  group.querySelector("summary").click(); // as the reader would: a redraw leaves it open
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

addEventListener("key", (event) => {
  const act = { "[": () => turn(-1), "]": () => turn(1), e: error, w: () => jump("w") }[event.detail];
  if (!act || !pane) return;
  event.preventDefault();
  act();
});
