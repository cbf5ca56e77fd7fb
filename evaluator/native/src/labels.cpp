#include "labels.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "label_runs.hpp"
#include "parallel.hpp"

namespace segtrial {

namespace {

// A label is looked up once for every run; below this a table does it, above it a search.
constexpr std::uint64_t kTableSize = 1 << 16;

}  // namespace

std::vector<std::uint64_t> find_labels(const LabelVolume& volume, int threads) {
  std::vector<std::vector<std::uint64_t>> found(volume.size[kPlane]);
  with_label_type(volume, [&](auto type) {
    using Label = decltype(type);
    parallel_for(volume.size[kPlane], threads, [&](std::int64_t plane) {
      std::unordered_set<std::uint64_t> seen;
      Label last = 0;
      for (std::int64_t row = 0; row < volume.size[kRow]; ++row) {
        for_each_run(volume.row<Label>(plane, row), volume.size[kColumn],
                     [&](Label label, std::int64_t, std::int64_t) {
                       if (label != last) seen.insert(label);
                       last = label;
                     });
      }
      found[plane].assign(seen.begin(), seen.end());
    });
  });
  std::vector<std::uint64_t> labels;
  for (const auto& some : found) labels.insert(labels.end(), some.begin(), some.end());
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

StructuresOfLabel::StructuresOfLabel(const std::vector<std::vector<std::uint64_t>>& labels) {
  std::vector<std::pair<std::uint64_t, std::int32_t>> pairs;
  for (std::size_t s = 0; s < labels.size(); ++s) {
    for (const std::uint64_t label : labels[s]) pairs.emplace_back(label, s);
  }
  std::sort(pairs.begin(), pairs.end());
  for (const auto& [label, structure] : pairs) {
    if (labels_.empty() || labels_.back() != label) {
      labels_.push_back(label);
      first_.push_back(structures_.size());
    }
    structures_.push_back(structure);
  }
  const std::size_t none = labels_.size();
  first_.insert(first_.end(), 2, structures_.size());
  small_slot_.assign(labels_.empty() ? 0 : std::min(labels_.back() + 1, kTableSize),
                     static_cast<std::uint32_t>(none));
  for (std::size_t i = 0; i < labels_.size() && labels_[i] < small_slot_.size(); ++i) {
    small_slot_[labels_[i]] = static_cast<std::uint32_t>(i);
  }
}

std::size_t StructuresOfLabel::large_slot(std::uint64_t label) const {
  const auto at = std::lower_bound(labels_.begin(), labels_.end(), label);
  const bool known = at != labels_.end() && *at == label;
  return known ? static_cast<std::size_t>(at - labels_.begin()) : labels_.size();
}

}  // namespace segtrial
