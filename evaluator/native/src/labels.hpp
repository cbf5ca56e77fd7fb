// Which labels there are, and which structures a label belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "label_volume.hpp"

namespace segtrial {

/// Labels other than 0 that occur in a volume, in ascending order.
std::vector<std::uint64_t> find_labels(const LabelVolume& volume, int threads);

/// The structures of each label: a label may be in several (unions overlap), most are in none.
class StructuresOfLabel {
 public:
  struct Range {
    const std::int32_t* first;
    const std::int32_t* last;
    const std::int32_t* begin() const { return first; }
    const std::int32_t* end() const { return last; }
  };

  /// `labels[s]` are the labels whose union is structure s.
  explicit StructuresOfLabel(const std::vector<std::vector<std::uint64_t>>& labels);

  Range operator[](std::uint64_t label) const {
    const std::size_t slot = label < small_slot_.size() ? small_slot_[label] : large_slot(label);
    return {structures_.data() + first_[slot], structures_.data() + first_[slot + 1]};
  }

 private:
  std::size_t large_slot(std::uint64_t label) const;

  std::vector<std::uint64_t> labels_;     // that are in any structure, ascending
  std::vector<std::int32_t> structures_;  // of labels_[0], then of labels_[1], ...
  std::vector<std::size_t> first_;        // where each label's structures begin; last slot is empty
  std::vector<std::uint32_t> small_slot_;  // slot of each label below a table's size
};

}  // namespace segtrial
