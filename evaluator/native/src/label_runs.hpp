// Runs of equal labels along a row: most of a label map is long runs, so work goes run by run.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace segtrial {

/// End of the run of equal labels that begins at `begin`.
template <class Label>
std::int64_t run_end(const Label* row, std::int64_t begin, std::int64_t size) {
  constexpr int kWords = 8;  // compared at once
  constexpr int kPerWord = sizeof(std::uint64_t) / sizeof(Label);
  constexpr std::uint64_t kInEach = ~std::uint64_t{0} / std::numeric_limits<Label>::max();
  const Label label = row[begin];
  const std::uint64_t same = label * kInEach;
  const auto differ = [&](std::int64_t at, int count) {
    std::uint64_t words[kWords];
    std::memcpy(words, row + at, count * sizeof(std::uint64_t));
    std::uint64_t difference = 0;
    for (int i = 0; i < count; ++i) difference |= words[i] ^ same;
    return difference != 0;
  };
  std::int64_t x = begin + 1;
  while (x + kWords * kPerWord <= size && !differ(x, kWords)) x += kWords * kPerWord;
  while (x + kPerWord <= size && !differ(x, 1)) x += kPerWord;
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
