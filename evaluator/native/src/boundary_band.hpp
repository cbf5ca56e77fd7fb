// Boundary IoU: the voxels of a mask that lie near its boundary.
//
// A voxel is in the band when some background voxel lies at one of a set of offsets. In each row of
// offsets that set is a symmetric run of columns, so the rest of the mask is what remains when each
// row is eroded by its run and the rows are intersected. That is quick when there are few rows of
// offsets; for the many of a wide band there is `wide_band`.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "bit_slab.hpp"

namespace segtrial {

/// The offsets at which a background voxel makes a voxel a boundary voxel.
class BandShape {
 public:
  /// Offsets at which the nearest face of the other voxel is within `width` of the centre, and the
  /// voxels that share a face. `spacing` and `size` are along the memory axes; in 2D there is one
  /// plane, and nothing above or below it.
  BandShape(int dimensions, const std::array<double, 3>& spacing,
            const std::array<std::int64_t, 3>& size, double width);

  /// One row of offsets: columns from -half_width to half_width.
  struct Run {
    std::int32_t rows;   // offset
    std::int32_t level;  // index of its half-width among half_widths()
  };

  /// The rows of offsets that are `planes` planes away, the widest first.
  const std::vector<Run>& runs(std::int32_t planes) const { return runs_[std::abs(planes)]; }
  const std::vector<std::int32_t>& half_widths() const { return half_widths_; }
  std::int32_t plane_reach() const { return static_cast<std::int32_t>(runs_.size()) - 1; }

  /// Whether wide_band() finds the band, and sooner.
  bool is_wide() const { return is_wide_; }

  /// The square of the distance from a centre to the face of the voxel so many columns away; the
  /// unit is the distance from row to row.
  double square_in_rows(std::int32_t columns) const;

 private:
  std::vector<std::vector<Run>> runs_;     // by planes away, from 0
  std::vector<std::int32_t> half_widths_;  // distinct, descending
  double column_in_rows_;
  bool is_wide_;
};

/// The boundary voxels of a mask in planes [first_plane, last_plane) of its box.
/// `mask` reaches `shape.plane_reach()` planes beyond them, where the structure does.
BitSlab boundary_band(const BitSlab& mask, const BandShape& shape, std::int32_t first_plane,
                      std::int32_t last_plane);

}  // namespace segtrial
