// Runs before the first paint: the chosen theme, and no flash of the default table on a deep link.
(function () {
  var root = document.documentElement;
  try { var theme = localStorage.getItem("segtrial-theme"); } catch (error) { /* storage is blocked */ }
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  if (location.search.length > 1) root.classList.add("pending");
})();
