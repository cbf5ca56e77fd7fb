// Data of other views and structures, fetched when they are opened. A script element loads from
// disk as well as from a server; a fetch does not.
const chunks = new Map();
const waiting = new Map();

window.segtrialChunk = (name, content) => {
  chunks.set(name, content);
  waiting.get(name)?.resolve(content);
};

function loadChunk(name) {
  if (chunks.has(name)) return Promise.resolve(chunks.get(name));
  if (waiting.has(name)) return waiting.get(name).promise;
  const entry = {};
  entry.promise = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
  waiting.set(name, entry);
  const script = document.createElement("script");
  script.src = `data/${name}.js?v=${MANIFEST.stamp}`;
  script.onload = () => {
    script.remove();
    if (!chunks.has(name)) entry.reject(new Error(`${name} holds no data`));
  };
  script.onerror = () => {
    script.remove();
    waiting.delete(name);
    entry.reject(new Error(`data/${name}.js could not be loaded`));
  };
  document.head.append(script);
  return entry.promise;
}
