#include "slab_pass.hpp"

#include <algorithm>

namespace segtrial {

namespace {

/// Planes [first, last) of a slab: it owns their voxels, and the cells just before each.
struct Planes {
  std::int32_t first, last;
};

/// Planes in a slab: enough that the planes looked at around it are few beside it.
std::int32_t planes_per_slab(const BandShape& shape) {
  constexpr std::int32_t kFewest = 16;
  return std::max(kFewest, 2 * shape.plane_reach());
}

int bit_count(Word word) {
  // Without an instruction for it in the baseline, the compiler would call a function.
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<int>(word * 0x0101010101010101u >> 56);
}

void count_voxels(const BitSlab& reference, const BitSlab& prediction, Planes planes,
                  VoxelCounts& counts) {
  const Box& box = reference.box();
  const std::int32_t first = std::max(planes.first, box.first_plane);
  const std::int32_t last = std::min(planes.last, box.last_plane);
  for (std::int32_t plane = first; plane < last; ++plane) {
    const Word* const r = reference.plane(plane);
    const Word* const p = prediction.plane(plane);
    for (std::size_t i = 0; i < reference.plane_words(); ++i) {
      if ((r[i] | p[i]) == 0) continue;
      counts.reference += bit_count(r[i]);
      counts.prediction += bit_count(p[i]);
      counts.intersection += bit_count(r[i] & p[i]);
    }
  }
}

void count_bands(const BitSlab& reference, const BitSlab& prediction, const BandShape& shape,
                 Planes planes, VoxelCounts& counts) {
  const BitSlab reference_band = boundary_band(reference, shape, planes.first, planes.last);
  const BitSlab prediction_band = boundary_band(prediction, shape, planes.first, planes.last);
  const Box& box = reference_band.box();
  for (std::int32_t plane = box.first_plane; plane < box.last_plane; ++plane) {
    const Word* const r = reference_band.plane(plane);
    const Word* const p = prediction_band.plane(plane);
    for (std::size_t i = 0; i < reference_band.plane_words(); ++i) {
      if ((r[i] | p[i]) == 0) continue;
      counts.band_intersection += bit_count(r[i] & p[i]);
      counts.band_union += bit_count(r[i] | p[i]);
    }
  }
}

/// Bit c becomes what bit c - 1 was; the word before `words` gives the first.
Word moved_on(const Word* words, std::int32_t i) { return words[i] << 1 | words[i - 1] >> 63; }

/// Appends the keys of the surface cells of 64 columns in one row of cells.
void add_cells(const std::array<Word, 8>& corners, const CellCoder& coder, CellKey row_part,
               std::int64_t first_column, std::vector<CellKey>& cells) {
  Word any = 0;
  Word all = ~Word{0};
  for (unsigned corner = coder.first_corner(); corner < 8; ++corner) {
    any |= corners[corner];
    all &= corners[corner];
  }
  for (Word mixed = any & ~all; mixed != 0; mixed &= mixed - 1) {
    const int bit = __builtin_ctzll(mixed);
    unsigned set = 0;
    for (unsigned corner = 0; corner < 8; ++corner) {
      set |= static_cast<unsigned>(corners[corner] >> bit & 1) << corner;
    }
    cells.push_back(row_part + coder.part(kColumn, first_column + bit) + coder.configuration(set));
  }
}

/// The cells between planes - 1 and planes, for each plane of the slab.
void find_cells(const BitSlab& mask, Planes planes, const CellCoder& coder,
                std::vector<CellKey>& cells) {
  const Box& box = mask.box();
  for (std::int32_t plane = planes.first; plane < planes.last; ++plane) {
    if (plane < box.first_plane || plane > box.last_plane) continue;
    for (std::int32_t row = box.first_row; row <= box.last_row; ++row) {
      const Word* const below = mask.row(plane - 1, row - 1);
      const Word* const below_next = mask.row(plane - 1, row);
      const Word* const above = mask.row(plane, row - 1);
      const Word* const above_next = mask.row(plane, row);
      const CellKey row_part = coder.part(kPlane, plane) + coder.part(kRow, row);
      for (std::int32_t i = 0; i < box.words(); ++i) {
        // The corner order is that of CellCoder::configuration.
        const std::array<Word, 8> corners{
            moved_on(below, i), below[i], moved_on(below_next, i), below_next[i],
            moved_on(above, i), above[i], moved_on(above_next, i), above_next[i]};
        const std::int64_t column = std::int64_t{box.first_word + i} * kWordBits;
        add_cells(corners, coder, row_part, column, cells);
      }
    }
  }
}

}  // namespace

VoxelCounts& VoxelCounts::operator+=(const VoxelCounts& other) {
  reference += other.reference;
  prediction += other.prediction;
  intersection += other.intersection;
  band_intersection += other.band_intersection;
  band_union += other.band_union;
  return *this;
}

std::vector<std::int64_t> slabs_of(const StructurePair& structure, const BandShape& shape) {
  const std::int32_t size = planes_per_slab(shape);
  std::vector<std::int64_t> slabs;
  for (const StructureExtent& extent : structure.extent) {
    for (const PlaneExtent& at : extent) {
      slabs.push_back(at.plane / size);
      slabs.push_back((at.plane + 1) / size);  // of the cells after the plane
    }
  }
  std::sort(slabs.begin(), slabs.end());
  slabs.erase(std::unique(slabs.begin(), slabs.end()), slabs.end());
  return slabs;
}

SlabResult measure_slab(const VolumePair& volumes, const StructurePair& structure,
                        const std::vector<std::uint64_t>& ignored, const BandShape& shape,
                        const CellCoder& coder, std::int64_t slab) {
  const std::int32_t size = planes_per_slab(shape);
  const auto first = static_cast<std::int32_t>(slab * size);
  const auto end = static_cast<std::int32_t>(volumes[0].size[kPlane]);
  const Planes voxels{first, std::min(first + size, end)};
  const Planes cell_planes{
      first, static_cast<std::int32_t>(std::min<std::int64_t>(first + size, coder.cells(kPlane)))};
  const std::int32_t reach = std::max(1, shape.plane_reach());
  const std::array<ExtentRange, 2> near{
      ExtentRange(structure.extent[0], first - reach, voxels.last + reach),
      ExtentRange(structure.extent[1], first - reach, voxels.last + reach)};
  SlabResult result;
  const Box box = bounding_box(near[0], near[1]);
  std::array<BitSlab, 2> masks{BitSlab(box), BitSlab(box)};
  for (int side = 0; side < 2; ++side) {
    masks[side].set(volumes[side], near[side], structure.labels[side]);
    if (!ignored.empty()) masks[side].clear(volumes[0], near[side], ignored);
  }
  count_voxels(masks[0], masks[1], voxels, result.counts);
  count_bands(masks[0], masks[1], shape, voxels, result.counts);
  // A surface is only of use beside another one.
  if (structure.extent[0].empty() || structure.extent[1].empty()) return result;
  for (int side = 0; side < 2; ++side) {
    find_cells(masks[side], cell_planes, coder, result.cells[side]);
  }
  return result;
}

}  // namespace segtrial
