"use strict";
// The list of runs, kept up by events; also the page of one run, which turns into its result.
(() => {
  const list = document.getElementById("runs"), alone = document.querySelector("[data-alone]");
  app.takeFiles((data) => app.go(`data/${data}`));
  document.getElementById("example")?.addEventListener("click", () => app.attempt(async () => {
    app.go(`data/${(await app.ask("data", { example: true })).data}`);
  }));

  async function refresh() {
    if (alone) { location.reload(); return; }
    const focused = document.activeElement?.getAttribute("aria-label");
    list.innerHTML = await app.ask("runs", undefined, "text");
    if (focused) list.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  }

  document.addEventListener("click", (event) => {
    if (event.target.id !== "compare") return;
    const [a, b] = ["first", "second"].map((id) => document.getElementById(id).value);
    app.go(`compare/${a}/${b}`);
  });

  const waits = () => document.querySelector("progress:not(#sent)");
  if (alone && !waits()) return;
  let begun = false;
  const source = new EventSource(`${app.root}events`);
  source.onopen = () => {  // what happened before is not told again
    if (begun || alone || waits()) app.attempt(async () => (alone ? settle() : refresh()));
    begun = true;
  };
  async function settle() {
    const text = await app.ask(`runs/${alone.dataset.run}`, undefined, "text");
    if (!text.includes("data-alone") || !text.includes("<progress")) location.reload();
  }
  source.onmessage = ({ data }) => {
    const { run, changed, stage, share } = JSON.parse(data);
    if (changed !== undefined && (!alone || Number(alone.dataset.run) === changed)) {
      app.attempt(async () => (alone ? settle() : refresh()));
    }
    const place = run === undefined ? null : document.querySelector(`[data-run="${run}"]`), bar = place?.querySelector("progress");
    if (!bar) return;
    bar.value = share;
    place.querySelector(".stage").textContent = stage;
  };
  addEventListener("pagehide", () => source.close());
})();
