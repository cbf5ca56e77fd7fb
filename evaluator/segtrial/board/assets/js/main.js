// From a state to what is on the screen, and from clicks to a state.
const view = document.getElementById("view");
const PER_ENDPOINT = new Set(["table", "stability", "pairwise", "slices", "cost"]);
let state = readAddress();

async function show(next, { replace = false, focus = false } = {}) {
  state = settle(next);
  writeAddress(state, replace);
  const heading = syncTrack().catch(() => {}); // the view itself says when nothing can be loaded
  syncControls();
  const mine = state;
  document.documentElement.dataset.busy = "yes";
  view.setAttribute("aria-busy", "true");
  try {
    const html = await render(mine);
    if (mine !== state) return; // something newer was asked for meanwhile
    if (html !== null) view.innerHTML = html;
    await afterRender();
    await heading; // while a title of another track stands above the view, the page is busy
    if (focus) view.focus({ preventScroll: true });
  } catch (error) {
    delete view.dataset.showing;
    view.replaceChildren(problem(error));
  } finally {
    document.documentElement.classList.remove("pending");
    if (mine === state) {
      document.documentElement.dataset.busy = "no";
      view.removeAttribute("aria-busy");
    }
  }
}

function problem(error) {
  const box = document.createElement("p");
  box.className = "finding";
  box.setAttribute("role", "alert");
  box.textContent = `This part of the board could not be shown: ${error.message}. If the page was saved or copied, copy its whole folder.`;
  return box;
}

// What a view is made of: the file it lies in, and where in it.
const SOURCES = {
  table: (s) => [`table-${s.structure}`, (chunk) => chunk[s.metric]],
  stability: (s) => [`more-${s.structure}`, (chunk) => chunk[s.metric].stability],
  slices: (s) => [`more-${s.structure}`, (chunk) => chunk[s.metric].slices],
  cost: (s) => [`more-${s.structure}`, (chunk) => chunk[s.metric].cost],
  pairwise: (s) => [`pairs-${s.structure}`, (chunk) => chunk[s.metric]],
  model: (s) => [`model-${s.model}`, (chunk) => chunk.html],
  compare: () => ["about", (chunk) => chunk.compare],
  dataset: () => ["about", (chunk) => chunk.dataset],
  method: () => ["about", (chunk) => chunk.method],
  changelog: () => ["about", (chunk) => chunk.changelog],
};

async function render(wanted) {
  const [name, pick] = SOURCES[wanted.view](wanted);
  const here = [wanted.track, wanted.view, ...(PER_ENDPOINT.has(wanted.view) ? [wanted.structure, wanted.metric] : [wanted.model || ""])].join("/");
  if (view.dataset.showing === here && wanted.view !== "compare") return null;
  const html = pick(await loadChunk(`${wanted.track}/${name}`));
  if (wanted === state) view.dataset.showing = here;
  return html;
}

async function afterRender() {
  const table = view.querySelector("table.ranking");
  if (table) {
    applyColumns(table, state.hide);
    applySort(table, state.sort);
    const shown = applyFilter(table, state.find, state.show);
    markTies(table);
    document.getElementById("count").textContent = state.find || state.show ? `${shown} shown` : "";
  }
  if (state.view === "compare") await showComparison(state);
  for (const region of view.querySelectorAll(".scroll")) region.classList.toggle("scrolls", region.scrollWidth > region.clientWidth + 20);
}

async function showComparison(mine) {
  const data = await loadChunk(`${mine.track}/cases-${mine.structure}`);
  if (mine !== state) return;
  const order = data.metrics[mine.metric]?.order ?? [];
  const names = Object.fromEntries(trackOf(mine).entries);
  const pair = settlePair(mine, order);
  for (const key of ["a", "b"]) fill(key, order, names, pair[key]);
  fillCompare(document.getElementById("comparison"), data, mine, names);
}

let shownView = "table";

async function syncTrack() {
  const track = trackOf(state);
  const title = document.getElementById("title");
  const about = await loadChunk(`${track.key}/about`);
  if (state.track !== track.key) return;
  document.getElementById("downloads").innerHTML = about.downloads;
  if (title.dataset.track !== track.key && (title.dataset.track || track !== MANIFEST.tracks[0])) title.innerHTML = about.title;
  title.dataset.track = track.key;
}

