// The boundary band by distance: its time grows with the voxels of the mask, hardly with the width.
//
// In each line of columns the nearest background voxel is counted out. In each plane the lowest of
// the parabolas above the row edges tells which background voxel of the plane is nearest
// (Felzenszwalb and Huttenlocher 2012, https://doi.org/10.4086/toc.2012.v008a019), and so how many
// planes away a voxel is still boundary because of it. What remains is to carry that number from
// plane to plane, one less each time.
//
// Arithmetic only chooses which voxel is nearest; whether it is near enough, the shape's integers
// say. Two that are equally near up to rounding are the same to a shape that is clear of its limit.
#pragma once

#include "bit_slab.hpp"
#include "boundary_band.hpp"

namespace segtrial {

/// What boundary_band() returns, for a shape that is clear of its limit.
BitSlab wide_band(const BitSlab& mask, const BandShape& shape, std::int32_t first_plane,
                  std::int32_t last_plane);

}  // namespace segtrial
