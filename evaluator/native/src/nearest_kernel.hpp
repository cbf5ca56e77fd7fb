// The search for the nearest point of a surface, several points at a time.
//
// Compiled once for each instruction set, with vectors as wide as it has. All is in an unnamed
// namespace, and nothing of the standard library is called (nearest.hpp says why).
//
// Some neighbouring centroids make a packet. The cell that was nearest to the packet before gives a
// first upper bound; then the bricks within the bound are looked into, the nearest first, of each
// the cells whose box is within it, of each of those the rectangles and triangles of its surface.
// Boxes are compared in single precision, with a margin wider than its rounding, and everything
// else in double precision. So nothing that could be nearest is left out, and the result is the
// least of the same numbers, to the bit, for every width of vectors and every order of the search.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "nearest.hpp"

namespace segtrial {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// A packet has one point in each lane.
using Lanes = double __attribute__((vector_size(kVectorBytes)));
using LaneMask = std::int64_t __attribute__((vector_size(kVectorBytes)));
constexpr int kLanes = kVectorBytes / 8;
using LaneSingles = float __attribute__((vector_size(kVectorBytes / 2)));

// Boxes are compared with a group of cells at once.
using Singles = float __attribute__((vector_size(kVectorBytes)));
using SinglesMask = std::int32_t __attribute__((vector_size(kVectorBytes)));
constexpr int kGroup = kVectorBytes / 4;

// Further than anything, squared; also in single precision.
constexpr double kFar = 1e30;

// Double precision may make a bound too small by less than this ratio.
constexpr double kRounding = 1e-12;

// When more nodes than this are within the bound, the search goes by blocks, nearest first.
constexpr int kManyNodes = 8;

inline double smaller(double a, double b) { return a < b ? a : b; }
inline double larger(double a, double b) { return a > b ? a : b; }
inline Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
inline Singles larger(Singles a, Singles b) { return a > b ? a : b; }
inline Lanes all_lanes(double x) { return Lanes{} + x; }

inline bool any(LaneMask mask) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif defined(__AVX__)
  return _mm256_movemask_pd((__m256d)mask) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_pd((__m128d)mask) != 0;
#else
  return (mask[0] | mask[1]) != 0;
#endif
}

/// Bit i says whether lane i is set.
inline unsigned lanes_set(SinglesMask mask) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)mask);
#elif defined(__AVX__)
  return static_cast<unsigned>(_mm256_movemask_ps((__m256)mask));
#elif defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_ps((__m128)mask));
#else
  unsigned bits = 0;
  for (int i = 0; i < kGroup; ++i) bits |= (mask[i] & 1u) << i;
  return bits;
#endif
}

inline Singles loaded(const float* from) {
  Singles singles;
  __builtin_memcpy(&singles, from, sizeof singles);
  return singles;
}

inline void store(LaneSingles lanes, float* to) { __builtin_memcpy(to, &lanes, sizeof lanes); }

inline double largest(Lanes lanes) {
  double most = lanes[0];
  for (int i = 1; i < kLanes; ++i) most = larger(most, lanes[i]);
  return most;
}

/// Points to search for together, in mm from the first corner of a node.
struct Packet {
  Lanes at[3];
  double low[3], high[3];  // box around them
  double square_extent;    // of the longest edge of the box
};

inline Lanes square_distance(const Rectangle& r, const Lanes at[3]) {
  const Lanes x = at[0] - r.origin[0], y = at[1] - r.origin[1], z = at[2] - r.origin[2];
  const Lanes h = x * r.normal[0] + y * r.normal[1] + z * r.normal[2];
  Lanes u = x * r.axis[0][0] + y * r.axis[0][1] + z * r.axis[0][2];
  Lanes v = x * r.axis[1][0] + y * r.axis[1][1] + z * r.axis[1][2];
  u -= smaller(larger(u, Lanes{}), all_lanes(r.side[0]));
  v -= smaller(larger(v, Lanes{}), all_lanes(r.side[1]));
  return h * h + u * u + v * v;
}

