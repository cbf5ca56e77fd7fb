// Sorting, filtering and column choice on the rows as they were rendered.
function sortTable(table, key, direction) {
  const body = table.tBodies[0];
  const cellOf = (row) => row.querySelector(`.c-${key}`)?.dataset.v ?? "";
  const sign = direction === "descending" ? -1 : 1;
  const compare = (one, other) => {
    const [a, b] = [cellOf(one), cellOf(other)];
    if (a === "" || b === "") return (a === "") - (b === ""); // what is missing stays last
    const [x, y] = [Number(a), Number(b)];
    const order = Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
    return sign * order || one.dataset.place - other.dataset.place;
  };
  const rows = [...body.rows];
  rows.forEach((row, place) => (row.dataset.place ??= place));
  const wanted = rows.toSorted(compare);
  if (wanted.some((row, place) => row !== rows[place])) body.append(...wanted);
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  table.tHead.querySelector(`[data-col="${key}"]`)?.setAttribute("aria-sort", direction);
}

// "score" sorts the way the heading says, "-score" the other way round.
function applySort(table, sort) {
  const key = (sort || "rank").replace(/^-/, "");
  const head = table.tHead.querySelector(`[data-col="${CSS.escape(key)}"][data-first]`);
  if (!head) return applySort(table, "rank");
  const first = head.dataset.first;
  const other = first === "ascending" ? "descending" : "ascending";
  sortTable(table, key, (sort || "").startsWith("-") ? other : first);
}

function nextSort(current, key) {
  return (current || "rank") === key ? `-${key}` : key;
}

function applyFilter(table, find, show) {
  const words = (find || "").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const body of table.tBodies) {
    const isRanked = body.classList.contains("ranked");
    const wanted = !show || (show === "ranked") === isRanked;
    for (const row of body.rows) {
      if (row.classList.contains("group")) { row.hidden = !wanted; continue; }
      row.hidden = !wanted || !words.every((word) => row.dataset.find.includes(word));
      shown += !row.hidden;
    }
  }
  return shown;
}

// A line under the tied group only where the group stands together at the top.
function markTies(table) {
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
  rows.forEach((row) => row.classList.remove("tie-end"));
  const count = rows.filter((row) => row.classList.contains("tied")).length;
  const together = count > 0 && count < rows.length && rows.slice(0, count).every((row) => row.classList.contains("tied"));
  if (together) rows[count - 1].classList.add("tie-end");
}

function applyColumns(table, hide) {
  if (hide === undefined) return;
  const hidden = new Set(hide.split("."));
  for (const key of MANIFEST.columns.map((column) => column[0])) table.classList.toggle(`hide-${key}`, hidden.has(key));
}
