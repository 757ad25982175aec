// What is cut for want of room (.clip) tells the whole by its title, once the pointer is there.
addEventListener("pointerover", ({ target }) => {
  const cut = target.closest?.(".clip");
  if (cut && cut.scrollWidth > cut.clientWidth && !cut.closest("[title]")) cut.title = cut.innerText.trim().slice(0, 500);
});
