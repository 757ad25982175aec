// Passkeys. A form with data-passkey ("create" or "get") has the browser make or use one, and posts its answer.
// The options are in data-options, or are loaded from data-options-url when the form is sent.
const keys = globalThis.PublicKeyCredential;

const read = {
  create: (options) => navigator.credentials.create({ publicKey: keys.parseCreationOptionsFromJSON(options) }),
  get: (options) => navigator.credentials.get({ publicKey: keys.parseRequestOptionsFromJSON(options) }),
};

async function optionsOf({ options, optionsUrl }) {
  if (options) return JSON.parse(options);
  const answer = await fetch(optionsUrl, { headers: { Accept: "application/json" } });
  return answer.json();
}

function problemOf(error) {
  if (!keys?.parseRequestOptionsFromJSON) return "This browser has no passkeys, or not at this address.";
  if (error.name == "InvalidStateError") return "This device has a passkey for your account already.";
  return "No passkey was used. Try again, or sign in another way.";
}

addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-passkey]");
  if (!form || form.elements.credential.value) return;
  event.preventDefault();
  const problem = form.querySelector("[data-passkey-problem]");
  problem.hidden = true;
  try {
    const credential = await read[form.dataset.passkey](await optionsOf(form.dataset));
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch (error) {
    problem.textContent = problemOf(error);
    problem.hidden = false;
  }
});
