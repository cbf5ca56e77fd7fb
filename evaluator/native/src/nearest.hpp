// The exact distance from every element of one surface to another surface.
//
// What is here is plain data and functions: the search is compiled once for each instruction set,
// and inline code shared by such files could be merged by the linker into the wrong one.
#pragma once

#include <cstdint>

#include "shapes.hpp"

namespace segtrial {

constexpr int kMaxLevels = 16;  // 4^15 nodes of at least 4 cells are more than INT32_MAX voxels

/// 4 x 4 x 4 bricks. Those that hold cells are stored up to the first one of the next node.
struct Node {
  std::int64_t first_brick;
  std::int32_t position[3];  // in nodes of the grid
};

/// Boxes around parts of the surface, in mm from the first corner of the node they are in.
struct Boxes {
  const float* low[3];
  const float* high[3];
};

/// Sizes and offsets in the grid, in mm along the logical axes.
struct GridView {
  double brick[3];         // edges of a brick
  double in_brick[64][3];  // first corner of each place in a brick
  double in_node[64][3];   // first corner of each brick in a node
};

struct ShapeView {
  const Element* elements;
  const std::int32_t* first_element;
  const Rectangle* rectangles;
  const Triangle* triangles;
  const Quadrilateral* quadrilaterals;
  const ShapeRanges* ranges;
};

/// One surface, ready to be searched and to be measured from.
struct SurfaceView {
  // Cells, sorted by brick.
  const std::uint8_t* configuration;
  const std::uint8_t* place;   // in the brick
  const std::uint8_t* shared;  // whether the other surface has the very same cell
  Boxes cell_boxes;
  // Bricks: cells first_cell[b] up to first_cell[b + 1].
  const std::int64_t* first_cell;
  const std::uint8_t* part;  // of the node
  Boxes brick_boxes;
  const Node* nodes;  // and one more, where the last one's bricks end
  // The node at each position of the box that holds them all, or -1.
  const std::int32_t* directory;
  std::int32_t directory_origin[3];
  std::int32_t directory_size[3];
  // Above the directory, blocks of 4 x 4 x 4: a bit for each that holds anything.
  int levels;
  const std::uint64_t* level[kMaxLevels];
  std::int32_t level_size[kMaxLevels][3];
};

/// Distances in mm from the elements of nodes [first, last) of `from`, in the order of its cells
/// and of the elements of their configurations.
using NearestDistances = void (*)(const GridView& grid, const ShapeView& shapes,
                                  const SurfaceView& from, std::int64_t first, std::int64_t last,
                                  const SurfaceView& to, double* distances);

// The same function for each instruction set; all give the same distances, to the bit.
namespace baseline {
void nearest_distances(const GridView& grid, const ShapeView& shapes, const SurfaceView& from,
                       std::int64_t first, std::int64_t last, const SurfaceView& to,
                       double* distances);
}
#if defined(SEGTRIAL_X86)
namespace avx2 {
void nearest_distances(const GridView& grid, const ShapeView& shapes, const SurfaceView& from,
                       std::int64_t first, std::int64_t last, const SurfaceView& to,
                       double* distances);
}
namespace avx512 {
void nearest_distances(const GridView& grid, const ShapeView& shapes, const SurfaceView& from,
                       std::int64_t first, std::int64_t last, const SurfaceView& to,
                       double* distances);
}
#endif

}  // namespace segtrial
