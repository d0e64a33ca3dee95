"use strict";
// The form of a fit: what the check finds follows each change of it.
(() => {
  const form = document.getElementById("form"), findings = document.getElementById("findings");
  const path = `data/${form.dataset.data}`;
  let switches = JSON.parse(form.dataset.switches), latest = 0;

  function settings() {
    const found = Object.fromEntries(["task", "clusters", "refits", "seed", "impute", "scale", "title"].map((name) => [name, form.elements[name]?.value.trim() ?? ""]));
    const roles = [...form.querySelectorAll("[data-column]")].map((one) => [one.dataset.column, one.value]);
    const named = (role) => roles.filter(([name, value]) => value === role && name !== found.task).map(([name]) => name);
    return { ...found, id: named("id")[0] ?? "", label: named("label")[0] ?? "", drop: named("drop"), text: named("text"), switches };
  }

  async function check() {
    const mine = ++latest;
    findings.setAttribute("aria-busy", "true");
    let shown;
    try { shown = await app.ask(`${path}/check`, settings(), "text"); } catch (error) {
      shown = document.createElement("p");
      shown.className = "wrong";
      shown.textContent = error.message;
    }
    if (mine !== latest) return;
    const focused = document.activeElement?.dataset?.switch;
    if (typeof shown === "string") findings.innerHTML = shown;
    else findings.replaceChildren(shown);
    findings.setAttribute("aria-busy", "false");
    if (focused) [...findings.querySelectorAll("[data-switch]")].find((one) => one.dataset.switch === focused)?.focus();
  }

  form.addEventListener("change", ({ target }) => {
    if (target.dataset.switch !== undefined) {
      switches = target.checked ? [...switches, target.dataset.switch] : switches.filter((one) => one !== target.dataset.switch);
    }
    // One column alone names the rows, and one the known classes.
    if (["id", "label"].includes(target.value) && target.dataset.column !== undefined) {
      for (const other of form.querySelectorAll("[data-column]")) if (other !== target && other.value === target.value) other.value = "";
    }
    if (["clusters", "refits", "seed", "title"].includes(target.name)) return;
    check();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = document.getElementById("start");
    button.disabled = true;
    app.attempt(async () => app.go(`runs/${(await app.ask(`${path}/fit`, settings())).run}`)).then(() => { button.disabled = false; });
  });
  addEventListener("pageshow", (event) => { if (event.persisted) document.getElementById("start").disabled = false; });
  check();
})();
