// A form of a time range ([data-range]) shows its times, which are UTC in the address, in the reader's zone.
import { timeZone } from "../live/times.js";

const parts = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
const wallTime = (date) => parts.format(date).replace(" ", "T").slice(0, 16);

// Corrected twice, as the distance from UTC may change in between.
function fromWallTime(text) {
  const wanted = Date.parse(`${text}Z`);
  let at = wanted;
  for (const _ of [1, 2]) at += wanted - Date.parse(`${wallTime(at)}Z`);
  return new Date(at);
}

for (const form of document.querySelectorAll("[data-range]")) {
  const { since, until } = form.elements;
  for (const field of [since, until]) {
    if (!field.value) continue;
    field.value = wallTime(new Date(`${field.value}Z`));
  }
  form.querySelector("[data-zone]").textContent = timeZone;
  const check = () => {
    const isEmpty = since.value && until.value && since.value >= until.value;
    until.setCustomValidity(isEmpty ? "The end must be after the start." : "");
  };
  form.addEventListener("input", check);
  form.addEventListener("formdata", ({ formData }) => {
    for (const { name, value } of [since, until]) {
      if (value) formData.set(name, `${fromWallTime(value).toISOString().slice(0, 16)}Z`);
      else formData.delete(name);
    }
  });
}
