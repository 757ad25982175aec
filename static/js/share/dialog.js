// Opens the links of a record ([data-share]) in a dialog, whose forms stay in it. Without it the link opens a page.
const dialog = document.querySelector("#share-dialog");

export async function show(opener) {
  await htmx.ajax("GET", opener.href, { target: dialog, swap: "innerHTML" });
  if (!dialog.open) dialog.showModal();
}

addEventListener("click", (event) => {
  const opener = event.target.closest("[data-share]");
  if (!opener || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(opener);
});

dialog.addEventListener("click", (event) => {
  if (event.target == dialog || event.target.closest("[data-share-close]")) dialog.close();
});

// The secret is shown once: it does not stay in the page.
dialog.addEventListener("close", () => dialog.replaceChildren());
