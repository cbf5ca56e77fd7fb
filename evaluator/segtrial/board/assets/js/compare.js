// Two entries side by side: the verdict, the difference on every metric, and the cases behind it.
const DECIDING = 12;

function settlePair(state, order) {
  const a = order.includes(state.a) ? state.a : order[0];
  const b = order.includes(state.b) && state.b !== a ? state.b : order.find((key) => key !== a);
  return { a, b };
}

function pairOf(metric, a, b) {
  for (const [first, second, difference, low, high, p, verdict, needed] of metric.pairs) {
    if (first === a && second === b) return { difference, low, high, p, verdict: verdict === "better" ? "a" : verdict, needed };
    if (first === b && second === a) return { difference: negated(difference), low: negated(high), high: negated(low), p, verdict: verdict === "better" ? "b" : verdict, needed };
  }
  return null;
}

const negated = (value) => (value === null ? null : -value);

function signed(value, decimals) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value).toFixed(decimals);
  return (value > 0 && Number(text) ? "+" : value < 0 && Number(text) ? "−" : "") + text;
}

function fillCompare(box, data, state, names) {
  const metric = data.metrics[state.metric];
  if (!metric || metric.order.length < 2) {
    box.replaceChildren(make("p", { class: "finding" }, "There are no two ranked entries to compare here."));
    return;
  }
  const { a, b } = settlePair(state, metric.order);
  const label = { a: names[a], b: names[b] };
  box.replaceChildren(verdictSentence(pairOf(metric, a, b), label, metric), metricTable(data.metrics, a, b, label));
  if (!metric.values[a]) {
    box.append(withoutCases(state));
    return;
  }
  const points = data.cases.map(([name, slices], k) => ({ name, slices, a: metric.values[a][k], b: metric.values[b][k] }));
  const plot = scatterPlot(points, label, metric);
  const readout = make("p", { class: "note", id: "readout" }, `${plot.words}. Point at a dot to see its case.`);
  const holder = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Scatter" }, plot.svg);
  plot.svg.addEventListener("pointerover", (event) => {
    const index = event.target.dataset?.index;
    if (index !== undefined) readout.textContent = caseWords(points[index], label, metric);
  });
  const left = make("figure", {}, holder, make("figcaption", {}, readout));
  box.append(make("div", { class: "side-by-side" }, left, decidingCases(points, label, metric)));
}

// An average has no single cases; every structure that has them is one click away.
function withoutCases(state) {
  if (state.structure !== "macro_average") return make("p", { class: "note" }, "Scores of single cases are not public for this dataset or this endpoint.");
  const others = Object.entries(trackOf(state).endpoints).filter(([key, metrics]) => key !== state.structure && metrics.includes(state.metric));
  const links = others.flatMap(([key], k) => [k ? ", " : "", make("a", { href: `?${addressOf({ ...state, structure: key })}` }, MANIFEST.structures[key])]);
  return make("p", { class: "note" }, "An average over structures has no single cases. Case by case: ", ...links, ".");
}

// To two digits: it is an extrapolation.
function roughly(count) {
  const power = 10 ** Math.max(0, String(count).length - 2);
  return (Math.round(count / power) * power).toLocaleString("en").replaceAll(",", "\u202f");
}

function caseWords(point, label, metric) {
  const slices = Object.entries(point.slices).map(([key, value]) => `${key} ${value}`).join(", ");
  return `${point.name}: ${label.a} ${shown(point.a, metric)}, ${label.b} ${shown(point.b, metric)}${slices ? ` (${slices})` : ""}`;
}

function shown(value, metric) {
  return Number.isFinite(value) ? value.toFixed(metric.decimals) : String(value);
}

