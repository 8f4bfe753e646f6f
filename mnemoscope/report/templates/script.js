"use strict";
(() => {
  const probes = [...document.querySelectorAll("details.probe")];
  const words = document.getElementById("find");
  const stage = document.getElementById("stage");
  const count = document.getElementById("found");
  const show = () => {
    const wanted = words.value.trim().toLowerCase();
    let found = 0;
    for (const probe of probes) {
      const hit = (!wanted || probe.textContent.toLowerCase().includes(wanted))
        && (!stage.value || probe.dataset.stages.split(" ").includes(stage.value));
      probe.hidden = !hit;
      found += hit ? 1 : 0;
    }
    count.textContent = count.dataset.form.replace("%", String(found));
  };
  if (words) {
    words.addEventListener("input", show);
    stage.addEventListener("change", show);
    document.querySelector(".tools").hidden = false;
  }
  const fold = document.getElementById("fold");
  if (fold) {
    fold.addEventListener("click", () => {
      const open = fold.getAttribute("aria-pressed") !== "true";
      fold.setAttribute("aria-pressed", String(open));
      for (const probe of probes) { if (!probe.hidden) { probe.open = open; } }
    });
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const text = cell.dataset.sort;
      if (text === undefined) { return; }
      const button = document.createElement("button");
      button.type = "button";
      while (cell.firstChild) { button.append(cell.firstChild); }
      cell.append(button);
      button.addEventListener("click", () => {
        const down = cell.getAttribute("aria-sort") !== "descending";
        for (const other of table.tHead.rows[0].cells) { other.removeAttribute("aria-sort"); }
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.v;
        for (const body of table.tBodies) {
          if (body.dataset.fixed !== undefined) { continue; }
          const rows = [...body.rows];
          rows.sort((a, b) => {
            const [x, y] = [key(a), key(b)];
            if (x === "" || y === "") { return (x === "" ? 1 : 0) - (y === "" ? 1 : 0); }
            const order = text === "text" ? x.localeCompare(y) : Number(x) - Number(y);
            return down ? -order : order;
          });
          rows.forEach((row) => body.append(row));
        }
      });
    });
  }
})();
