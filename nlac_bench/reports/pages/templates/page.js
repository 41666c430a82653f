// Sorts, filters and opens the rows of tables. The page is complete without this script: it is then sorted by the
// estimate, with every row opened. What a reader selects is kept in the address after "#", so that it can be sent.
"use strict";
(() => {
  const table = document.querySelector("table[data-board]");
  if (!table) return;
  const groups = [...table.querySelectorAll("tbody[data-entry]")];
  const ranking = groups.filter((group) => !("pinned" in group.dataset));
  const pinned = groups.filter((group) => "pinned" in group.dataset);
  const filters = [...document.querySelectorAll("[data-filter]")];
  const count = document.querySelector("output[data-count]");
  const heads = [...table.tHead.querySelectorAll("th[data-key]")];
  const opened = (group) => !group.classList.contains("closed");
  let sort = null;

  const remember = () => {
    const state = new URLSearchParams();
    if (sort) state.set("sort", `${sort.key}.${sort.down ? "desc" : "asc"}`);
    for (const filter of filters) if (filter.value) state.set(filter.dataset.filter, filter.value);
    const open = groups.filter(opened).map((group) => group.dataset.entry);
    if (open.length) state.set("open", open.join(","));
    history.replaceState(null, "", `#${state}`);
  };

  const cell = (group, key) => group.rows[0].querySelector(`[data-column="${key}"]`).dataset.value;
  const applySort = () => {
    for (const head of heads) {
      const down = sort && sort.key === head.dataset.key ? sort.down : null;
      head.setAttribute("aria-sort", down === null ? "none" : down ? "descending" : "ascending");
    }
    const numeric = sort && heads.find((head) => head.dataset.key === sort.key).dataset.type === "number";
    const before = (a, b) => {
      if (!sort) return 0;
      const [x, y] = [cell(a, sort.key), cell(b, sort.key)];
      if (x === "" || y === "") return (x === "") - (y === ""); // what is unknown comes last in both directions
      const order = numeric ? Number(x) - Number(y) : x.localeCompare(y, "en");
      return sort.down ? -order : order;
    };
    for (const group of [...ranking.slice().sort(before), ...pinned]) table.append(group);
  };

  const applyFilters = () => {
    let shown = 0;
    for (const group of ranking) {
      group.hidden = filters.some(({ value, dataset }) =>
        dataset.filter === "q"
          ? !group.dataset.search.toLowerCase().includes(value.trim().toLowerCase())
          : value !== "" && group.dataset[dataset.filter] !== value);
      shown += !group.hidden;
    }
    if (count) count.textContent = shown ? `${shown} of ${ranking.length} entries shown` : "No entry matches";
  };

  const setOpen = (group, open) => {
    group.classList.toggle("closed", !open);
    group.querySelector("button.open").setAttribute("aria-expanded", String(open));
  };

  const restore = () => {
    const hash = location.hash.slice(1);
    const anchor = hash.includes("=") ? null : groups.find((group) => group.id === hash);
    if (hash && !hash.includes("=") && !anchor) return; // the address of another part of the page
    const state = new URLSearchParams(anchor ? `open=${anchor.dataset.entry}` : hash);
    const [, key, direction] = /^(\w+)\.(asc|desc)$/.exec(state.get("sort") ?? "") ?? [];
    sort = heads.some((head) => head.dataset.key === key) ? { key, down: direction === "desc" } : null;
    for (const filter of filters) {
      filter.value = state.get(filter.dataset.filter) ?? "";
      if (filter.selectedIndex === -1) filter.value = ""; // not one of the choices
    }
    const open = (state.get("open") ?? "").split(",");
    for (const group of groups) setOpen(group, open.includes(group.dataset.entry));
    applySort();
    applyFilters();
    if (anchor) anchor.scrollIntoView();
  };

  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const { key, first } = head.dataset;
      const down = sort && sort.key === key ? !sort.down : first === "desc";
      sort = { key, down };
      applySort();
      remember();
    });
  }
  for (const group of groups) {
    const name = group.querySelector("[data-name]");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "open";
    button.setAttribute("aria-controls", group.querySelector("tr.detail").id);
    button.append(...name.childNodes);
    name.append(button);
    button.addEventListener("click", () => { setOpen(group, !opened(group)); remember(); });
  }
  for (const filter of filters) filter.addEventListener("input", () => { applyFilters(); remember(); });
  addEventListener("hashchange", restore);
  restore();
})();
