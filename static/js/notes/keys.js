// Opens the dialog of notes, whose module loads on first use: by a link to one of its forms, or by n (note), r (score)
// and b (bookmark) on the turn that is in focus or at the top. And that of share links, by their button.
const KINDS = { n: "note", r: "score", b: "bookmark" };
const pane = document.querySelector("#loop-scroll");

function turn() {
  const shown = [...(pane?.querySelectorAll(".turn") ?? [])];
  const top = pane?.getBoundingClientRect().top + 40;
  return (
    document.activeElement?.closest(".turn") ??
    shown.find((each) => each.matches(":has(:target)")) ??
    shown.find((each) => each.getBoundingClientRect().bottom > top)
  );
}

async function open(opener, kind) {
  const { show } = await import("./dialog.js");
  show(opener, kind);
}

addEventListener("key", (event) => {
  const kind = KINDS[event.detail];
  const opener = turn()?.querySelector(".note-add") ?? document.querySelector("#rail .note-add");
  if (!kind || !opener) return;
  event.preventDefault();
  open(opener, kind);
});

addEventListener("click", (event) => {
  const opener = event.target.closest("[data-note],[data-share]");
  if (!opener || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if ("share" in opener.dataset) import("../share/dialog.js").then(({ show }) => show(opener));
  else open(opener);
});
