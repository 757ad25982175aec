// Applies theme and collapsed navigation at once; the form's POST stores them. Without this script the page reloads.
const root = document.documentElement;

addEventListener("submit", (event) => {
  const form = event.target.closest("[data-appearance]");
  if (!form) return;
  event.preventDefault();
  const dark = root.dataset.theme ? root.dataset.theme == "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const [name, value] = form.nav
    ? ["nav", root.dataset.nav == "rail" ? "full" : "rail"]
    : ["theme", dark ? "light" : "dark"];
  root.dataset[name] = form[name].value = value;
  fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
});
