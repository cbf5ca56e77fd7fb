// Runs of equal labels along a row: most of a label map is long runs, so work goes run by run.
#pragma once

#include <cstdint>

namespace segtrial {

/// End of the run of equal labels that begins at `begin`.
template <class Label>
std::int64_t run_end(const Label* row, std::int64_t begin, std::int64_t size) {
  constexpr int kBlock = 64 / sizeof(Label);
  const Label label = row[begin];
  std::int64_t x = begin + 1;
  while (x + kBlock <= size) {
    Label difference = 0;
    for (int i = 0; i < kBlock; ++i) difference |= static_cast<Label>(row[x + i] ^ label);
    if (difference != 0) break;
    x += kBlock;
  }
  while (x < size && row[x] == label) ++x;
  return x;
}

/// Calls `visit(label, begin, end)` for every run of a label other than 0.
template <class Label, class Visit>
void for_each_run(const Label* row, std::int64_t size, const Visit& visit) {
  for (std::int64_t begin = 0; begin < size;) {
    const std::int64_t end = run_end(row, begin, size);
    if (row[begin] != 0) visit(row[begin], begin, end);
    begin = end;
  }
}

}  // namespace segtrial
