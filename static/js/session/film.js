// [data-film]: arrow keys, pointer and URL choose a turn of the film; its figures are shown beside it. The server
// renders the turn of the URL, so the page works without this.
import { figures, read, written } from "./film_figures.js";

const STEP = 10; // units of the drawing for a turn
const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };

function show(index) {
  const film = document.querySelector("[data-film]");
  const call = read()[index];
  if (!film || !call) return;
  const [number, loop, verdict, turn, ...values] = call;
  const [url, place] = figures.loops[loop];
  const words = figures.words[verdict];
  const cells = document.querySelectorAll("[data-readout] [data-figure]");
  const lost = cells[values.length - 2]; // "Paid again"
  if (lost) lost.className = `right${values.at(-5) > 0 ? " text-tone tone-rejected" : ""}`;
  [number, words, place, ...values.map(written)].forEach((text, n) => {
    if (cells[n] && cells[n].textContent.trim() != text) cells[n].textContent = text;
  });
  for (const mark of film.querySelectorAll("[data-chosen]")) mark.setAttribute("x", index * STEP);
  const joint = url.includes("?") ? "&" : "?";
  document.querySelector("[data-turn-link]").href = `${url}${joint}turn=${turn}#turn-${turn}`;
  film.setAttribute("aria-valuenow", index + 1);
  film.setAttribute("aria-valuetext", `Turn ${number}, ${written(values.at(-9))} tokens, ${words}`);
}

let hovered = -1;

const now = () => Number(document.querySelector("[data-film]")?.getAttribute("aria-valuenow")) - 1;

function choose(index) {
  const call = read()[index];
  if (!call) return;
  hovered = -1;
  show(index);
  const url = new URL(location.href);
  url.searchParams.set("turn", call[0]);
  history.replaceState(history.state, "", url);
  keep();
}

const indexOf = () => {
  const turn = Number(new URLSearchParams(location.search).get("turn"));
  return turn ? read().findIndex(([number]) => number == turn) : -1;
};

// Other links within the tab, and the form of the filter, have the turn of the URL.
function keep() {
  const turn = new URLSearchParams(location.search).get("turn");
  for (const each of turn ? document.querySelectorAll("[data-keeps-turn]") : []) {
    if (each.href) each.href = each.href.replace(/([?&]turn=)\d+/, `$1${turn}`);
    else each.value = turn;
  }
}

function at(film, event) {
  const box = film.getBoundingClientRect();
  const n = Math.floor(((event.clientX - box.left) / box.width) * read().length);
  return Math.min(Math.max(n, 0), read().length - 1);
}

addEventListener(
  "keydown",
  (event) => {
    // before the keys of the page, of which the arrows are two
    if (!event.target.matches?.("[data-film]") || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.min(Math.max(now() + step, 0), read().length - 1));
  },
  true,
);

addEventListener("pointermove", (event) => {
  const film = event.target.closest?.("[data-film]");
  if (!film && hovered < 0) return;
  const index = film ? at(film, event) : indexOf();
  if (film && index == hovered) return;
  hovered = film ? index : -1;
  if (index >= 0) show(index);
});

addEventListener("click", (event) => {
  const film = event.target.closest?.("[data-film]");
  if (film) choose(at(film, event));
});

// After a live update the panel has the turn that the page was opened with.
addEventListener("live:frame", () => {
  const index = hovered >= 0 ? hovered : indexOf();
  if (index >= 0) show(index);
  keep();
});

// The turn that the server chose stays chosen when others end.
const first = now();
if (first >= 0 && indexOf() < 0) choose(first);