inline Lanes square_distance(const Triangle& t, const Lanes at[3]) {
  const Lanes x = at[0] - t.origin[0], y = at[1] - t.origin[1], z = at[2] - t.origin[2];
  const Lanes h = x * t.normal[0] + y * t.normal[1] + z * t.normal[2];
  const Lanes u = x * t.axis[0][0] + y * t.axis[0][1] + z * t.axis[0][2];
  const Lanes v = x * t.axis[1][0] + y * t.axis[1][1] + z * t.axis[1][2];
  // The first edge lies on the first axis; the triangle is above it.
  Lanes outside = -v;  // of the edge it is furthest outside of; inside of all when not above 0
  const Lanes beyond = u - smaller(larger(u, Lanes{}), all_lanes(t.base));
  Lanes to_edges = v * v + beyond * beyond;
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const Triangle::Edge& edge = t.edge[k];
    const Lanes a = u - edge.start[0], b = v - edge.start[1];
    Lanes along = a * edge.direction[0] + b * edge.direction[1];
    const Lanes across = a * edge.direction[1] - b * edge.direction[0];
    outside = larger(across, outside);
    along -= smaller(larger(along, Lanes{}), all_lanes(edge.length));
    to_edges = smaller(across * across + along * along, to_edges);
  }
  return h * h + (outside > Lanes{} ? to_edges : Lanes{});
}

/// Gaps between a point and the intervals of a group.
inline Singles gaps(Singles low, Singles high, float at) {
  return larger(larger(low - at, at - high), Singles{});
}

/// Squared gaps between an interval and each of four adjacent ones, of equal size from `first` on.
inline void square_gaps(double low, double high, double first, double size, double squares[4]) {
  for (int i = 0; i < 4; ++i) {
    const double begin = first + i * size;
    const double gap = larger(larger(begin - high, low - (begin + size)), 0.0);
    squares[i] = gap * gap;
  }
}

/// For a set of the four positions along one axis, the parts of a 4 x 4 x 4 block that are there.
struct BlockMasks {
  std::uint64_t along[3][16];

  constexpr BlockMasks() : along() {
    for (int set = 0; set < 16; ++set) {
      for (int part = 0; part < 64; ++part) {
        for (int axis = 0; axis < 3; ++axis) {
          const int position = part >> (4 - 2 * axis) & 3;
          if (set >> position & 1) along[axis][set] |= std::uint64_t{1} << part;
        }
      }
    }
  }
};
constexpr BlockMasks kBlockMasks;

/// The 64 parts of a block: those within a bound, and how far they are.
struct Block {
  double squares[3][4];

  /// `edge` of one part in mm along each axis; the first one begins at `first`.
  Block(const Packet& packet, const double first[3], const double edge[3]) {
    for (int a = 0; a < 3; ++a) {
      square_gaps(packet.low[a], packet.high[a], first[a], edge[a], squares[a]);
    }
  }

  double square_gap(int part) const {
    return squares[0][part >> 4] + squares[1][part >> 2 & 3] + squares[2][part & 3];
  }

  /// Those of `parts` that may be within `bound`.
  std::uint64_t within(std::uint64_t parts, double bound) const {
    for (int a = 0; a < 3; ++a) {
      unsigned set = 0;
      for (int i = 0; i < 4; ++i) set |= static_cast<unsigned>(squares[a][i] < bound) << i;
      parts &= kBlockMasks.along[a][set];
    }
    return parts;
  }
};

/// The search of one surface.
class Search {
 public:
  Search(const GridView& grid, const ShapeView& shapes, const SurfaceView& surface)
      : grid_(grid), shapes_(shapes), surface_(surface) {
    for (int a = 0; a < 3; ++a) {
      node_edge_[a] = 4 * grid.brick[a];
      square_brick_ = larger(square_brick_, grid.brick[a] * grid.brick[a]);
    }
  }

  /// Points of the packets that follow are relative to this node.
  void move_to_node(const std::int32_t position[3]) {
    for (int a = 0; a < 3; ++a) node_[a] = position[a];
  }

  /// Squared distances of the points of a packet to the surface.
  Lanes square_distances(const Packet& packet) {
    packet_ = &packet;
    set_best(all_lanes(kFar));
    if (nearest_.cell >= 0) set_best(distances_to_nearest());
    if (nearest_.cell < 0 || !search_near()) search_far(surface_.levels, 0, 0, 0);
    return best_;
  }

