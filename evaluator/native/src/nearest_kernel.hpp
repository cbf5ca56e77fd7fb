// The search for the nearest point of a surface, several points at a time.
//
// Compiled once for each instruction set, with vectors as wide as it has. All is in an unnamed
// namespace, and nothing of the standard library is called (nearest.hpp says why).
//
// Some neighbouring centroids make a packet. The two cells that were nearest to packets before give
// a first upper bound; then the brick of the last one and all others within the bound are looked
// into, of each the cells whose box is within it, of each of those the shapes that make up its
// surface.
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
constexpr int kLanes = kVectorBytes / 8;
using LaneSingles = float __attribute__((vector_size(kVectorBytes / 2)));

// A group of boxes is compared at once.
using Singles = float __attribute__((vector_size(kVectorBytes)));
constexpr int kGroup = kVectorBytes / 4;

// Further than anything, squared; also in single precision.
constexpr double kFar = 1e30;

// Double precision may make a bound too small by less than this ratio.
constexpr double kRounding = 1e-9;

// When more nodes than this are within the bound, the search goes by blocks, nearest first.
constexpr int kManyNodes = 8;

template <class T>
T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T larger(T a, T b) {
  return a > b ? a : b;
}
inline Lanes all_lanes(double x) { return Lanes{} + x; }

/// Whether `a` is less than `b` in any lane.
inline bool less_in_any(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ) != 0;
#elif defined(__AVX__)
  return _mm256_movemask_pd((__m256d)(a < b)) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_pd((__m128d)(a < b)) != 0;
#else
  return a[0] < b[0] || a[1] < b[1];
#endif
}

inline bool less_in_any(LaneSingles a, LaneSingles b) {
#if defined(__AVX512F__)
  return _mm256_cmp_ps_mask((__m256)a, (__m256)b, _CMP_LT_OQ) != 0;
#elif defined(__AVX__)
  return _mm_movemask_ps((__m128)(a < b)) != 0;
#else
  return a[0] < b[0] || a[1] < b[1];
#endif
}

/// Bit i says whether lane i is negative.
inline unsigned negative_lanes(Singles singles) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)singles);
#elif defined(__AVX__)
  return static_cast<unsigned>(_mm256_movemask_ps((__m256)singles));
#elif defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_ps((__m128)singles));
#else
  unsigned bits = 0;
  for (int i = 0; i < kGroup; ++i) bits |= static_cast<unsigned>(singles[i] < 0) << i;
  return bits;
#endif
}

template <class Vector>
Vector loaded(const float* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}

inline void store(LaneSingles lanes, float* to) { __builtin_memcpy(to, &lanes, sizeof lanes); }

inline double largest(Lanes lanes) {
  double most[kLanes];
  __builtin_memcpy(most, &lanes, sizeof lanes);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) most[i] = larger(most[i], most[i + half]);
  }
  return most[0];
}

