// What dialogs are made of.
export const element = (tag, properties, ...inside) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...inside);
  return made;
};

// Returns a dialog that a click beside its content closes.
export function modal(label, ...inside) {
  const dialog = element("dialog", { className: "palette", ariaLabel: label }, ...inside);
  dialog.addEventListener("click", (event) => event.target == dialog && dialog.close());
  return dialog;
}
