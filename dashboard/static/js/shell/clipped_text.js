// What is cut for want of room (.clip) tells the whole by its title, once the pointer is there. A row of links that is
// longer than its room begins at the current one, where the style sheet alone does not see to it.
if (!CSS.supports("scroll-initial-target", "nearest")) {
  for (const strip of document.querySelectorAll(".tabs, .nav-pages")) {
    const current = strip.querySelector('[aria-current], [aria-selected="true"]')?.getBoundingClientRect();
    const room = strip.getBoundingClientRect();
    if (current) strip.scrollLeft += current.x - room.x + (current.width - room.width) / 2;
  }
}

addEventListener("pointerover", ({ target }) => {
  const cut = target.closest?.(".clip");
  if (cut && cut.scrollWidth > cut.clientWidth && !cut.closest("[title]"))
    cut.title = cut.innerText.trim().slice(0, 500);
});
