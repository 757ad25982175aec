// Menus of filters (.filter-menu): one is open at a time, Escape and a click elsewhere close it. A form of a time range
// ([data-range]) shows its times, which are UTC in the address, in the browser's zone.
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

const two = (n) => String(n).padStart(2, "0");
const day = (date) =>
  `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

for (const form of document.querySelectorAll("[data-range]")) {
  const { since, until } = form.elements;
  for (const field of [since, until]) {
    if (!field.value) continue;
    const date = new Date(`${field.value}Z`);
    field.value = `${day(date)}T${two(date.getHours())}:${two(date.getMinutes())}`;
  }
  form.querySelector("[data-zone]").textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const check = () => {
    const isEmpty = since.value && until.value && since.value >= until.value;
    until.setCustomValidity(isEmpty ? "The end must be after the start." : "");
  };
  form.addEventListener("input", check);
  form.addEventListener("formdata", ({ formData }) => {
    for (const { name, value } of [since, until]) {
      if (value) formData.set(name, `${new Date(value).toISOString().slice(0, 16)}Z`);
      else formData.delete(name);
    }
  });
}
