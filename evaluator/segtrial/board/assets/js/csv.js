// The table as it is on the screen, as a file for a spreadsheet.
function tableAsCsv(table) {
  const shown = (cell) => getComputedStyle(cell).display !== "none" && cell.dataset.col !== "interval" && !cell.classList.contains("c-interval");
  const head = [...table.tHead.rows[0].cells].filter(shown).map((cell) => cell.querySelector("button, span").textContent);
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) =>
    [...row.cells].filter(shown).map((cell) => {
      if (cell.classList.contains("c-rank")) return cell.querySelector(".rank").textContent;
      return cell.dataset.v ?? cell.innerText.replace(/\s+/g, " ").trim();
    }));
  return [head, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

// A cell that begins with one of these would be run as a formula by a spreadsheet.
function csvCell(value) {
  const text = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function saveCsv(table, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([tableAsCsv(table)], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