function syncControls() {
  const track = trackOf(state);
  fill("structure", Object.keys(track.endpoints), MANIFEST.structures);
  fill("metric", track.endpoints[state.structure] || [], MANIFEST.metrics);
  fill("model", track.entries.map((entry) => entry[0]), Object.fromEntries(track.entries));
  for (const control of document.querySelectorAll("[data-for]")) control.hidden = !control.dataset.for.split(" ").includes(state.view);
  for (const key of ["track", "structure", "metric", "model", "find", "show"]) {
    const control = document.getElementById(key);
    if (control && document.activeElement !== control) control.value = state[key] || "";
  }
  for (const link of document.querySelectorAll(".views a")) {
    if (link.dataset.view === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    link.href = `?${addressOf({ ...state, view: link.dataset.view })}`;
  }
  const hidden = new Set((state.hide ?? MANIFEST.columns.filter((column) => !column[2]).map((column) => column[0]).join(".")).split("."));
  for (const box of document.querySelectorAll(".chooser input")) box.checked = !hidden.has(box.value);
  if (shownView !== state.view) document.querySelector(".views [aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" });
  shownView = state.view;
}

function fill(id, values, labels, chosen = state[id]) {
  const select = document.getElementById(id);
  if (!select) return;
  const wanted = values.join();
  if (select.dataset.filled !== wanted) select.replaceChildren(...values.map((value) => new Option(labels[value] || value, value)));
  select.dataset.filled = wanted;
  select.value = chosen;
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("segtrial-theme", root.dataset.theme); } catch { /* storage is blocked */ }
}

async function copyLink(button) {
  const base = MANIFEST.space && parent !== window ? `https://huggingface.co/spaces/${MANIFEST.space}` : location.href.split(/[?#]/)[0];
  const query = addressOf(state);
  const link = query ? `${base}?${query}` : base;
  try { await navigator.clipboard.writeText(link); } catch { return showLink(button, link); }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy link"), 1500);
}

// In a frame the clipboard may be forbidden; then the link is there to be copied by hand.
function showLink(button, link) {
  const field = document.getElementById("link") ?? make("input", { id: "link", readonly: "", "aria-label": "Link to this view" });
  field.value = link;
  button.before(field);
  field.select();
}

function placePopover(event) {
  if (event.newState !== "open") return;
  const pop = event.target;
  const button = document.querySelector(`[popovertarget="${pop.id}"]`);
  const box = button.getBoundingClientRect();
  pop.classList.add("placed");
  const size = pop.getBoundingClientRect();
  pop.style.left = `${Math.max(12, Math.min(box.left, innerWidth - size.width - 12))}px`;
  const below = box.bottom + 6;
  pop.style.top = `${below + size.height < innerHeight ? below : Math.max(12, box.top - size.height - 6)}px`;
}

document.addEventListener("toggle", (event) => { if (event.target.classList?.contains("pop")) placePopover(event); }, true);
document.addEventListener("click", (event) => {
  const tile = matrixTile(event);
  if (tile) return show({ ...state, view: "compare", ...tile });
  const sort = event.target.closest("[data-sort]");
  if (sort) return show({ ...state, sort: nextSort(state.sort, sort.dataset.sort) });
  const link = event.target.closest("a[href^='?']");
  if (link && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    return show(readAddress(), { replace: true });
  }
});
document.addEventListener("change", (event) => {
  const control = event.target;
  if (["track", "structure", "metric", "show", "model", "a", "b"].includes(control.id)) return show({ ...state, [control.id]: control.value });
  if (control.closest(".chooser")) {
    const off = [...document.querySelectorAll(".chooser input")].filter((box) => !box.checked).map((box) => box.value);
    return show({ ...state, hide: off.join(".") || "none" }, { replace: true });
  }
});
// In the matrix, which pair a click is on.
function matrixTile(event) {
  const figure = event.target.closest?.("figure.matrix");
  if (!figure || event.target.closest("figcaption")) return null;
  const svg = figure.querySelector("svg");
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const order = figure.dataset.order.split(".");
  const [start, cell] = [Number(figure.dataset.start), Number(figure.dataset.cell)];
  const [a, b] = [point.y, point.x].map((place) => order[Math.floor((place - start) / cell)]);
  return a && b && a !== b ? { a, b } : null;
}

function swapPair() {
  const [a, b] = ["a", "b"].map((key) => document.getElementById(key).value);
  show({ ...state, a: b, b: a });
}

document.addEventListener("click", (event) => { if (event.target.id === "swap") swapPair(); });
document.getElementById("csv")?.addEventListener("click", () => saveCsv(view.querySelector("table.ranking"), `${state.track}-${state.structure}-${state.metric}.csv`));
document.getElementById("find")?.addEventListener("input", (event) => show({ ...state, find: event.target.value }, { replace: true }));
document.getElementById("theme")?.addEventListener("click", toggleTheme);
document.getElementById("copy")?.addEventListener("click", (event) => copyLink(event.currentTarget));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) {
    event.preventDefault();
    document.getElementById("find")?.focus();
  }
});
addEventListener("popstate", () => show(readAddress(), { replace: true }));
show(state, { replace: true });