function verdictSentence(pair, label, metric) {
  const said = make("p", { class: "finding" });
  if (!pair) { said.textContent = "No verdict was computed for this pair."; return said; }
  const strong = { a: `${label.a} is better than ${label.b}`, b: `${label.b} is better than ${label.a}`, equivalent: `${label.a} and ${label.b} are equivalent`, inconclusive: `${label.a} and ${label.b} cannot be told apart` }[pair.verdict];
  const p = pair.p === null ? "" : pair.p < 0.001 ? "p < 0.001" : `p = ${pair.p.toFixed(3)}`;
  const needed = pair.verdict === "inconclusive" && pair.needed ? ` About ${roughly(pair.needed)} patients would be needed to show a difference of this size.` : "";
  said.append(make("strong", {}, strong), ` on ${metric.label}: difference ${signed(pair.difference, metric.decimals)} (${signed(pair.low, metric.decimals)} to ${signed(pair.high, metric.decimals)}), ${p} after correction.${needed}`);
  return said;
}

function metricTable(metrics, a, b, label) {
  const body = make("tbody");
  for (const metric of Object.values(metrics)) {
    const pair = pairOf(metric, a, b);
    if (!pair) continue;
    const reach = Math.max(Math.abs(pair.low ?? 0), Math.abs(pair.high ?? 0), Math.abs(pair.difference ?? 0)) * 1.15 || 1;
    const verdict = { a: `${label.a} better`, b: `${label.b} better` }[pair.verdict] ?? pair.verdict;
    body.append(make("tr", {},
      make("th", { scope: "row" }, `${metric.label} ${metric.unit}`.trim()),
      make("td", { class: "num" }, signed(pair.difference, metric.decimals)),
      make("td", { class: "draw" }, differenceMark(pair.low, pair.difference, pair.high, reach)),
      make("td", { class: "num muted" }, `${signed(pair.low, metric.decimals)} to ${signed(pair.high, metric.decimals)}`),
      make("td", {}, verdict)));
  }
  const head = ["Metric", "A − B", "", "95\u202f% interval", "Verdict"].map((words, k) => (words ? make("th", { scope: "col", class: k === 1 || k === 3 ? "num" : "" }, words) : make("td")));
  const table = make("table", { class: "plain" }, make("caption", { class: "sr" }, `Differences of ${label.a} and ${label.b}`), make("thead", {}, make("tr", {}, ...head)), body);
  return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Differences" }, table);
}

// What would the difference be without the cases that carry most of it?
function decidingCases(points, label, metric) {
  const worst = (value) => (Number.isFinite(value) ? value : metric.higher ? 0 : null);
  const rows = points.map((point) => ({ point, gap: worst(point.a) === null || worst(point.b) === null ? null : worst(point.a) - worst(point.b) })).filter((row) => row.gap !== null && row.gap !== 0);
  const total = rows.reduce((sum, row) => sum + row.gap, 0);
  const top = [...rows].sort((one, other) => Math.abs(other.gap) - Math.abs(one.gap)).slice(0, DECIDING);
  const body = make("tbody");
  let left = total;
  for (const { point, gap } of top) {
    left -= gap;
    body.append(make("tr", {},
      make("th", { scope: "row" }, make("code", {}, point.name)),
      make("td", { class: "num" }, shown(point.a, metric)),
      make("td", { class: "num" }, shown(point.b, metric)),
      make("td", { class: "num" }, signed(gap, metric.decimals)),
      make("td", { class: "num muted" }, signed(left / points.length, metric.decimals))));
  }
  const head = ["Case", "A", "B", "A − B", "Mean without it and those above"].map((words, k) => make("th", { scope: "col", class: k ? "num" : "" }, words));
  const table = make("table", { class: "plain" }, make("caption", { class: "sr" }, "Cases with the largest differences"), make("thead", {}, make("tr", {}, ...head)), body);
  const holder = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Deciding cases" }, table);
  return make("section", {}, make("h2", {}, "The cases that decide it"), make("p", { class: "muted" }, `A is ${label.a}, B is ${label.b}. Largest differences first.`), holder);
}
