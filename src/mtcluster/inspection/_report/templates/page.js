"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  root.classList.add("js");

  // The theme: what the system prefers, unless the reader chose. A page in a sandbox has no storage.
  const stored = (value) => {
    try {
      if (value) localStorage.setItem("mtcluster-theme", value);
      return localStorage.getItem("mtcluster-theme");
    } catch {
      return null;
    }
  };
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const printing = matchMedia("print");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const button = byId("theme");
  const showTheme = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  if (["light", "dark"].includes(stored())) root.dataset.theme = stored();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
    showTheme();
    map.draw();
  });
  prefersDark.addEventListener("change", () => {
    showTheme();
    map.draw();
  });

  // Printing: everything that can be opened is open.
  let closed = [];
  const openAll = () => {
    closed = [...closed, ...all("details:not([open])")];
    closed.forEach((details) => { details.open = true; });
    map.draw();
  };
  const closeAgain = () => {
    closed.forEach((details) => { details.open = false; });
    closed = [];
    map.draw();
  };
  printing.addEventListener("change", (event) => (event.matches ? openAll() : closeAgain()));
  addEventListener("beforeprint", openAll);
  addEventListener("afterprint", closeAgain);

  // Tables that sort by the column whose head is pressed.
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const press = document.createElement("button");
      press.type = "button";
      press.append(...head.childNodes);
      head.append(press);
      press.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "descending" || (head.dataset.sort === "text" && head.getAttribute("aria-sort") !== "ascending");
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const compare = head.dataset.sort === "number"
          ? (a, b) => Number(value(a)) - Number(value(b))
          : (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a))));
      });
    });
  }

  const map = drawnMap(JSON.parse(byId("data").textContent));
  showTheme();

  function drawnMap(data) {
    const canvas = byId("canvas"), tip = byId("tip"), heard = byId("heard"), plot = canvas.parentElement;
    const pen = canvas.getContext("2d");
    const n = data.cluster.length, nClusters = data.short.length, nTasks = data.tasks.length;
    const margin = 26, reach = 14;
    let across = 0, up = 1, apart = false, chosen = null, view, size = { width: 0, height: 0 };
    const on = { cluster: new Array(nClusters).fill(true), task: new Array(nTasks).fill(true) };
    const centres = new Map();
    const kept = document.createElement("canvas");  // the map without the ring around a chosen point
    let colour = "cluster", shown = [], spots = [], panels = [], palette = [], ramp = [], ink = "", ground = "", faint = "", line = "";

    const home = () => ({ x0: data.axes[across].from, x1: data.axes[across].to, y0: data.axes[up].from, y1: data.axes[up].to });
    const everything = () => ({ x0: 0, x1: data.steps, y0: 0, y1: data.steps });
    const padded = (v) => {
      const w = 0.03 * (v.x1 - v.x0), h = 0.03 * (v.y1 - v.y0);
      return { x0: v.x0 - w, x1: v.x1 + w, y0: v.y0 - h, y1: v.y1 + h, edge: true };
    };
    const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
    const rowOf = (i) => (data.row ? data.row[i] : i);
    const idOf = (i) => (data.ids ? data.ids[i] : `row ${rowOf(i)}`);
    const real = (axis, code) => axis.low + ((axis.high - axis.low) * code) / data.steps;
    const number = (value) => Number(value.toPrecision(3)).toString();

    // One panel for all tasks, or one for each.
    function layOut() {
      const tasks = apart ? data.tasks.map((_, k) => k).filter((k) => on.task[k]) : [null];
      const columns = Math.min(tasks.length, size.width < 600 ? 2 : size.width < 900 ? 3 : 4) || 1;
      const rows = Math.max(Math.ceil(tasks.length / columns), 1);
      const wanted = apart ? clamp(rows * (size.width < 600 ? 220 : 300), 300, 2400) : 0;
      canvas.style.height = apart ? `${wanted}px` : "";
      size = { width: plot.clientWidth, height: canvas.clientHeight };
      const width = size.width / columns, height = size.height / rows;
      panels = tasks.map((task, p) => ({
        task, x: (p % columns) * width, y: Math.floor(p / columns) * height, width, height,
      }));
    }

    const panelOf = (i) => (apart ? panels.find((panel) => panel.task === data.task[i]) : panels[0]);

    // Where a point is drawn: inside its panel, or at the edge; null where the view leaves it out.
    function place(i) {
      const panel = panelOf(i);
      const fx = (data.axes[across].at[i] - view.x0) / (view.x1 - view.x0);
      const fy = (data.axes[up].at[i] - view.y0) / (view.y1 - view.y0);
      const out = fx < 0 || fx > 1 || fy < 0 || fy > 1;
      if (out && !view.edge) return null;
      const room = { x: panel.width - 2 * margin, y: panel.height - 2 * margin };
      return { i, x: panel.x + margin + clamp(fx, 0, 1) * room.x, y: panel.y + margin + clamp(1 - fy, 0, 1) * room.y, out };
    }

    function mark(x, y, r, shape) {
      pen.beginPath();
      if (shape === 1) pen.rect(x - r, y - r, 2 * r, 2 * r);
      else if (shape === 2) { pen.moveTo(x, y - 1.3 * r); pen.lineTo(x + 1.2 * r, y + r); pen.lineTo(x - 1.2 * r, y + r); pen.closePath(); }
      else if (shape === 3) { pen.moveTo(x, y - 1.4 * r); pen.lineTo(x + 1.4 * r, y); pen.lineTo(x, y + 1.4 * r); pen.lineTo(x - 1.4 * r, y); pen.closePath(); }
      else pen.arc(x, y, r, 0, 2 * Math.PI);
    }

    const colourOf = (i) => (colour === "easiness" ? ramp[data.easiness[i]] : palette[data[colour][i] % palette.length]);
    const shapeOf = (i) => (colour === "easiness" ? 0 : Math.floor(data[colour][i] / 8) % 4);

    function readColours() {
      const style = getComputedStyle(root), read = (key) => style.getPropertyValue(key).trim();
      [ink, ground, faint, line] = ["--ink", "--ground", "--faint", "--line"].map(read);
      const parts = (key) => read(key).match(/\w\w/g).map((part) => parseInt(part, 16));
      const mixed = (a, b, share) => `rgb(${a.map((part, k) => Math.round(part + share * (b[k] - part))).join(",")})`;
      const hues = Array.from({ length: 8 }, (_, j) => parts(`--c${j}`));
      palette = [0, 0.45].flatMap((share) => hues.map((hue) => mixed(hue, parts("--ink"), share)));  // eight, and their shades
      const [hard, even, easy] = ["--hard", "--even", "--easy"].map(parts);
      ramp = Array.from({ length: 101 }, (_, p) => (p < 50 ? mixed(hard, even, p / 50) : mixed(even, easy, p / 50 - 1)));
    }

    function draw() {
      readColours();
      size = { width: plot.clientWidth, height: canvas.clientHeight };
      if (!size.width || !size.height) return;  // not laid out: it is drawn when it has a size
      layOut();
      shown = [];
      for (let i = 0; i < n; i++) if (on.cluster[data.cluster[i]] && on.task[data.task[i]]) shown.push(i);
      const scale = devicePixelRatio || 1;
      canvas.width = Math.round(size.width * scale);
      canvas.height = Math.round(size.height * scale);
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.clearRect(0, 0, size.width, size.height);
      frames();
      const r = shown.length > 8000 ? 1.8 : shown.length > 1500 ? 2.5 : 3.5;
      centres.clear();
      pen.globalAlpha = 0.75;
      spots = shown.map(place).filter(Boolean);
      for (const spot of spots) {
        pen.fillStyle = colourOf(spot.i);
        mark(spot.x, spot.y, spot.out ? r + 1 : r, spot.out ? 2 : shapeOf(spot.i));
        pen.fill();
        if (!spot.out) remember(spot);
      }
      pen.globalAlpha = 1;
      numbers();
      [kept.width, kept.height] = [canvas.width, canvas.height];
      kept.getContext("2d").drawImage(canvas, 0, 0);
      chosen = null;
      tip.hidden = true;
      legend();
      canvas.dataset.shown = shown.length;
      byId("shown").textContent = shown.length === n ? "" : `${shown.length} of ${n} points pass the filters.`;
    }

    function frames() {
      pen.font = "12px system-ui, sans-serif";
      for (const panel of panels) {
        pen.strokeStyle = line;
        if (apart) pen.strokeRect(panel.x + 0.5, panel.y + 0.5, panel.width - 1, panel.height - 1);
        pen.fillStyle = faint;
        pen.textAlign = "left";
        if (apart) pen.fillText(clipped(data.tasks[panel.task], panel.width - 16), panel.x + 8, panel.y + 15);
        if (apart && panel !== panels[0]) continue;
        const label = (axis, low, high) => `${axis.name}: ${number(real(axis, low))} to ${number(real(axis, high))}`;
        pen.textAlign = "right";
        pen.fillText(clipped(`${label(data.axes[across], view.x0, view.x1)} →`, panel.width - 2 * margin), panel.x + panel.width - 8, panel.y + panel.height - 8);
        pen.save();
        pen.translate(panel.x + 15, panel.y + margin + (apart ? 8 : 0));
        pen.rotate(-Math.PI / 2);
        pen.fillText(clipped(`${label(data.axes[up], view.y0, view.y1)} →`, panel.height - 2 * margin), 0, 0);
        pen.restore();
      }
    }

    function clipped(text, width) {
      let found = text;
      while (found.length > 1 && pen.measureText(found).width > width) found = `${found.slice(0, -2)}…`;
      return found;
    }

    function remember({ i, x, y }) {
      const key = `${apart ? data.task[i] : ""}/${data.cluster[i]}`;
      if (!centres.has(key)) centres.set(key, { cluster: data.cluster[i], xs: [], ys: [] });
      centres.get(key).xs.push(x);
      centres.get(key).ys.push(y);
    }

    // The number of each cluster at the median of its points: colours are not the only way to tell clusters apart.
    function numbers() {
      const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
      pen.font = `bold ${apart ? 12 : 15}px system-ui, sans-serif`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.lineWidth = 4;
      pen.lineJoin = "round";
      for (const { cluster, xs, ys } of centres.values()) {
        const x = median(xs), y = median(ys);
        pen.strokeStyle = ground;
        pen.strokeText(cluster, x, y);
        pen.fillStyle = ink;
        pen.fillText(cluster, x, y);
      }
      pen.textBaseline = "alphabetic";
      pen.lineWidth = 1;
    }

    function ring(spot) {
      if (!kept.width || !kept.height) return;
      const scale = canvas.width / size.width;
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(kept, 0, 0);
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      if (!spot) return;
      pen.strokeStyle = ink;
      pen.lineWidth = 2.5;
      mark(spot.x, spot.y, 8, 0);
      pen.stroke();
      pen.lineWidth = 1;
    }

    function legend() {
      for (const kind of ["cluster", "task"]) {
        for (const box of all(`input[data-${kind}]`)) {
          const dot = box.nextElementSibling, index = Number(dot.dataset.index);
          dot.style.background = colour === kind ? palette[index % palette.length] : "";
          dot.className = colour === kind ? `dot shape${Math.floor(index / 8) % 4}` : "dot";
        }
      }
      byId("scale").hidden = colour !== "easiness";
      byId("scale").querySelector(".ramp").style.background = `linear-gradient(to right, ${ramp[0]}, ${ramp[50]}, ${ramp[100]})`;
    }

    // What is said of a point, in parts: text alone, whatever the data hold.
    function told(i) {
      const row = data.cells[rowOf(i)] || {};
      return [
        idOf(i),
        `task ${data.tasks[data.task[i]]}`,
        `cluster ${data.cluster[i]} (${data.short[data.cluster[i]]})`,
        `easiness ${data.easiness[i]} %, ${number(data.outlier[i] ?? 0)} times the usual loss`,
        ...Object.entries(row).map(([column, cell]) => `${column}: ${cell}`),
      ];
    }

    function choose(spot, aloud) {
      chosen = spot;
      ring(spot);
      tip.hidden = !spot;
      if (!spot) return;
      const parts = told(spot.i).map((text, part) => {
        const element = document.createElement(part ? "span" : "strong"), inner = document.createElement("bdi");
        inner.textContent = text;
        element.append(inner);
        return element;
      });
      tip.replaceChildren(...parts);
      tip.style.left = `${clamp(spot.x + 14, 4, Math.max(size.width - tip.offsetWidth - 6, 4))}px`;
      const below = spot.y + 14 + tip.offsetHeight < size.height;
      tip.style.top = `${Math.max(below ? spot.y + 14 : spot.y - 14 - tip.offsetHeight, 4)}px`;
      if (aloud) heard.textContent = told(spot.i).join(", ");
    }

    function nearest(x, y) {
      let best = null, least = reach * reach;
      for (const spot of spots) {
        const distance = (spot.x - x) ** 2 + (spot.y - y) ** 2;
        if (distance < least) [best, least] = [spot, distance];
      }
      return best;
    }

    // The closest point in a direction, by keyboard: within 45 degrees of it.
    function step(dx, dy) {
      if (!spots.length) return;
      let best = chosen || spots[0], least = Infinity;
      for (const spot of chosen ? spots : []) {
        const along = (spot.x - chosen.x) * dx + (spot.y - chosen.y) * dy;
        const beside = Math.abs((spot.x - chosen.x) * dy) + Math.abs((spot.y - chosen.y) * dx);
        if (along > 0 && beside <= along && along + beside < least) [best, least] = [spot, along + beside];
      }
      choose(best, true);
    }

    function zoom(factor) {
      const x = (view.x0 + view.x1) / 2, y = (view.y0 + view.y1) / 2;
      const w = ((view.x1 - view.x0) / 2) * factor, h = ((view.y1 - view.y0) / 2) * factor;
      view = { x0: x - w, x1: x + w, y0: y - h, y1: y + h, edge: false };
      draw();
    }

    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    canvas.addEventListener("keydown", (event) => {
      if (arrows[event.key]) step(...arrows[event.key]);
      else if (event.key === "Escape") choose(null);
      else if (event.key === "+" || event.key === "=") zoom(0.7);
      else if (event.key === "-") zoom(1 / 0.7);
      else return;
      event.preventDefault();
    });
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, y: event.offsetY, view, moved: false };
    });
    addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (drag && event.buttons && panels.length) {
        const dx = ((event.offsetX - drag.x) / (panels[0].width - 2 * margin)) * (drag.view.x1 - drag.view.x0);
        const dy = ((event.offsetY - drag.y) / (panels[0].height - 2 * margin)) * (drag.view.y1 - drag.view.y0);
        drag.moved = drag.moved || Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) > 4;
        if (!drag.moved) return;
        view = { x0: drag.view.x0 - dx, x1: drag.view.x1 - dx, y0: drag.view.y0 + dy, y1: drag.view.y1 + dy, edge: false };
        draw();
        return;
      }
      const spot = nearest(event.offsetX, event.offsetY);
      if (spot !== chosen) choose(spot);
    });
    canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) choose(null); });
    canvas.addEventListener("blur", () => choose(null));

    byId("across").addEventListener("change", (event) => { across = Number(event.target.value); view = padded(home()); draw(); });
    byId("up").addEventListener("change", (event) => { up = Number(event.target.value); view = padded(home()); draw(); });
    byId("colour").addEventListener("change", (event) => { colour = event.target.value; draw(); });
    byId("apart").addEventListener("change", (event) => { apart = event.target.checked; draw(); });
    byId("closer").addEventListener("click", () => zoom(0.7));
    byId("wider").addEventListener("click", () => zoom(1 / 0.7));
    byId("whole").addEventListener("click", () => { view = padded(everything()); draw(); });
    byId("middle").addEventListener("click", () => { view = padded(home()); draw(); });
    for (const kind of ["cluster", "task"]) {
      for (const box of all(`input[data-${kind}]`)) {
        box.checked = true;  // a browser may remember what was filtered before it was closed
        box.addEventListener("change", () => { on[kind][box.dataset[kind]] = box.checked; draw(); });
      }
      for (const [key, value] of [["all", true], ["none", false]]) {
        all(`button[data-${key}="${kind}"]`).forEach((press) => press.addEventListener("click", () => {
          on[kind].fill(value);
          all(`input[data-${kind}]`).forEach((box) => { box.checked = value; });
          draw();
        }));
      }
    }
    byId("up").value = "1";
    byId("middle").hidden = data.axes.every((axis) => axis.from === 0 && axis.to === data.steps);
    view = padded(home());
    new ResizeObserver(() => { if (plot.clientWidth !== size.width) draw(); }).observe(plot);
    draw();
    return { draw };
  }
})();
