// [data-flame]: one box is in the tab order; arrow keys move to its neighbours, its parent and its first part.
// The readout above says what has the pointer or the focus. Enter follows the link of a box.
const boxes = () => [...document.querySelectorAll("[data-flame] a")];
const boxOf = (event) => event.target.closest?.("[data-flame] a");
const depth = (box) => Number(box.dataset.depth);
const place = (box) => {
  const [x, width] = ["x", "width"].map((name) => Number.parseFloat(box.querySelector("svg").getAttribute(name)));
  return { from: x, middle: x + width / 2, to: x + width };
};
const row = (level) => boxes().filter((box) => depth(box) === level);
const holds = (outer, inner) => place(outer).from <= place(inner).middle && place(inner).middle <= place(outer).to;
const beside = (box, step) => row(depth(box))[row(depth(box)).indexOf(box) + step];

const MOVES = {
  ArrowLeft: (box) => beside(box, -1),
  ArrowRight: (box) => beside(box, 1),
  ArrowUp: (box) => row(depth(box) - 1).find((each) => holds(each, box)),
  ArrowDown: (box) => row(depth(box) + 1).find((each) => holds(box, each)),
  Home: () => boxes()[0],
  End: () => boxes().at(-1),
};

let selected; // the box in the tab order
let shown; // the box of the readout

function show(box) {
  shown = box;
  const readout = document.querySelector("[data-flame-readout]");
  if (readout) readout.textContent = box.getAttribute("aria-label");
}

function select(box) {
  selected = box;
  for (const each of boxes()) each.setAttribute("tabindex", each === box ? 0 : -1);
  if (box) show(box);
}

select(boxes()[0]);
addEventListener("focusin", (event) => boxOf(event) && select(boxOf(event)));
addEventListener("pointerover", (event) => boxOf(event) && show(boxOf(event)));
addEventListener(
  "keydown",
  (event) => {
    const box = boxOf(event);
    if (!box || event.altKey || event.ctrlKey || event.metaKey || !MOVES[event.key]) return;
    const next = MOVES[event.key](box);
    event.preventDefault();
    event.stopPropagation();
    next?.focus();
  },
  true,
);
// A live update brings boxes without a tab order, and a readout of the first one.
addEventListener("live:frame", () => {
  const last = shown;
  select(selected?.isConnected ? selected : boxes()[0]);
  if (last?.isConnected) show(last);
});