 private:
  /// A brick of the surface, and its squared gap to the packet.
  struct Brick {
    double square_gap;
    const Node* node;
    int part;  // of the node
  };

  void set_best(Lanes best) {
    best_ = best;
    bound_ = largest(best) * (1 + kRounding);
  }

  void node_offset(const Node& node, double offset[3]) const {
    for (int a = 0; a < 3; ++a) offset[a] = (node.position[a] - node_[a]) * node_edge_[a];
  }

  void brick_offset(const Brick& brick, double offset[3]) const {
    node_offset(*brick.node, offset);
    for (int a = 0; a < 3; ++a) offset[a] += grid_.in_node[brick.part][a];
  }

  /// The smaller of `best` and the squared distances to the surface in a cell of the brick at
  /// `offset`.
  Lanes distances_to_cell(std::int64_t cell, const double offset[3], Lanes best) const {
    const double* const place = grid_.in_brick[surface_.place[cell]];
    const Lanes at[3] = {packet_->at[0] - (offset[0] + place[0]),
                         packet_->at[1] - (offset[1] + place[1]),
                         packet_->at[2] - (offset[2] + place[2])};
    const int c = surface_.configuration[cell];
    for (std::int32_t i = shapes_.first_rectangle[c]; i < shapes_.first_rectangle[c + 1]; ++i) {
      best = smaller(square_distance(shapes_.rectangles[i], at), best);
    }
    for (std::int32_t i = shapes_.first_triangle[c]; i < shapes_.first_triangle[c + 1]; ++i) {
      best = smaller(square_distance(shapes_.triangles[i], at), best);
    }
    return best;
  }

  Lanes distances_to_nearest() const {
    double offset[3];
    brick_offset(nearest_.brick, offset);
    return distances_to_cell(nearest_.cell, offset, best_);
  }

  /// What is compared with the boxes of a brick's cells, in single precision.
  struct Comparison {
    float at[3][kLanes];  // points in mm from the first corner of the brick
    float limit[kLanes];  // squared distance within which a box is of interest to each point
    float margin;         // for rounding, in it
  };

  Comparison comparison(const Brick& brick, const double offset[3]) const {
    Comparison c;
    for (int a = 0; a < 3; ++a) {
      store(__builtin_convertvector(packet_->at[a] - offset[a], LaneSingles), c.at[a]);
    }
    // No coordinate in here is larger than the edges and the gap together, E. A gap is wrong by at
    // most 2e-7 E, so its square by a ratio of 1e-5 and another 2e-8 E^2.
    c.margin =
        static_cast<float>(6e-8 * (brick.square_gap + square_brick_ + packet_->square_extent));
    narrow(c);
    return c;
  }

  void narrow(Comparison& c) const {
    store(__builtin_convertvector(best_, LaneSingles) * 1.00002f + c.margin, c.limit);
  }

  /// The cells of the group beginning at `cell` whose box is within the limit of any point.
  unsigned cells_within(std::int64_t cell, const Comparison& c) const {
    const Singles low[3] = {loaded(surface_.low[0] + cell), loaded(surface_.low[1] + cell),
                            loaded(surface_.low[2] + cell)};
    const Singles high[3] = {loaded(surface_.high[0] + cell), loaded(surface_.high[1] + cell),
                             loaded(surface_.high[2] + cell)};
    SinglesMask within = {};
    for (int i = 0; i < kLanes; ++i) {
      const Singles x = gaps(low[0], high[0], c.at[0][i]);
      const Singles y = gaps(low[1], high[1], c.at[1][i]);
      const Singles z = gaps(low[2], high[2], c.at[2][i]);
      within |= x * x + y * y + z * z < c.limit[i];
    }
    return lanes_set(within);
  }

  void visit(const Brick& brick) {
    double offset[3];
    brick_offset(brick, offset);
    Comparison c = comparison(brick, offset);
    const std::uint64_t before = brick.node->bricks & ((std::uint64_t{1} << brick.part) - 1);
    const std::int64_t index = brick.node->first_brick + __builtin_popcountll(before);
    const std::int64_t end = surface_.first_cell[index + 1];
    for (std::int64_t group = surface_.first_cell[index]; group < end; group += kGroup) {
      unsigned within = cells_within(group, c);
      if (end - group < kGroup) within &= (1u << (end - group)) - 1;
      if (within == 0) continue;
      const Lanes before_group = best_;
      std::int64_t nearest = -1;
      for (; within != 0; within &= within - 1) {
        const std::int64_t cell = group + __builtin_ctz(within);
        const Lanes distances = distances_to_cell(cell, offset, best_);
        nearest = any(distances < best_) ? cell : nearest;
        best_ = distances;
      }
      if (!any(best_ < before_group)) continue;
      nearest_ = {nearest, brick};
      set_best(best_);
      narrow(c);
    }
  }