/// Points to search for together, in mm from the first corner of a node.
struct Packet {
  Lanes at[3];
  double low[3], high[3];  // box around them
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

template <int kCorners>
Lanes square_distance(const Polygon<kCorners>& p, const Lanes at[3]) {
  const Lanes x = at[0] - p.origin[0], y = at[1] - p.origin[1], z = at[2] - p.origin[2];
  const Lanes h = x * p.normal[0] + y * p.normal[1] + z * p.normal[2];
  const Lanes u = x * p.axis[0][0] + y * p.axis[0][1] + z * p.axis[0][2];
  const Lanes v = x * p.axis[1][0] + y * p.axis[1][1] + z * p.axis[1][2];
  // The first edge lies on the first axis; the polygon is above it.
  Lanes outside = -v;  // of the edge it is furthest outside of; inside of all when not above 0
  const Lanes beyond = u - smaller(larger(u, Lanes{}), all_lanes(p.base));
  Lanes to_edges = v * v + beyond * beyond;
#pragma GCC unroll 3
  for (int k = 0; k < kCorners - 1; ++k) {
    const auto& edge = p.edge[k];
    const Lanes a = u - edge.start[0], b = v - edge.start[1];
    Lanes along = a * edge.direction[0] + b * edge.direction[1];
    const Lanes across = a * edge.direction[1] - b * edge.direction[0];
    outside = larger(across, outside);
    along -= smaller(larger(along, Lanes{}), all_lanes(edge.length));
    to_edges = smaller(across * across + along * along, to_edges);
  }
  return h * h + (outside > Lanes{} ? to_edges : Lanes{});
}

/// The smaller of `best` and the squared distances to a range of shapes.
template <class Shape>
Lanes nearest_of(const Shape* shapes, ShapeRanges::Range range, const Lanes at[3], Lanes best) {
  for (int i = range.begin; i < range.end; ++i) {
    best = smaller(square_distance(shapes[i], at), best);
  }
  return best;
}

/// From points to the nearest coordinate of an interval, for one of both in each lane.
template <class Vector>
Vector to_interval(Vector low, Vector high, Vector at) {
  return smaller(larger(at, low), high) - at;
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
      longest_edge_ = larger(longest_edge_, node_edge_[a]);
    }
  }

  /// Points of the packets that follow are relative to this node.
  void move_to_node(const std::int32_t position[3]) {
    for (int a = 0; a < 3; ++a) node_[a] = position[a];
  }

  /// Squared distances of the points of a packet to the surface.
  Lanes square_distances(const Packet& packet) {
    packet_ = &packet;
    best_ = all_lanes(kFar);
    for (const Place& place : nearest_) {
      if (place.cell >= 0) best_ = distances_to(place);
    }
    if (nearest_[0].cell < 0 || !search_near()) search_far(surface_.levels, 0, 0, 0);
    return best_;
  }

 private:
  /// A cell, and where it is stored.
  struct Place {
    std::int64_t cell = -1;
    std::int64_t brick = -1;
    const Node* node = nullptr;
  };

  /// The largest squared distance so far, and the rounding of what it is compared with.
  double bound() const { return largest(best_) * (1 + kRounding); }

  /// A node that is looked into.
  struct Visit {
    const Node* node;
    double offset[3];  // mm from the first corner of the node that points are relative to
    // In single precision, mm from the first corner of this node:
    alignas(kVectorBytes) float at[3][kLanes];
    float limit[kLanes];  // squared distance within which a box is of interest to each point
    float margin;         // for rounding, in it
    float low[3], high[3];
  };

  void node_offset(const Node& node, double offset[3]) const {
    for (int a = 0; a < 3; ++a) offset[a] = (node.position[a] - node_[a]) * node_edge_[a];
  }

  Visit begin_visit(const Node& node) const {
    Visit visit;
    visit.node = &node;
    node_offset(node, visit.offset);
    double most = longest_edge_;
    for (int a = 0; a < 3; ++a) {
      store(__builtin_convertvector(packet_->at[a] - visit.offset[a], LaneSingles), visit.at[a]);
      const double low = packet_->low[a] - visit.offset[a];
      const double high = packet_->high[a] - visit.offset[a];
      visit.low[a] = static_cast<float>(low);
      visit.high[a] = static_cast<float>(high);
      most = larger(most, larger(-low, high));
    }
    // No coordinate in here is larger than E, the most. A gap is wrong by at most 3e-7 E along each
    // axis, so the sum of their squares by a ratio of 1e-5 and another 3e-8 E^2.
    visit.margin = static_cast<float>(6e-8 * (most * most));
    narrow(visit, best_);
    return visit;
  }

  static void narrow(Visit& visit, Lanes best) {
    store(__builtin_convertvector(best, LaneSingles) * 1.00002f + visit.margin, visit.limit);
  }

  /// The smaller of `best` and the squared distances to the surface in a cell of the points that
  /// are at `from`, counted from the first corner of the cell's brick.
  Lanes distances_to_cell(std::int64_t cell, const Lanes from[3], Lanes best) const {
    const double* const place = grid_.in_brick[surface_.place[cell]];
    const Lanes at[3] = {from[0] - place[0], from[1] - place[1], from[2] - place[2]};
    const ShapeRanges& ranges = shapes_.ranges[surface_.configuration[cell]];
    best = nearest_of(shapes_.rectangles, ranges.rectangles, at, best);
    best = nearest_of(shapes_.triangles, ranges.triangles, at, best);
    return nearest_of(shapes_.quadrilaterals, ranges.quadrilaterals, at, best);
  }

  /// Where the points are, from the first corner of a brick in a node at `offset`.
  void move_to_brick(std::int64_t brick, const double offset[3], Lanes from[3]) const {
    const double* const in_node = grid_.in_node[surface_.part[brick]];
    for (int a = 0; a < 3; ++a) from[a] = packet_->at[a] - (offset[a] + in_node[a]);
  }

  [[gnu::flatten, gnu::noinline]] Lanes distances_to(const Place& place) const {
    double offset[3];
    node_offset(*place.node, offset);
    Lanes from[3];
    move_to_brick(place.brick, offset, from);
    return distances_to_cell(place.cell, from, best_);
  }

  /// The cells of the group beginning at `first` whose box is within the limit of any point.
  unsigned cells_within(std::int64_t first, const Visit& visit) const {
    Singles low[3], high[3];
    for (int a = 0; a < 3; ++a) {
      low[a] = loaded<Singles>(surface_.cell_boxes.low[a] + first);
      high[a] = loaded<Singles>(surface_.cell_boxes.high[a] + first);
    }
    // Hides where the points are from, or all of them would be spread out to vectors beforehand,
    // more than there are registers, for what mostly is one group.
    const Visit* points = &visit;
    __asm__("" : "+r"(points));
    Singles beyond = Singles{} + 1.0f;  // least of what the squared gaps are beyond the limits
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; ++i) {
      const Singles x = to_interval(low[0], high[0], Singles{} + points->at[0][i]);
      const Singles y = to_interval(low[1], high[1], Singles{} + points->at[1][i]);
      const Singles z = to_interval(low[2], high[2], Singles{} + points->at[2][i]);
      beyond = smaller(x * x + y * y + z * z - points->limit[i], beyond);
    }
    return negative_lanes(beyond);
  }

  /// The bricks of the group beginning at `first` that are within `limit` of the packet's box.
  unsigned bricks_near(std::int64_t first, const Visit& visit, float limit) const {
    Singles square = {};
    for (int a = 0; a < 3; ++a) {
      const Singles low = loaded<Singles>(surface_.brick_boxes.low[a] + first);
      const Singles high = loaded<Singles>(surface_.brick_boxes.high[a] + first);
      const Singles gap = larger(larger(low - visit.high[a], visit.low[a] - high), Singles{});
      square += gap * gap;
    }
    return negative_lanes(square - limit);
  }

  bool is_within(std::int64_t brick, const Visit& visit) const {
    LaneSingles square = {};
    for (int a = 0; a < 3; ++a) {
      const LaneSingles gap = to_interval(LaneSingles{} + surface_.brick_boxes.low[a][brick],
                                          LaneSingles{} + surface_.brick_boxes.high[a][brick],
                                          loaded<LaneSingles>(visit.at[a]));
      square += gap * gap;
    }
    return less_in_any(square, loaded<LaneSingles>(visit.limit));
  }

  // Here most of the time goes: with all it calls inside it, points and bounds stay in registers.
  [[gnu::flatten, gnu::noinline]] void visit_brick(std::int64_t brick, Visit& visit) {
    Lanes from[3];
    move_to_brick(brick, visit.offset, from);
    Lanes best = best_;
    std::int64_t nearest = -1;
    const std::int64_t end = surface_.first_cell[brick + 1];
    for (std::int64_t group = surface_.first_cell[brick]; group < end; group += kGroup) {
      unsigned cells = cells_within(group, visit);
      if (end - group < kGroup) cells &= (1u << (end - group)) - 1;
      if (cells == 0) continue;
      for (; cells != 0; cells &= cells - 1) {
        const std::int64_t cell = group + __builtin_ctz(cells);
        const Lanes before = best;
        best = distances_to_cell(cell, from, before);
        // No branch: it would wait for distances, and often turn out to be mispredicted.
        nearest = less_in_any(best, before) ? cell : nearest;
      }
      narrow(visit, best);
    }
    if (nearest >= 0) {
      nearest_[1] = nearest_[0];
      nearest_[0] = {nearest, brick, visit.node};
    }
    best_ = best;
  }

  /// Looks into all bricks of a node within the bound: `first` before the others, if it is one.
  void visit_node(const Node& node, std::int64_t first = -1) {
    Visit visit = begin_visit(node);
    if (first >= 0) visit_brick(first, visit);
    const float limit = static_cast<float>(largest(best_)) * 1.00002f + visit.margin;
    const std::int64_t end = (&node + 1)->first_brick;
    for (std::int64_t group = node.first_brick; group < end; group += kGroup) {
      unsigned bricks = bricks_near(group, visit, limit);
      if (end - group < kGroup) bricks &= (1u << (end - group)) - 1;
      for (; bricks != 0; bricks &= bricks - 1) {
        const std::int64_t brick = group + __builtin_ctz(bricks);
        if (brick != first && is_within(brick, visit)) visit_brick(brick, visit);
      }
    }
  }

  const Node* node_at(std::int32_t a, std::int32_t b, std::int32_t c) const {
    const std::int32_t* const size = surface_.directory_size;
    const std::int64_t index = (static_cast<std::int64_t>(a) * size[1] + b) * size[2] + c;
    const std::int32_t node = surface_.directory[index];
    return node < 0 ? nullptr : surface_.nodes + node;
  }

  /// Looks into all nodes within the bound, unless they are many. First the brick that was nearest
  /// before, which mostly narrows the bound to what it is in the end.
  bool search_near() {
    const double reach = __builtin_sqrt(bound());
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
    const Node* const before = nearest_[0].node;
    visit_node(*before, nearest_[0].brick);
    for (std::int32_t a = first[0]; a <= last[0]; ++a) {
      for (std::int32_t b = first[1]; b <= last[1]; ++b) {
        for (std::int32_t c = first[2]; c <= last[2]; ++c) {
          const Node* const node = node_at(a, b, c);
          if (node != nullptr && node != before) visit_node(*node);
        }
      }
    }
    return true;
  }

  /// Goes through a block of the given level, nearest part first. Level 0 blocks are nodes.
  void search_far(int level, std::int32_t a, std::int32_t b, std::int32_t c) {
    if (level == 0) {
      visit_node(*node_at(a, b, c));
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
    std::uint64_t parts = block.within(surface_.level[level - 1][index], bound());
    while (parts != 0) {
      int nearest = __builtin_ctzll(parts);
      for (std::uint64_t rest = parts & (parts - 1); rest != 0; rest &= rest - 1) {
        const int part = __builtin_ctzll(rest);
        if (block.square_gap(part) < block.square_gap(nearest)) nearest = part;
      }
      if (block.square_gap(nearest) >= bound()) return;
      parts &= ~(std::uint64_t{1} << nearest);
      search_far(level - 1, at[0] * 4 + (nearest >> 4), at[1] * 4 + (nearest >> 2 & 3),
                 at[2] * 4 + (nearest & 3));
    }
  }

  const GridView& grid_;
  const ShapeView& shapes_;
  const SurfaceView& surface_;
  double node_edge_[3];
  double longest_edge_ = 0;  // of a node

  const Packet* packet_ = nullptr;
  std::int32_t node_[3] = {0, 0, 0};
  Lanes best_ = {};   // squared distance of each point so far
  Place nearest_[2];  // what last was nearest to any point, and what was before
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
    for (int a = 0; a < 3; ++a) {
      for (int i = count_; i < kLanes; ++i) at_[a][i] = at_[a][0];
      packet.low[a] = packet.high[a] = at_[a][0];
      for (int i = 1; i < kLanes; ++i) {
        packet.low[a] = smaller(packet.low[a], at_[a][i]);
        packet.high[a] = larger(packet.high[a], at_[a][i]);
      }
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
    for (std::int64_t brick = node->first_brick; brick < (node + 1)->first_brick; ++brick) {
      const double* const in_node = grid.in_node[from.part[brick]];
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
