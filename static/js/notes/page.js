// The pages of notes: Ctrl or ⌘ with Enter sends the form, as in the dialog of a session.
document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.(".note-page form");
  if (!form || event.key != "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit();
});
