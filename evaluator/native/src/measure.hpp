// Measures all structures of one case: the steps in order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "distances.hpp"
#include "label_volume.hpp"
#include "nearest.hpp"
#include "slab_pass.hpp"

namespace segtrial {

struct StructureRequest {
  std::array<std::vector<std::uint64_t>, 2> labels;  // in the reference, in the prediction
  std::vector<double> tolerances_mm;
  double band_width_mm;
};

struct CaseRequest {
  int dimensions;                    // 2 or 3
  std::array<double, 3> spacing_mm;  // along the logical axes; the first is not used in 2D
  Orientation orientation;           // of the memory of both volumes
  std::vector<double> percentiles;
  std::vector<std::uint64_t> ignored;  // labels of the reference: background in both volumes
  std::vector<StructureRequest> structures;
  int threads;
  NearestDistances nearest;  // the variant for this processor
};

struct StructureResult {
  VoxelCounts counts;
  std::optional<DistanceSummary> surface;  // when the structure is in both volumes
};

/// Throws NegativeLabel, TooLarge or std::bad_alloc.
std::vector<StructureResult> measure(const VolumePair& volumes, const CaseRequest& request);

}  // namespace segtrial
