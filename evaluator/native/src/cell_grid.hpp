// The grid of cells, and how cells are grouped for the search.
//
// A cell has voxel centres at its corners: cell c along an axis lies between the voxels c - 1 and
// c, so a volume of n voxels, with the zeros around it, has n + 1 cells. 64 cells make a brick, as
// close to a cube in mm as powers of two allow; 4 x 4 x 4 bricks make a node. In a brick, cells are
// numbered so that each half, quarter and so on is compact, too: neighbours in the order of cells
// are neighbours in space, and can be searched for together.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "label_volume.hpp"

namespace segtrial {

/// A volume or a surface of more parts than can be numbered.
struct TooLarge : std::length_error {
  using std::length_error::length_error;
};

/// Everything about one surface cell in one number. Sorted, these numbers bring cells of a brick,
/// and bricks of a node, next to each other: in the same order for every memory order of the array.
///
///     node << 20 | brick in node << 14 | place in brick << 8 | configuration
using CellKey = std::uint64_t;

constexpr int kConfigurationBits = 8;
constexpr int kPlaceShift = 8;
constexpr int kBrickShift = 14;
constexpr int kNodeShift = 20;

/// Bricks along each edge of a node, as a power of two.
constexpr int kNodeEdgeBits = 2;

struct CellGrid {
  /// `voxels` and `spacing` along the logical axes; in 2D the first axis is a single plane.
  CellGrid(int dimensions, std::array<std::int64_t, 3> voxels, std::array<double, 3> spacing);

  int dimensions;
  std::array<std::int64_t, 3> voxels;
  std::array<double, 3> spacing;
  std::array<int, 6> place_axis;      // of each bit of a cell's place in its brick, lowest first
  std::array<int, 3> brick_bits;      // bits of each axis: log2 of the cells along a brick's edge
  std::array<std::int64_t, 3> cells;  // of the whole volume
  std::array<std::int64_t, 3> nodes;  // that cover them

  /// Part of the key that the position along one axis decides; the parts of three axes add up.
  CellKey key_part(int axis, std::int64_t cell) const;

  /// Cells along each axis from the first corner of a brick to a place in it.
  std::array<int, 3> in_brick(unsigned place) const;

  std::array<std::int32_t, 3> node_position(std::uint64_t node) const;
};

/// Turns cells, found in memory order, into keys, which follow the logical axes.
class CellCoder {
 public:
  CellCoder(const CellGrid& grid, const Orientation& orientation);

  /// Number of cells along a memory axis.
  std::int64_t cells(MemoryAxis axis) const {
    return static_cast<std::int64_t>(part_[axis].size());
  }
  CellKey part(MemoryAxis axis, std::int64_t cell) const { return part_[axis][cell]; }

  /// The first corner of a cell that a voxel can be at: in 2D the plane below is always empty.
  unsigned first_corner() const { return dimensions_ == 2 ? 4 : 0; }

  /// `corners` has bit 4 dp + 2 dr + dc set when the voxel dp planes, dr rows and dc columns up is.
  CellKey configuration(unsigned corners) const { return configuration_[corners]; }

 private:
  int dimensions_;
  std::array<std::vector<CellKey>, 3> part_;
  std::array<std::uint8_t, 256> configuration_;
};

}  // namespace segtrial
