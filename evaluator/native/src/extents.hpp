// Where in a volume each structure is: plane by plane, the span of columns in each row.
//
// One pass over the volume finds it for all structures; everything after it looks only there, so
// that the work for a structure grows with the structure and not with the volume.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "label_volume.hpp"
#include "labels.hpp"

namespace segtrial {

struct Span {
  std::int32_t begin = 0;  // columns [begin, end); empty when equal
  std::int32_t end = 0;
};

/// A structure in one plane: the spans of consecutive rows.
struct PlaneExtent {
  std::int32_t plane;
  std::int32_t first_row;
  std::vector<Span> spans;
};

/// A structure in a volume: the planes it is in, ascending.
using StructureExtent = std::vector<PlaneExtent>;

/// A voxel carries a label below 0.
struct NegativeLabel : std::domain_error {
  explicit NegativeLabel(std::int64_t value)
      : std::domain_error("a voxel has a negative label"), label(value) {}
  std::int64_t label;
};

/// The extent of each of `structures` structures; throws NegativeLabel.
std::vector<StructureExtent> find_extents(const LabelVolume& volume,
                                          const StructuresOfLabel& structures_of,
                                          std::size_t structures, int threads);

}  // namespace segtrial
