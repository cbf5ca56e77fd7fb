#include "extents.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "label_runs.hpp"
#include "parallel.hpp"

namespace segtrial {

namespace {

/// Collects the extents of all structures in one plane.
class PlaneScan {
 public:
  using Found = std::vector<std::pair<std::int32_t, PlaneExtent>>;  // with the structure's index

  PlaneScan(std::int32_t plane, std::size_t structures) : plane_(plane), slot_(structures, -1) {}

  void add(std::int32_t structure, std::int32_t row, Span span) {
    std::int32_t& slot = slot_[structure];
    if (slot < 0) {
      slot = static_cast<std::int32_t>(found_.size());
      found_.push_back({structure, {plane_, row, {}}});
    }
    PlaneExtent& extent = found_[slot].second;
    const auto index = static_cast<std::size_t>(row - extent.first_row);
    if (index < extent.spans.size()) {
      extent.spans[index].end = span.end;  // runs come from left to right
    } else {
      extent.spans.resize(index + 1);
      extent.spans[index] = span;
    }
  }

  Found take() { return std::move(found_); }

 private:
  std::int32_t plane_;
  std::vector<std::int32_t> slot_;  // of each structure in found_, or -1
  Found found_;
};

template <class Label>
PlaneScan::Found scan_plane(const LabelVolume& volume, std::int64_t plane,
                            const StructuresOfLabel& structures_of, std::size_t structures) {
  using Signed = std::make_signed_t<Label>;
  constexpr auto kLargest = static_cast<Label>(std::numeric_limits<Signed>::max());
  PlaneScan scan(static_cast<std::int32_t>(plane), structures);
  for (std::int64_t row = 0; row < volume.size[kRow]; ++row) {
    const auto add_run = [&](Label label, std::int64_t begin, std::int64_t end) {
      if (volume.is_signed && label > kLargest) throw NegativeLabel(static_cast<Signed>(label));
      const Span span{static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
      for (const std::int32_t structure : structures_of[label]) {
        scan.add(structure, static_cast<std::int32_t>(row), span);
      }
    };
    for_each_run(volume.row<Label>(plane, row), volume.size[kColumn], add_run);
  }
  return scan.take();
}

}  // namespace

std::vector<StructureExtent> find_extents(const LabelVolume& volume,
                                          const StructuresOfLabel& structures_of,
                                          std::size_t structures, int threads) {
  std::vector<PlaneScan::Found> planes(volume.size[kPlane]);
  with_label_type(volume, [&](auto type) {
    parallel_for(volume.size[kPlane], threads, [&](std::int64_t plane) {
      planes[plane] = scan_plane<decltype(type)>(volume, plane, structures_of, structures);
    });
  });
  std::vector<StructureExtent> extents(structures);
  for (PlaneScan::Found& found : planes) {
    for (auto& [structure, extent] : found) extents[structure].push_back(std::move(extent));
  }
  return extents;
}

}  // namespace segtrial
