// All that can be shared is in the address; what equals the default is left out of it.
const MANIFEST = JSON.parse(document.getElementById("manifest").textContent);
const KEYS = ["track", "view", "structure", "metric", "sort", "find", "show", "hide", "model", "a", "b", "slice"];

function readAddress() {
  const given = new URLSearchParams(location.search);
  const state = {};
  for (const key of KEYS) if (given.has(key)) state[key] = given.get(key).slice(0, 200);
  return settle(state);
}

// An address may be old or mistyped: whatever is not on this board falls back to the default.
function settle(wanted) {
  const track = MANIFEST.tracks.find((one) => one.key === wanted.track) || MANIFEST.tracks[0];
  const state = { ...wanted, track: track.key };
  const structures = Object.keys(track.endpoints);
  if (!structures.includes(state.structure)) state.structure = track.structure;
  const metrics = track.endpoints[state.structure] || [];
  if (!metrics.includes(state.metric)) state.metric = metrics.includes(track.metric) ? track.metric : metrics[0];
  if (!MANIFEST.views.includes(state.view)) state.view = "table";
  if (!track.entries.some((entry) => entry[0] === state.model)) state.model = track.entries[0]?.[0];
  return state;
}

function trackOf(state) {
  return MANIFEST.tracks.find((one) => one.key === state.track);
}

function addressOf(state) {
  const defaults = settle({ track: state.track });
  const query = new URLSearchParams();
  for (const key of KEYS) {
    const isFirst = key === "track" && state.track === MANIFEST.tracks[0].key;
    if (!state[key] || isFirst || (key !== "track" && state[key] === defaults[key])) continue;
    query.set(key, state[key]);
  }
  return query.toString();
}

function writeAddress(state, replace) {
  const query = addressOf(state);
  if (query === location.search.slice(1)) return;
  history[replace ? "replaceState" : "pushState"](null, "", query ? `?${query}` : location.pathname);
  // In a Space the page is a frame; the address people see moves only when it is told.
  if (parent !== window) parent.postMessage({ queryString: query, hash: "" }, "https://huggingface.co");
}