  /// Visits the bricks within the bound: first the nearest, which mostly narrows it, then the
  /// others.
  void visit(Brick* bricks, int count) {
    if (count == 0) return;
    int nearest = 0;
    for (int i = 1; i < count; ++i) {
      nearest = bricks[i].square_gap < bricks[nearest].square_gap ? i : nearest;
    }
    visit(bricks[nearest]);
    bricks[nearest] = bricks[0];
    for (int i = 1; i < count; ++i) {
      if (bricks[i].square_gap < bound_) visit(bricks[i]);
    }
  }

  /// Adds the bricks of a node that are within the bound to a list, and returns its new end.
  Brick* add_bricks(const Node& node, Brick* end) const {
    double offset[3];
    node_offset(node, offset);
    const Block block(*packet_, offset, grid_.brick);
    for (std::uint64_t parts = block.within(node.bricks, bound_); parts != 0; parts &= parts - 1) {
      const int part = __builtin_ctzll(parts);
      const double square_gap = block.square_gap(part);
      if (square_gap < bound_) *end++ = {square_gap, &node, part};
    }
    return end;
  }

  const Node* node_at(std::int32_t a, std::int32_t b, std::int32_t c) const {
    const std::int32_t* const size = surface_.directory_size;
    const std::int64_t index = (static_cast<std::int64_t>(a) * size[1] + b) * size[2] + c;
    const std::int32_t node = surface_.directory[index];
    return node < 0 ? nullptr : surface_.nodes + node;
  }

  /// Looks into all nodes within the bound, unless they are many.
  bool search_near() {
    const double reach = __builtin_sqrt(bound_);
    std::int32_t first[3], last[3];
    std::int64_t nodes = 1;
    for (int a = 0; a < 3; ++a) {
      const std::int32_t origin = node_[a] - surface_.directory_origin[a];
      const double low = __builtin_floor((packet_->low[a] - reach) / node_edge_[a]) + origin;
      const double high = __builtin_floor((packet_->high[a] + reach) / node_edge_[a]) + origin;
      first[a] = static_cast<std::int32_t>(larger(low, 0.0));
      last[a] = static_cast<std::int32_t>(smaller(high, surface_.directory_size[a] - 1.0));
      nodes *= last[a] - first[a] + 1;
    }
    if (nodes > kManyNodes) return false;
    Brick bricks[64 * kManyNodes];
    Brick* end = bricks;
    for (std::int32_t a = first[0]; a <= last[0]; ++a) {
      for (std::int32_t b = first[1]; b <= last[1]; ++b) {
        for (std::int32_t c = first[2]; c <= last[2]; ++c) {
          if (const Node* const node = node_at(a, b, c)) end = add_bricks(*node, end);
        }
      }
    }
    visit(bricks, static_cast<int>(end - bricks));
    return true;
  }

  /// Goes through a block of the given level, nearest part first. Level 0 blocks are nodes.
  void search_far(int level, std::int32_t a, std::int32_t b, std::int32_t c) {
    if (level == 0) {
      Brick bricks[64];
      visit(bricks, static_cast<int>(add_bricks(*node_at(a, b, c), bricks) - bricks));
      return;
    }
    const std::int32_t at[3] = {a, b, c};
    double edge[3], first[3];  // of the parts, and where the first one begins
    for (int axis = 0; axis < 3; ++axis) {
      edge[axis] = grid_.brick[axis] * static_cast<double>(std::int64_t{1} << (2 * level));
      const std::int32_t origin = surface_.directory_origin[axis] - node_[axis];
      first[axis] = origin * node_edge_[axis] + at[axis] * 4 * edge[axis];
    }
    const Block block(*packet_, first, edge);
    const std::int32_t* const size = surface_.level_size[level - 1];
    const std::int64_t index = (static_cast<std::int64_t>(a) * size[1] + b) * size[2] + c;
    std::uint64_t parts = block.within(surface_.level[level - 1][index], bound_);
    while (parts != 0) {
      int nearest = __builtin_ctzll(parts);
      for (std::uint64_t rest = parts & (parts - 1); rest != 0; rest &= rest - 1) {
        const int part = __builtin_ctzll(rest);
        if (block.square_gap(part) < block.square_gap(nearest)) nearest = part;
      }
      if (block.square_gap(nearest) >= bound_) return;
      parts &= ~(std::uint64_t{1} << nearest);
      search_far(level - 1, at[0] * 4 + (nearest >> 4), at[1] * 4 + (nearest >> 2 & 3),
                 at[2] * 4 + (nearest & 3));
    }
  }

