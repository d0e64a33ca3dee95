"use strict";
// What the app adds to the report: names, merging, new data, rows that are selected or looked up, colours of any column.
(() => {
  const all = (query) => [...document.querySelectorAll(query)], byId = (id) => document.getElementById(id);
  const run = byId("app").dataset.run, path = `runs/${run}`;
  const again = sessionStorage.getItem("mtcluster-focus");
  sessionStorage.removeItem("mtcluster-focus");
  if (again) document.querySelector(`[data-name="${CSS.escape(again)}"]`)?.focus();

  // Names: the report is made again with them.
  all("[data-name]").forEach((input) => input.addEventListener("change", () => app.attempt(async () => {
    app.say("Writing the name into all files …", true);
    await app.ask(`${path}/rename`, { names: { [input.dataset.name]: input.value } });
    const next = document.activeElement?.dataset?.name ?? input.dataset.name;
    sessionStorage.setItem("mtcluster-focus", next);
    location.reload();
  })));

  const marked = () => all("[data-merge]:checked").map((box) => Number(box.dataset.merge));
  all("[data-merge]").forEach((box) => box.addEventListener("change", () => { byId("merge").disabled = marked().length < 2; }));
  byId("merge").addEventListener("click", () => app.attempt(async () => app.go(`runs/${(await app.ask(`${path}/merge`, { clusters: marked() })).run}`)));

  app.takeFiles(async (data) => {
    const [how, novelty] = byId("how").value.split(":");
    app.go(`runs/${(await app.ask(`${path}/join`, { data, how, novelty, task: byId("task").value.trim() })).run}`);
  });

  byId("lookup")?.addEventListener("submit", (event) => {
    event.preventDefault();
    app.attempt(async () => { byId("why").innerHTML = await app.ask(`${path}/row`, { id: byId("wanted").value.trim() }, "text"); });
  });

  const map = window.mtclusterMap;
  if (!map?.data) {
    all("[data-show]").forEach((box) => { box.disabled = true; });
    return;
  }

  // A group is hidden by the filter that the report has.
  all("[data-show]").forEach((box) => {
    const filter = document.querySelector(`input[data-cluster="${box.dataset.show}"]`);
    box.addEventListener("change", () => { filter.checked = box.checked; filter.dispatchEvent(new Event("change")); });
    filter.addEventListener("change", () => { box.checked = filter.checked; });
  });

  const controls = document.querySelector("#controlled .controls"), colour = byId("colour");
  controls.after(byId("tools").content.cloneNode(true));
  byId("any").addEventListener("change", ({ target }) => app.attempt(async () => {
    if (!target.value) { colour.value = "cluster"; colour.dispatchEvent(new Event("change")); return; }
    let at = map.data.axes.findIndex(({ name }) => name === target.value);
    if (at < 0) at = map.data.axes.push(await app.ask(`${path}/column`, { name: target.value, at: map.data.row ?? null })) - 1;
    if (![...colour.options].some(({ value }) => value === String(at))) colour.add(new Option(target.value, at));
    colour.value = at;
    colour.dispatchEvent(new Event("change"));
  }));
  colour.addEventListener("change", () => {
    const name = map.data.axes[colour.value]?.name ?? "";
    byId("any").value = [...byId("any").options].some(({ value }) => value === name) ? name : "";
  });

  // Rows are selected by drawing around them, or all that the filters leave.
  const canvas = byId("canvas"), line = document.createElementNS("http://www.w3.org/2000/svg", "svg"), around = document.createElementNS(line.namespaceURI, "polygon");
  line.setAttribute("class", "lasso");
  line.setAttribute("aria-hidden", "true");
  around.setAttribute("fill", "rgba(128,128,128,.2)");
  around.setAttribute("stroke", "currentColor");
  line.append(around);
  canvas.after(line);
  let selecting = false, points = null, chosen = [];

  function choose(spots) {
    chosen = spots.map(({ i }) => (map.data.row ? map.data.row[i] : i));
    byId("download").disabled = !chosen.length;
    byId("selected").textContent = `${chosen.length} row${chosen.length === 1 ? "" : "s"} selected`;
  }
  const inside = ({ x, y }) => points.reduce((found, [ax, ay], k) => {
    const [bx, by] = points[(k + 1) % points.length];
    return (ay > y) !== (by > y) && x < ((bx - ax) * (y - ay)) / (by - ay) + ax ? !found : found;
  }, false);
  byId("select").addEventListener("click", ({ currentTarget: button }) => {
    selecting = !selecting;
    button.setAttribute("aria-pressed", selecting);
    canvas.classList.toggle("selecting", selecting);
    app.say(selecting ? "Draw around the rows on the map with the pointer." : "");
  });
  byId("select-shown").addEventListener("click", () => choose(map.spots()));
  const capture = { capture: true };
  canvas.addEventListener("pointerdown", (event) => {
    if (!selecting) return;
    event.stopImmediatePropagation();
    canvas.setPointerCapture(event.pointerId);
    points = [[event.offsetX, event.offsetY]];
  }, capture);
  canvas.addEventListener("pointermove", (event) => {
    if (!points) return;
    event.stopImmediatePropagation();
    points.push([event.offsetX, event.offsetY]);
    around.setAttribute("points", points.map((point) => point.join(",")).join(" "));
  }, capture);
  canvas.addEventListener("pointerup", () => {
    if (!points) return;
    choose(map.spots().filter(inside));
    points = null;
  });
  byId("download").addEventListener("click", () => app.attempt(async () => {
    const text = await app.ask(`${path}/select`, { rows: chosen }, "text"), link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `run-${run}-rows.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }));
})();
