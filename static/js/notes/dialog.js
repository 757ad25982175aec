// The dialog of notes: it holds one form at a time. Escape closes it and keeps what was typed; the same opener shows it
// again. The focus returns to the opener.
const dialog = document.querySelector("#note-dialog");
let opener; // of the form that the dialog holds
let held; // URL of that form

export async function show(from, kind) {
  const url = new URL(from.href);
  if (kind) url.searchParams.set("kind", kind);
  if (!dialog.contains(from)) opener = from;
  if (held != url.href) {
    await htmx.ajax("GET", url.href, { target: dialog, swap: "innerHTML" });
    held = url.href;
  }
  const turn = opener.closest(".turn");
  dialog.setAttribute("aria-label", turn ? `Add to ${turn.querySelector("h3").textContent.trim()}` : "Notes");
  for (const cancel of dialog.querySelectorAll("[data-note-close]")) cancel.hidden = false;
  if (!dialog.open) dialog.show();
  place();
  const field = dialog.querySelector("form :is(input:not([type=hidden]), textarea)");
  (field ?? dialog.querySelector("a"))?.focus();
}

// Below its opener as far as the window has room; on narrow screens the style sheet places it.
function place() {
  const { bottom, right } = opener.getBoundingClientRect();
  const most = innerHeight - dialog.offsetHeight - 8;
  dialog.style.setProperty("--top", `${Math.max(8, Math.min(bottom + 4, most))}px`);
  dialog.style.setProperty("--right", `${Math.max(8, innerWidth - right)}px`);
}

function close() {
  dialog.close();
  (opener?.isConnected ? opener : document.getElementById("loop-scroll"))?.focus();
}

dialog.addEventListener("keydown", (event) => {
  if (event.defaultPrevented) return;
  if (event.key == "Escape") close();
  else if (event.key == "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
  else return;
  event.preventDefault();
  event.stopPropagation();
});

dialog.addEventListener("click", (event) => {
  if (event.target.closest("[data-note-close]")) close();
});

dialog.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.xhr.status != 204) return;
  dialog.replaceChildren();
  held = "";
  close();
});

dialog.addEventListener("input", async (event) => {
  if (event.target.dataset.members) (await import("./mentions.js")).complete(event.target);
});
