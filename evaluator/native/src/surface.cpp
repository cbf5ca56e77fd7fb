#include "surface.hpp"

#include <algorithm>
#include <limits>

namespace segtrial {

namespace {

constexpr int kNodeEdge = 1 << kNodeEdgeBits;
constexpr std::int64_t kCellsPerPiece = 4096;

unsigned place_of(CellKey key) { return key >> kPlaceShift & 63; }
unsigned part_of(CellKey key) { return key >> kBrickShift & 63; }

/// Position in a 4 x 4 x 4 block of one of its 64 parts.
std::array<int, 3> in_block(unsigned part) {
  return {static_cast<int>(part >> 4), static_cast<int>(part >> 2 & 3), static_cast<int>(part & 3)};
}

std::size_t index_in(const std::array<std::int32_t, 3>& size, std::int32_t a, std::int32_t b,
                     std::int32_t c) {
  return (static_cast<std::size_t>(a) * size[1] + b) * size[2] + c;
}

}  // namespace

void sort_keys(std::vector<CellKey>& keys, int bits) {
  constexpr int kDigitBits = 11;
  constexpr std::size_t kFewKeys = 2048;
  if (keys.size() < kFewKeys) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  // No two cells differ in their configuration alone, so its bits need no sorting.
  std::vector<CellKey> sorted(keys.size());
  for (int shift = kConfigurationBits; shift < bits; shift += kDigitBits) {
    std::array<std::size_t, (1 << kDigitBits) + 1> begin{};
    const auto digit = [&](CellKey key) { return key >> shift & ((1 << kDigitBits) - 1); };
    for (const CellKey key : keys) ++begin[digit(key) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    for (const CellKey key : keys) sorted[begin[digit(key)]++] = key;
    keys.swap(sorted);
  }
}

void Surface::BoxArrays::resize(std::size_t count) {
  for (int a = 0; a < 3; ++a) {
    low[a].assign(count, 0);
    high[a].assign(count, 0);
  }
}

Boxes Surface::BoxArrays::view() const {
  Boxes boxes{};
  for (int a = 0; a < 3; ++a) {
    boxes.low[a] = low[a].data();
    boxes.high[a] = high[a].data();
  }
  return boxes;
}

Surface::Surface(const std::vector<CellKey>& cells, const CellGrid& grid,
                 const ShapeTable& shapes) {
  const std::size_t count = cells.size();
  configuration_.assign(count, 0);
  place_.assign(count, 0);
  shared_.assign(count, 0);
  cell_boxes_.resize(count + kPadding);
  const GridView view = view_of(grid);
  for (std::size_t i = 0; i < count; ++i) {
    const auto configuration = static_cast<std::uint8_t>(cells[i]);
    const unsigned place = place_of(cells[i]);
    const unsigned part = part_of(cells[i]);
    configuration_[i] = configuration;
    place_[i] = static_cast<std::uint8_t>(place);
    elements_ += shapes.element_count(configuration);
    for (int a = 0; a < 3; ++a) {
      const double corner = view.in_node[part][a] + view.in_brick[place][a];
      cell_boxes_.low[a][i] = static_cast<float>(corner + shapes.low[configuration][a]);
      cell_boxes_.high[a][i] = static_cast<float>(corner + shapes.high[configuration][a]);
    }
  }
  add_bricks(cells, grid);
  add_brick_boxes();
  add_directory();
  add_levels();
}

void Surface::add_bricks(const std::vector<CellKey>& cells, const CellGrid& grid) {
  CellKey last_node = std::numeric_limits<CellKey>::max();
  CellKey last_brick = last_node;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellKey brick = cells[i] >> kBrickShift;
    if (brick == last_brick) continue;
    last_brick = brick;
    const CellKey node = cells[i] >> kNodeShift;
    if (node != last_node) {
      last_node = node;
      const auto position = grid.node_position(node);
      nodes_.push_back(
          {static_cast<std::int64_t>(part_.size()), {position[0], position[1], position[2]}});
    }
    part_.push_back(static_cast<std::uint8_t>(part_of(cells[i])));
    first_cell_.push_back(static_cast<std::int64_t>(i));
  }
  first_cell_.push_back(static_cast<std::int64_t>(cells.size()));
  nodes_.push_back({static_cast<std::int64_t>(part_.size()), {}});
}

void Surface::add_brick_boxes() {
  brick_boxes_.resize(part_.size() + kPadding);
  for (std::size_t brick = 0; brick < part_.size(); ++brick) {
    const auto first = first_cell_[brick];
    const auto end = first_cell_[brick + 1];
    for (int a = 0; a < 3; ++a) {
      const float* const low = cell_boxes_.low[a].data();
      const float* const high = cell_boxes_.high[a].data();
      brick_boxes_.low[a][brick] = *std::min_element(low + first, low + end);
      brick_boxes_.high[a][brick] = *std::max_element(high + first, high + end);
    }
  }
}

void Surface::add_directory() {
  const auto end = nodes_.end() - 1;
  if (nodes_.begin() == end) return;
  if (nodes_.size() > std::numeric_limits<std::int32_t>::max()) {
    throw TooLarge("a surface of more nodes than the directory can number");
  }
  for (int a = 0; a < 3; ++a) {
    const auto [least, most] = std::minmax_element(
        nodes_.begin(), end,
        [a](const Node& x, const Node& y) { return x.position[a] < y.position[a]; });
    directory_origin_[a] = least->position[a];
    directory_size_[a] = most->position[a] - least->position[a] + 1;
  }
  directory_.assign(index_in(directory_size_, directory_size_[0], 0, 0), -1);
  for (auto node = nodes_.begin(); node != end; ++node) {
    const std::int32_t (&at)[3] = node->position;
    directory_[index_in(directory_size_, at[0] - directory_origin_[0], at[1] - directory_origin_[1],
                        at[2] - directory_origin_[2])] =
        static_cast<std::int32_t>(node - nodes_.begin());
  }
}

void Surface::add_levels() {
  if (directory_.empty()) return;
  std::array<std::int32_t, 3> below = directory_size_;
  std::vector<std::uint8_t> occupied(directory_.size());
  for (std::size_t i = 0; i < occupied.size(); ++i) occupied[i] = directory_[i] >= 0;
  do {
    std::array<std::int32_t, 3> size;
    for (int a = 0; a < 3; ++a) size[a] = (below[a] + kNodeEdge - 1) >> kNodeEdgeBits;
    std::vector<std::uint64_t> level(index_in(size, size[0], 0, 0));
    std::size_t i = 0;
    for (std::int32_t a = 0; a < below[0]; ++a) {
      for (std::int32_t b = 0; b < below[1]; ++b) {
        for (std::int32_t c = 0; c < below[2]; ++c) {
          if (!occupied[i++]) continue;
          const int bit = (a & 3) << 4 | (b & 3) << 2 | (c & 3);
          level[index_in(size, a >> 2, b >> 2, c >> 2)] |= std::uint64_t{1} << bit;
        }
      }
    }
    occupied.resize(level.size());
    for (std::size_t k = 0; k < level.size(); ++k) occupied[k] = level[k] != 0;
    below = size;
    level_sizes_.push_back(size);
    levels_.push_back(std::move(level));
  } while (levels_.back().size() > 1);
}

SurfaceView Surface::view() const {
  SurfaceView view{};
  view.configuration = configuration_.data();
  view.place = place_.data();
  view.shared = shared_.data();
  view.cell_boxes = cell_boxes_.view();
  view.brick_boxes = brick_boxes_.view();
  for (int a = 0; a < 3; ++a) {
    view.directory_origin[a] = directory_origin_[a];
    view.directory_size[a] = directory_size_[a];
  }
  view.first_cell = first_cell_.data();
  view.part = part_.data();
  view.nodes = nodes_.data();
  view.directory = directory_.data();
  view.levels = static_cast<int>(levels_.size());
  for (int l = 0; l < view.levels; ++l) {
    view.level[l] = levels_[l].data();
    std::copy(level_sizes_[l].begin(), level_sizes_[l].end(), view.level_size[l]);
  }
  return view;
}

std::vector<Surface::Piece> Surface::pieces(const ShapeTable& shapes) const {
  std::vector<Piece> pieces;
  std::int64_t cells_in_piece = kCellsPerPiece;
  std::int64_t element = 0;
  for (std::size_t n = 0; n + 1 < nodes_.size(); ++n) {
    const auto node = static_cast<std::int64_t>(n);
    if (cells_in_piece >= kCellsPerPiece) {
      pieces.push_back({node, node, element});
      cells_in_piece = 0;
    }
    pieces.back().last_node = node + 1;
    const std::int64_t first = first_cell_[nodes_[n].first_brick];
    const std::int64_t end = first_cell_[nodes_[n + 1].first_brick];
    for (std::int64_t cell = first; cell < end; ++cell) {
      element += shapes.element_count(configuration_[cell]);
    }
    cells_in_piece += end - first;
  }
  return pieces;
}

void Surface::mark_shared(const std::vector<CellKey>& a_keys, Surface& a,
                          const std::vector<CellKey>& b_keys, Surface& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a_keys.size() && j < b_keys.size()) {
    if (a_keys[i] == b_keys[j]) a.shared_[i] = b.shared_[j] = 1;
    const bool step_a = a_keys[i] <= b_keys[j];
    const bool step_b = b_keys[j] <= a_keys[i];
    i += step_a;
    j += step_b;
  }
}

GridView view_of(const CellGrid& grid) {
  GridView view{};
  for (int a = 0; a < 3; ++a) {
    view.brick[a] = grid.spacing[a] * (1 << grid.brick_bits[a]);
  }
  for (unsigned i = 0; i < 64; ++i) {
    const auto place = grid.in_brick(i);
    const auto brick = in_block(i);
    for (int a = 0; a < 3; ++a) {
      view.in_brick[i][a] = place[a] * grid.spacing[a];
      view.in_node[i][a] = brick[a] * view.brick[a];
    }
  }
  return view;
}

ShapeView view_of(const ShapeTable& shapes) {
  ShapeView view{};
  view.elements = shapes.elements.data();
  view.first_element = shapes.first_element.data();
  view.rectangles = shapes.rectangles.data();
  view.triangles = shapes.triangles.data();
  view.quadrilaterals = shapes.quadrilaterals.data();
  view.ranges = shapes.ranges.data();
  return view;
}

}  // namespace segtrial
