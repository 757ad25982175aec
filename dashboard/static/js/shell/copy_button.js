// [data-copy] copies its value, or with an empty value the text of the <code> around it, and confirms it for 2 s.
addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const source = button.parentElement.closest("[data-copy-from]")?.querySelector("code");
  try {
    await navigator.clipboard.writeText(button.dataset.copy || source.textContent);
  } catch {
    return getSelection().selectAllChildren(source ?? button); // no clipboard without TLS: select the text instead
  }
  const word = button.querySelector("span");
  button.dataset.copied = "";
  if (word) word.textContent = "Copied";
  setTimeout(() => {
    delete button.dataset.copied;
    if (word) word.textContent = "Copy";
  }, 2000);
});
