// Menus of filters (.filter-menu): one is open at a time, Escape and a click elsewhere close it.
const openMenus = () => document.querySelectorAll(".filter-menu[open]");

addEventListener("keydown", (event) => {
  const [menu] = openMenus();
  if (event.key != "Escape" || !menu) return;
  event.preventDefault();
  menu.open = false;
  menu.querySelector("summary").focus();
});

addEventListener("click", (event) => {
  for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false;
});

// The script of a form of a time range loads when its menu opens.
addEventListener("toggle", ({ target }) => target.querySelector?.("[data-range]") && import("./time_range.js"), true);
