// Truncated text (.clip) gets its full text as title on hover. A row of links that overflows is scrolled to the current
// link where the style sheet alone cannot do it.
if (!CSS.supports("scroll-initial-target", "nearest")) {
  for (const strip of document.querySelectorAll(".tabs")) {
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
