// The table of methods: sorted by its heads, and a method is chosen in it.

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const opposite = { ascending: "descending", descending: "ascending" };
  const value = (row, key) => {
    const text = row.dataset[key];
    return key === "label" ? text.toLowerCase() : text === "" ? NaN : Number(text);
  };
  for (const head of heads) {
    const { key, first = "ascending" } = head.firstElementChild.dataset;
    head.firstElementChild.addEventListener("click", () => {
      const order = opposite[head.getAttribute("aria-sort")] ?? first;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const missing = (x) => x !== x;
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a, key), value(b, key)];
        if (missing(x) || missing(y)) return missing(x) - missing(y); // what failed is last in both directions
        return sign * d3.ascending(x, y);
      });
      body.append(...rows);
    });
  }
}

function chosenIn(table, choose) {
  table.tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row.classList.contains("failed")) choose(row.dataset.method);
  });
  return (method) => {
    for (const row of table.tBodies[0].rows) {
      const chosen = row.dataset.method === method;
      row.classList.toggle("chosen", chosen);
      row.querySelector("button")?.setAttribute("aria-pressed", chosen);
    }
  };
}
