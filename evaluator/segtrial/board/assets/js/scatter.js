// Small pictures that need a choice first: one dot a case, and differences around zero.
const SVG = "http://www.w3.org/2000/svg";

function draw(name, attributes = {}, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function niceTicks(low, high, about = 5) {
  if (!(high > low)) return [low];
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).reduce((a, b) => (Math.abs(a - raw) < Math.abs(b - raw) ? a : b));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9; k++) ticks.push(Number((k * step).toPrecision(10)));
  return ticks;
}

// A against B, one dot a case; on the diagonal they are equal. A case without a number (a failure)
// lies in a margin of its own.
function scatterPlot(points, names, metric) {
  const size = 440, left = 56, top = 14, margin = 22;
  const numbers = points.flatMap((p) => [p.a, p.b]).filter(Number.isFinite);
  let low = Math.min(...numbers), high = Math.max(...numbers);
  if (!numbers.length) [low, high] = [0, 1];
  const air = (high - low) * 0.05 || 0.05;
  [low, high] = [Math.max(0, low - air), high + air];
  const inner = size - margin;
  const x = (v) => left + (Number.isFinite(v) ? margin + ((v - low) / (high - low)) * inner : margin / 2);
  const y = (v) => top + (Number.isFinite(v) ? inner - ((v - low) / (high - low)) * inner : inner + margin / 2);
  const better = (p) => {
    const a = Number.isFinite(p.a) ? p.a : metric.higher ? -Infinity : Infinity;
    const b = Number.isFinite(p.b) ? p.b : metric.higher ? -Infinity : Infinity;
    return a === b ? "even" : (a > b) === metric.higher ? "a" : "b";
  };
  const counts = { a: 0, b: 0, even: 0 };
  points.forEach((p) => counts[better(p)]++);
  const words = `${names.a} is better on ${counts.a} cases, ${names.b} on ${counts.b}, even on ${counts.even}`;
  const svg = draw("svg", { viewBox: `0 0 ${left + size + 12} ${top + size + 44}`, width: left + size + 12, height: top + size + 44, role: "img", class: "figure fluid", "aria-label": `${names.a} against ${names.b}, one dot a case. ${words}.` });
  const ticks = niceTicks(low, high);
  const digits = Math.max(...ticks.map((tick) => (String(tick).split(".")[1] ?? "").length));
  for (const tick of ticks) {
    svg.append(draw("path", { class: "grid", d: `M${x(tick)} ${top}V${y(low)}M${x(low)} ${y(tick)}H${left + size}` }));
    svg.append(draw("text", { x: x(tick), y: top + size + 16, "text-anchor": "middle" }, tick.toFixed(digits)));
    svg.append(draw("text", { x: left - 6, y: y(tick) + 3.5, "text-anchor": "end" }, tick.toFixed(digits)));
  }
  svg.append(draw("path", { class: "base", d: `M${x(low)} ${y(low)}L${x(high)} ${y(high)}` }));
  const corners = metric.higher ? ["b", "a"] : ["a", "b"];
  svg.append(draw("text", { x: x(low) + 8, y: top + 14, class: `side-${corners[0]}` }, `${names[corners[0]]} better`));
  svg.append(draw("text", { x: left + size - 8, y: y(low) - 8, "text-anchor": "end", class: `side-${corners[1]}` }, `${names[corners[1]]} better`));
  points.forEach((point, index) => {
    const failed = !Number.isFinite(point.a) || !Number.isFinite(point.b);
    svg.append(draw("circle", { cx: x(point.a).toFixed(1), cy: y(point.b).toFixed(1), r: 4, class: `case ${better(point)}${failed ? " failed" : ""}`, "data-index": index }));
  });
  const axis = `${metric.label}${metric.unit ? ` (${metric.unit})` : ""}`;
  svg.append(draw("text", { x: left + size, y: top + size + 36, "text-anchor": "end", class: "axis-name" }, `${axis} of ${names.a}`));
  svg.append(draw("text", { x: 0, y: 0, "text-anchor": "end", class: "axis-name", transform: `translate(11 ${top}) rotate(-90)` }, `${axis} of ${names.b}`));
  return { svg, words };
}

// A difference with its interval, around a line at zero.
function differenceMark(low, middle, high, reach) {
  const width = 200, x = (v) => width / 2 + (Math.max(-reach, Math.min(reach, v)) / reach) * (width / 2 - 6);
  const svg = draw("svg", { viewBox: `0 0 ${width} 20`, width, height: 20, "aria-hidden": "true", class: "interval" });
  svg.append(draw("path", { class: "base", d: `M${width / 2} 0V20` }));
  if (low !== null && high !== null) svg.append(draw("path", { class: "iv", d: `M${x(low)} 10H${x(high)}M${x(low)} 7v6M${x(high)} 7v6` }));
  if (middle !== null) svg.append(draw("circle", { class: "dot", cx: x(middle), cy: 10, r: 3.5 }));
  return svg;
}
