"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const all = (query) => [...document.querySelectorAll(query)];
  root.classList.add("js");

  // The theme: what the system prefers, unless the reader has chosen. A sandboxed page has no storage.
  const stored = (value) => {
    try {
      if (value) localStorage.setItem("mtcluster-theme", value);
      return localStorage.getItem("mtcluster-theme");
    } catch { return null; }
  };
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const showTheme = () => {
    byId("theme").textContent = isDark() ? "Light" : "Dark";
    byId("theme").setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    map.draw();
  };
  if (["light", "dark"].includes(stored())) root.dataset.theme = stored();
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
    showTheme();
  });
  prefersDark.addEventListener("change", showTheme);

  // For printing, everything is opened.
  let closed = [];
  const unfold = (open) => {
    if (open) closed.push(...all("details:not([open])"));
    closed.forEach((details) => { details.open = open; });
    if (!open) closed = [];
    map.draw();
  };
  matchMedia("print").addEventListener("change", (event) => unfold(event.matches));
  addEventListener("beforeprint", () => unfold(true));
  addEventListener("afterprint", () => unfold(false));

  // Tables are sorted by the column whose head is pressed.
  for (const head of all("table.sortable thead th")) {
    const button = document.createElement("button"), body = head.closest("table").tBodies[0];
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort"), numeric = head.dataset.sort === "number";
      const up = order === "descending" || (!numeric && order !== "ascending");
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[head.cellIndex].dataset.value ?? row.cells[head.cellIndex].textContent;
      const compare = (a, b) => (numeric ? value(a) - value(b) : value(a).localeCompare(value(b), undefined, { numeric: true }));
      body.append(...[...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a))));
    });
  }

  // Tables that are wider than their box say so.
  const told = new ResizeObserver((boxes) => boxes.forEach(({ target }) => {
    target.classList.toggle("scrolls", target.scrollWidth > target.clientWidth + 1);
  }));
  all(".box").forEach((box) => told.observe(box));

  // A link to a folded section opens it.
  const reveal = () => {
    const folded = location.hash && byId(decodeURIComponent(location.hash.slice(1)))?.querySelector(":scope > details");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", reveal);
  reveal();

  // What is shown can be kept as a file.
  const keep = (parts, kind, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type: kind }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const button = (text, action) => {
    const found = document.createElement("button");
    [found.type, found.textContent, found.className] = ["button", text, "keep"];
    found.addEventListener("click", action);
    return found;
  };
  const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font-size", "font-weight", "font-family", "text-anchor"];
  const drawing = (svg) => {
    const copy = svg.cloneNode(true), [from, to] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
    from.forEach((part, i) => STYLES.forEach((name) => to[i].style.setProperty(name, getComputedStyle(part).getPropertyValue(name))));
    copy.setAttribute("xmlns", ["http:", "", "www.w3.org", "2000", "svg"].join("/"));
    return new XMLSerializer().serializeToString(copy);
  };
  all("figure.chart").forEach((figure, i) => {
    figure.querySelector("figcaption").append(" ", button("SVG", () => keep([drawing(figure.querySelector("svg"))], "image/svg+xml", `chart-${i + 1}.svg`)));
  });

  // A page without single rows has no map.
  const map = byId("canvas") ? drawnMap(JSON.parse(byId("data").textContent)) : { draw() {} };
  window.mtclusterMap = map;  // for pages around this one
  showTheme();

  function drawnMap(data) {
    const canvas = byId("canvas"), tip = byId("tip"), ring = byId("ring"), plot = canvas.parentElement;
    const pen = canvas.getContext("2d");
    const n = data.cluster.length, margin = 26, reach = 14;
    const on = { cluster: { "-1": true, ...data.short.map(() => true) }, task: data.tasks.map(() => true) };
    let across = 0, up = 1, apart = false, colour = "cluster", chosen = null, view, width = 0, height = 0;
    let spots = [], panels = [], palette = [], ramp = [], ink, ground, faint, line;

    const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
    const rowOf = (i) => (data.row ? data.row[i] : i);
    const number = (value) => Number(value.toPrecision(3)).toString();
    const called = (j) => (j < 0 ? "no cluster (−1)" : data.names[j] ? `cluster ${j} · ${data.names[j]}` : `cluster ${j}`);

    // Axes: steps from 0 to the last; a category has its rows around its place, so that they do not hide each other.
    const last = (axis) => (axis.levels ? axis.levels.length - 0.5 : axis.steps ?? data.steps);
    const first = (axis) => (axis.levels ? -0.5 : 0);
    const jitter = (i) => (((i * 2654435761) % 1024) / 1024 - 0.5) * 0.6;
    const at = (axis, i) => (axis.levels && axis.at[i] !== null ? axis.at[i] + jitter(i) : axis.at[i]);
    const amount = (axis, code) => axis.low + ((axis.high - axis.low) * code) / last(axis);

    // A view of the central part of the axes, or of all points, with a margin; points outside are drawn at its edge.
    function look(whole) {
      const part = (axis) => {
        const [from, to] = whole || axis.levels ? [first(axis), last(axis)] : [axis.from, axis.to], pad = 0.03 * (to - from);
        return [from - pad, to + pad];
      };
      view = { x: part(data.axes[across]), y: part(data.axes[up]), edge: true };
      draw();
    }

    function zoom(factor) {
      const part = ([from, to]) => [0, 1].map((end) => (from + to) / 2 + ((end - 0.5) * (to - from)) * factor);
      view = { x: part(view.x), y: part(view.y), edge: false };
      draw();
    }

    // One panel for all tasks, or one per task.
    function layOut() {
      const tasks = apart ? data.order.filter((k) => on.task[k]) : [null];
      width = plot.clientWidth;
      const columns = Math.min(tasks.length, width < 600 ? 2 : width < 900 ? 3 : 4) || 1;
      const rows = Math.max(Math.ceil(tasks.length / columns), 1);
      canvas.style.height = apart ? `${clamp(rows * (width < 600 ? 220 : 300), 300, 2400)}px` : "";
      height = canvas.clientHeight;
      const w = width / columns, h = height / rows;
      panels = tasks.map((task, p) => ({ task, x: (p % columns) * w, y: Math.floor(p / columns) * h, w, h }));
    }

    // Where a point is drawn; null if the view leaves it out.
    function place(i) {
      const panel = apart ? panels.find(({ task }) => task === data.task[i]) : panels[0];
      if (data.axes[across].at[i] === null || data.axes[up].at[i] === null) return null;
      const share = (axis, [from, to]) => (at(data.axes[axis], i) - from) / (to - from);
      const fx = share(across, view.x), fy = share(up, view.y);
      const out = fx < 0 || fx > 1 || fy < 0 || fy > 1;
      if (out && !view.edge) return null;
      const x = panel.x + margin + clamp(fx, 0, 1) * (panel.w - 2 * margin);
      return { i, x, y: panel.y + margin + clamp(1 - fy, 0, 1) * (panel.h - 2 * margin), out };
    }

    // The colour of a point, and the number of its group where colours are those of groups.
    function paint(i) {
      if (colour === "easiness") return [ramp[data.easiness[i]], 0];
      const axis = data.axes[colour], code = axis ? axis.at[i] : data[colour][i];
      if (code === null || code < 0) return [colour === "cluster" ? ink : line, 0];
      if (!axis || axis.levels) return [palette[code % palette.length], code];
      const [low, high] = axis.ramp;
      return [ramp[Math.round((100 * (clamp(code, low, high) - low)) / (high - low))], 0];
    }

    // What the colours of a feature mean.
    function legend() {
      const axis = data.axes[colour], ramped = colour === "easiness" || (axis && !axis.levels);
      byId("scale").hidden = !ramped;
      byId("low").textContent = axis && ramped ? `\u2068${axis.name}\u2069: ${axis.ramp[0] > 0 ? "≤ " : ""}${number(amount(axis, axis.ramp[0]))}` : "hardest";
      byId("high").textContent = axis && ramped ? `${axis.ramp[1] < last(axis) ? "≥ " : ""}${number(amount(axis, axis.ramp[1]))}` : `easiest of its ${data.group}`;
      byId("levels").replaceChildren(...(axis && axis.levels ? axis.levels : []).map((name, code) => {
        const label = document.createElement("span"), dot = document.createElement("span"), inner = document.createElement("bdi");
        label.className = "level";
        dot.className = `dot shape${Math.floor(code / 8) % 4}`;
        dot.style.background = palette[code % palette.length];
        inner.textContent = name;
        label.append(dot, inner);
        return label;
      }));
    }

    const shapes = [null, [[-1, -1], [1, -1], [1, 1], [-1, 1]], [[0, -1.3], [1.2, 1], [-1.2, 1]], [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]]];
    function mark({ i, x, y, out }, r) {
      const [fill, kind] = paint(i);
      const shape = out ? 2 : Math.floor(kind / 8) % 4;
      pen.fillStyle = fill;
      pen.beginPath();
      if (shape) shapes[shape].forEach(([dx, dy]) => pen.lineTo(x + r * dx, y + r * dy));
      else pen.arc(x, y, r, 0, 2 * Math.PI);
      pen.fill();
    }

    function readColours() {
      const style = getComputedStyle(root), read = (key) => style.getPropertyValue(key).trim();
      [ink, ground, faint, line] = ["--ink", "--ground", "--faint", "--line"].map(read);
      const parts = (key) => read(key).match(/\w\w/g).map((part) => parseInt(part, 16));
      const mixed = (a, b, share) => `rgb(${a.map((part, k) => Math.round(part + share * (b[k] - part))).join(",")})`;
      const hues = Array.from({ length: 8 }, (_, j) => parts(`--c${j}`));
      palette = [0, 0.45].flatMap((share) => hues.map((hue) => mixed(hue, parts("--ink"), share)));
      const [hard, even, easy] = ["--hard", "--even", "--easy"].map(parts);
      ramp = Array.from({ length: 101 }, (_, p) => (p < 50 ? mixed(hard, even, p / 50) : mixed(even, easy, p / 50 - 1)));
    }

    function draw() {
      readColours();
      legend();
      layOut();
      if (!width || !height) return;  // not laid out yet: it is drawn once it has a size
      const scale = devicePixelRatio || 1;
      [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      frames();
      const shown = data.cluster.map((_, i) => i).filter((i) => on.cluster[data.cluster[i]] && on.task[data.task[i]]);
      const r = shown.length > 8000 ? 1.8 : shown.length > 1500 ? 2.5 : 3.5;
      spots = shown.map(place).filter(Boolean);
      pen.globalAlpha = 0.75;
      for (const spot of spots) mark(spot, spot.out ? r + 1 : r);
      pen.globalAlpha = 1;
      numbers();
      choose(null);
      canvas.dataset.shown = shown.length;
      byId("shown").textContent = shown.length === n ? "" : `${shown.length} of ${n} points pass the filters.`;
    }

    function frames() {
      const clipped = (text, room) => {
        let found = text;
        while (found.length > 1 && pen.measureText(found).width > room) found = `${found.slice(0, -2)}…`;
        return found;
      };
      const ends = (axis, part) => (axis.levels ? axis.levels.join(", ") : part.map((code) => number(amount(axis, code))).join(" to "));
      const label = (axis, part) => `${axis.name}: ${ends(axis, part)} →`;
      pen.font = "12px system-ui, sans-serif";
      pen.fillStyle = faint;
      pen.strokeStyle = line;
      for (const panel of apart ? panels : []) {
        pen.strokeRect(panel.x + 0.5, panel.y + 0.5, panel.w - 1, panel.h - 1);
        pen.fillText(clipped(data.tasks[panel.task], panel.w - 16), panel.x + 8, panel.y + 15);
      }
      if (!panels.length) return;
      const { w, h } = panels[0];
      pen.save();
      pen.textAlign = "right";
      pen.fillText(clipped(label(data.axes[across], view.x), w - 2 * margin), w - 8, h - 8);
      pen.translate(15, margin + (apart ? 8 : 0));
      pen.rotate(-Math.PI / 2);
      pen.fillText(clipped(label(data.axes[up], view.y), h - 2 * margin), 0, 0);
      pen.restore();
    }

    // The number of each cluster at the median of its points: clusters do not differ by colour alone.
    function numbers() {
      const groups = Map.groupBy(spots.filter(({ out }) => !out), ({ i }) => `${apart ? data.task[i] : ""}/${data.cluster[i]}`);
      const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
      pen.save();
      pen.font = `bold ${apart ? 12 : 15}px system-ui, sans-serif`;
      [pen.textAlign, pen.textBaseline, pen.lineWidth, pen.lineJoin] = ["center", "middle", 4, "round"];
      [pen.strokeStyle, pen.fillStyle] = [ground, ink];
      for (const group of groups.values()) {
        const where = [data.cluster[group[0].i], median(group.map(({ x }) => x)), median(group.map(({ y }) => y))];
        pen.strokeText(...where);
        pen.fillText(...where);
      }
      pen.restore();
    }

    // The details of a point, in parts that are inserted as text.
    const details = (i) => [
      data.ids ? data.ids[i] : `row ${rowOf(i)}`,
      `${data.group} ${data.tasks[data.task[i]]}`,
      called(data.cluster[i]) + (data.cluster[i] < 0 ? "" : `: ${data.short[data.cluster[i]]}`),
      `easiness ${data.easiness[i]} %, outlier score ${number(data.outlier[i] ?? 0)}`,
      ...(data.confidence ? [`keeps its cluster in ${data.confidence[i]} % of the refits`] : []),
      ...cells(i),
      ...(data.notes[rowOf(i)] ? [`unusual: ${data.notes[rowOf(i)]}`] : []),
    ];

    // The cells of an outlier, or the features of a point that the map knows.
    function cells(i) {
      const odd = data.odd[rowOf(i)] || {};
      const remark = (column) => (Object.hasOwn(odd, column) ? ` (${odd[column]})` : "");
      const found = Object.entries(data.cells[rowOf(i)] || {});
      if (found.length) return found.map(([column, cell]) => `${column}: ${cell}${remark(column)}`);
      return data.axes.filter(({ kind, at: codes }) => (kind === "number" || kind === "category") && codes[i] !== null)
        .slice(0, 6).map((axis) => `${axis.name}: ${axis.levels ? axis.levels[axis.at[i]] : number(amount(axis, axis.at[i]))}${remark(axis.name)}`);
    }

    function choose(spot, aloud) {
      chosen = spot;
      tip.hidden = ring.hidden = !spot;
      if (!spot) return;
      tip.replaceChildren(...details(spot.i).map((text, part) => {
        const element = document.createElement(part ? "span" : "strong"), inner = document.createElement("bdi");
        inner.textContent = text;
        element.append(inner);
        return element;
      }));
      [ring.style.left, ring.style.top] = [`${spot.x}px`, `${spot.y}px`];
      beside(spot);
      if (aloud) byId("heard").textContent = details(spot.i).join(", ");
    }

    // The details stay inside the window, wherever the map is scrolled to.
    function beside({ x, y }) {
      const box = canvas.getBoundingClientRect(), wide = root.clientWidth, tall = root.clientHeight;
      const left = box.left + x + 14, below = box.top + y + 14;
      const top = below + tip.offsetHeight + 4 < tall ? below : box.top + y - 14 - tip.offsetHeight;
      tip.style.left = `${clamp(left, 4, Math.max(wide - tip.offsetWidth - 4, 4))}px`;
      tip.style.top = `${clamp(top, 4, Math.max(tall - tip.offsetHeight - 4, 4))}px`;
    }
    addEventListener("scroll", () => { if (chosen) beside(chosen); }, { passive: true });

    const closest = (distance, most) => spots.reduce((best, spot) => {
      const found = distance(spot);
      return found < best[1] ? [spot, found] : best;
    }, [null, most])[0];

    // By keyboard: the closest point within 45 degrees of a direction.
    function step(dx, dy) {
      if (!spots.length) return;
      const next = chosen && closest(({ x, y }) => {
        const along = (x - chosen.x) * dx + (y - chosen.y) * dy;
        const beside = Math.abs((x - chosen.x) * dy) + Math.abs((y - chosen.y) * dx);
        return along > 0 && beside <= along ? along + beside : Infinity;
      }, Infinity);
      choose(next || chosen || spots[0], true);
    }

    const keys = {
      ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0), ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
      Escape: () => choose(null), "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7),
    };
    canvas.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(keys, event.key)) return;
      keys[event.key]();
      event.preventDefault();
    });
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => { drag = { x: event.offsetX, y: event.offsetY, view, moved: false }; });
    addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag || !event.buttons || !panels.length) {
        const spot = closest(({ x, y }) => Math.hypot(x - event.offsetX, y - event.offsetY), reach);
        if (spot !== chosen) choose(spot);
        return;
      }
      const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
      drag.moved = drag.moved || Math.hypot(dx, dy) > 4;
      if (!drag.moved) return;
      const part = ([from, to], by) => [from + by * (to - from), to + by * (to - from)];
      const { w, h } = panels[0];
      view = { x: part(drag.view.x, -dx / (w - 2 * margin)), y: part(drag.view.y, dy / (h - 2 * margin)), edge: false };
      draw();
    });
    canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) choose(null); });
    canvas.addEventListener("blur", () => choose(null));

    const when = (id, kind, action) => byId(id).addEventListener(kind, (event) => action(event.target));
    when("across", "change", ({ value }) => { across = Number(value); look(); });
    when("up", "change", ({ value }) => { up = Number(value); look(); });
    when("colour", "change", ({ value }) => { colour = byId("controlled").dataset.colour = value; draw(); });
    when("apart", "change", ({ checked }) => { apart = checked; draw(); });
    when("closer", "click", () => zoom(0.7));
    when("wider", "click", () => zoom(1 / 0.7));
    when("whole", "click", () => look(true));
    when("middle", "click", () => look());
    byId("whole").parentElement.append(button("PNG", () => canvas.toBlob((blob) => keep([blob], "image/png", "map.png"))));
    const nameOf = (i) => (data.ids ? data.ids[i] : String(rowOf(i)));
    when("find", "input", ({ value }) => {
      const wanted = value.trim().toLowerCase(), names = spots.map(({ i }) => nameOf(i).toLowerCase());
      const at = wanted ? [names.indexOf(wanted), names.findIndex((name) => name.startsWith(wanted))].find((k) => k >= 0) : -1;
      choose(at >= 0 ? spots[at] : null, true);
    });
    when("keep", "click", () => {
      const cell = (text) => `"${(/^[=+@-]/.test(text) ? "'" : "") + text.replaceAll('"', '""')}"`;
      const lines = spots.map(({ i }) => [nameOf(i), data.tasks[data.task[i]], String(data.cluster[i])].map(cell).join(","));
      keep([["id", data.group, "cluster"].map(cell).join(","), "\n", lines.join("\n"), "\n"], "text/csv", "rows.csv");
    });
    for (const kind of ["cluster", "task"]) {
      const boxes = all(`input[data-${kind}]`);
      const set = (value) => boxes.forEach((box) => { box.checked = on[kind][box.dataset[kind]] = value; });
      set(true);  // a browser may remember the filters of an earlier visit
      boxes.forEach((box) => box.addEventListener("change", () => { on[kind][box.dataset[kind]] = box.checked; draw(); }));
      all(`button[data-all="${kind}"]`).forEach((button) => button.addEventListener("click", () => { set(true); draw(); }));
      all(`button[data-none="${kind}"]`).forEach((button) => button.addEventListener("click", () => { set(false); draw(); }));
    }
    byId("up").value = "1";
    byId("middle").hidden = data.axes.every((axis) => axis.levels || (axis.from === 0 && axis.to === last(axis)));
    look();
    new ResizeObserver(() => { if (plot.clientWidth !== width) draw(); }).observe(plot);
    return { draw, data, spots: () => spots };
  }
})();