  const GridView& grid_;
  const ShapeView& shapes_;
  const SurfaceView& surface_;
  double node_edge_[3];
  double square_brick_ = 0;  // of the longest edge of a brick

  const Packet* packet_ = nullptr;
  std::int32_t node_[3] = {0, 0, 0};
  Lanes best_ = {};   // squared distance of each point so far
  double bound_ = 0;  // the largest of them, and the rounding of what it is compared with
  struct {
    std::int64_t cell = -1;
    Brick brick{};
  } nearest_;  // the cell that last was nearest to any point
};

/// Collects points into packets and hands out their distances.
class Batch {
 public:
  explicit Batch(Search& search) : search_(search) {}

  void add(double x, double y, double z, double* distance) {
    at_[0][count_] = x;
    at_[1][count_] = y;
    at_[2][count_] = z;
    distance_[count_++] = distance;
    if (count_ == kLanes) flush();
  }

  void flush() {
    if (count_ == 0) return;
    Packet packet;
    packet.square_extent = 0;
    for (int a = 0; a < 3; ++a) {
      for (int i = count_; i < kLanes; ++i) at_[a][i] = at_[a][0];
      packet.low[a] = packet.high[a] = at_[a][0];
      for (int i = 1; i < kLanes; ++i) {
        packet.low[a] = smaller(packet.low[a], at_[a][i]);
        packet.high[a] = larger(packet.high[a], at_[a][i]);
      }
      const double extent = packet.high[a] - packet.low[a];
      packet.square_extent = larger(packet.square_extent, extent * extent);
      __builtin_memcpy(&packet.at[a], at_[a], sizeof packet.at[a]);
    }
    const Lanes squares = search_.square_distances(packet);
    for (int i = 0; i < count_; ++i) *distance_[i] = __builtin_sqrt(squares[i]);
    count_ = 0;
  }

 private:
  Search& search_;
  int count_ = 0;
  double at_[3][kLanes];
  double* distance_[kLanes];
};

void measure_nodes(const GridView& grid, const ShapeView& shapes, const SurfaceView& from,
                   std::int64_t first, std::int64_t last, const SurfaceView& to,
                   double* distances) {
  Search search(grid, shapes, to);
  Batch batch(search);
  for (const Node* node = from.nodes + first; node < from.nodes + last; ++node) {
    search.move_to_node(node->position);
    std::int64_t brick = node->first_brick;
    for (std::uint64_t bricks = node->bricks; bricks != 0; bricks &= bricks - 1, ++brick) {
      const double* const in_node = grid.in_node[__builtin_ctzll(bricks)];
      for (std::int64_t cell = from.first_cell[brick]; cell < from.first_cell[brick + 1]; ++cell) {
        const int configuration = from.configuration[cell];
        const Element* element = shapes.elements + shapes.first_element[configuration];
        const Element* const end = shapes.elements + shapes.first_element[configuration + 1];
        if (from.shared[cell]) {  // its surface lies on the other one
          for (; element < end; ++element) *distances++ = 0.0;
          continue;
        }
        const double* const place = grid.in_brick[from.place[cell]];
        for (; element < end; ++element) {
          batch.add(in_node[0] + place[0] + element->centroid[0],
                    in_node[1] + place[1] + element->centroid[1],
                    in_node[2] + place[2] + element->centroid[2], distances++);
        }
      }
    }
    batch.flush();
  }
}

}  // namespace
}  // namespace segtrial
