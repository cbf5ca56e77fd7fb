// What voxels alone decide, for one structure in a few planes: counts, bands, and surface cells.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bit_slab.hpp"
#include "boundary_band.hpp"
#include "cell_grid.hpp"

namespace segtrial {

/// The two volumes of a case; every array of two is reference first, prediction second.
using VolumePair = std::array<LabelVolume, 2>;

/// One structure in both volumes.
struct StructurePair {
  std::array<std::vector<std::uint64_t>, 2> labels;
  std::array<StructureExtent, 2> extent;
};

struct VoxelCounts {
  std::int64_t reference = 0;
  std::int64_t prediction = 0;
  std::int64_t intersection = 0;
  std::int64_t band_intersection = 0;
  std::int64_t band_union = 0;

  VoxelCounts& operator+=(const VoxelCounts& other);
};

struct SlabResult {
  VoxelCounts counts;
  std::array<std::vector<CellKey>, 2> cells;  // of the two surfaces, in memory order
};

/// The slabs in which the structure has voxels or surface cells, ascending.
std::vector<std::int64_t> slabs_of(const StructurePair& structure, const BandShape& shape);

/// Measures one slab.
SlabResult measure_slab(const VolumePair& volumes, const StructurePair& structure,
                        const std::vector<std::uint64_t>& ignored, const BandShape& shape,
                        const CellCoder& coder, std::int64_t slab);

}  // namespace segtrial
