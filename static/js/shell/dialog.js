// Helpers that build dialogs.
export const element = (tag, properties, ...inside) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...inside);
  return made;
};

// Returns a dialog that closes on a click outside of its content.
export function modal(label, ...inside) {
  const dialog = element("dialog", { className: "palette", ariaLabel: label }, ...inside);
  dialog.addEventListener("click", (event) => event.target == dialog && dialog.close());
  return dialog;
}
