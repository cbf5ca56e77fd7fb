#include "cell_grid.hpp"

namespace segtrial {

namespace {

constexpr int kBrickBits = 6;
constexpr int kIndexBits = 64 - kNodeShift;

/// For each bit of a place, the axis it moves along: always the one in which what the lower bits
/// span is shortest in mm.
std::array<int, kBrickBits> shortest_first(int dimensions, std::array<double, 3> edge) {
  std::array<int, kBrickBits> axes{};
  for (int& axis : axes) {
    axis = 2;
    for (int other = 1; other >= 3 - dimensions; --other) {
      if (edge[other] < edge[axis]) axis = other;
    }
    edge[axis] *= 2;
  }
  return axes;
}

}  // namespace

CellGrid::CellGrid(int dimensions, std::array<std::int64_t, 3> voxels,
                   std::array<double, 3> spacing)
    : dimensions(dimensions),
      voxels(voxels),
      spacing(spacing),
      place_axis(shortest_first(dimensions, spacing)),
      brick_bits{} {
  for (const int axis : place_axis) ++brick_bits[axis];
  std::uint64_t count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    cells[axis] = dimensions == 2 && axis == 0 ? 1 : voxels[axis] + 1;
    const std::int64_t edge = std::int64_t{1} << (brick_bits[axis] + kNodeEdgeBits);
    nodes[axis] = (cells[axis] + edge - 1) / edge;
    if (voxels[axis] >= INT32_MAX ||
        static_cast<std::uint64_t>(nodes[axis]) > (std::uint64_t{1} << kIndexBits) / count) {
      throw TooLarge("a volume of more voxels than cell keys can number");
    }
    count *= static_cast<std::uint64_t>(nodes[axis]);
  }
}

CellKey CellGrid::key_part(int axis, std::int64_t cell) const {
  const std::array<std::uint64_t, 3> node_stride{static_cast<std::uint64_t>(nodes[1] * nodes[2]),
                                                 static_cast<std::uint64_t>(nodes[2]), 1};
  const std::int64_t brick = cell >> brick_bits[axis];
  std::uint64_t place = 0;
  auto left = static_cast<std::uint64_t>(cell - (brick << brick_bits[axis]));
  for (int bit = 0; bit < kBrickBits; ++bit) {
    if (place_axis[bit] != axis) continue;
    place |= (left & 1) << bit;
    left >>= 1;
  }
  const auto node = static_cast<std::uint64_t>(brick >> kNodeEdgeBits);
  const auto brick_in_node = static_cast<std::uint64_t>(brick & ((1 << kNodeEdgeBits) - 1));
  return node * node_stride[axis] << kNodeShift |
         brick_in_node << (kBrickShift + kNodeEdgeBits * (2 - axis)) | place << kPlaceShift;
}

std::array<int, 3> CellGrid::in_brick(unsigned place) const {
  std::array<int, 3> cells{};
  std::array<int, 3> bits{};
  for (int bit = 0; bit < kBrickBits; ++bit) {
    const int axis = place_axis[bit];
    cells[axis] |= static_cast<int>(place >> bit & 1) << bits[axis]++;
  }
  return cells;
}

std::array<std::int32_t, 3> CellGrid::node_position(std::uint64_t node) const {
  const auto per_row = static_cast<std::uint64_t>(nodes[2]);
  const auto per_plane = static_cast<std::uint64_t>(nodes[1]) * per_row;
  return {static_cast<std::int32_t>(node / per_plane),
          static_cast<std::int32_t>(node % per_plane / per_row),
          static_cast<std::int32_t>(node % per_row)};
}

CellCoder::CellCoder(const CellGrid& grid, const Orientation& orientation)
    : dimensions_(grid.dimensions) {
  for (int memory = 0; memory < 3; ++memory) {
    const int logical = orientation.logical_axis[memory];
    const std::int64_t cells = grid.cells[logical];
    part_[memory].resize(cells);
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      // Counted from the other end, the cell between voxels c - 1 and c is cell n - c.
      const std::int64_t at = orientation.reversed[memory] ? grid.voxels[logical] - cell : cell;
      part_[memory][cell] = grid.key_part(logical, at);
    }
  }
  for (unsigned corners = 0; corners < 256; ++corners) {
    unsigned configuration = 0;
    for (unsigned corner = 0; corner < 8; ++corner) {
      unsigned moved = 0;
      for (int memory = 0; memory < 3; ++memory) {
        const bool up = (corner >> (2 - memory) & 1) != (orientation.reversed[memory] ? 1u : 0u);
        if (up) moved |= 4u >> orientation.logical_axis[memory];
      }
      if (corners >> corner & 1) configuration |= 1u << moved;
    }
    configuration_[corners] = static_cast<std::uint8_t>(configuration);
  }
}

}  // namespace segtrial
