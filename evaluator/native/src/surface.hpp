// One surface: its cells in bricks and nodes, so that what is near a point is found quickly.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cell_grid.hpp"
#include "nearest.hpp"
#include "shapes.hpp"

namespace segtrial {

class Surface {
 public:
  Surface() = default;

  /// `cells` in ascending order.
  Surface(const std::vector<CellKey>& cells, const CellGrid& grid, const ShapeTable& shapes);

  std::int64_t cells() const { return static_cast<std::int64_t>(configuration_.size()); }
  std::int64_t elements() const { return elements_; }
  const std::uint8_t* configurations() const { return configuration_.data(); }

  SurfaceView view() const;

  /// Nodes [first, last), and where their elements begin among all.
  struct Piece {
    std::int64_t first_node, last_node, first_element;
  };

  /// The surface in pieces of some thousand cells: the same ones, whatever the number of threads.
  std::vector<Piece> pieces(const ShapeTable& shapes) const;

  /// Marks the cells that both surfaces have, in both. `a` and `b` are the keys they are made of.
  static void mark_shared(const std::vector<CellKey>& a_keys, Surface& a,
                          const std::vector<CellKey>& b_keys, Surface& b);

 private:
  // Boxes are read in groups of up to 16, past the last one.
  static constexpr std::int64_t kPadding = 16;

  struct BoxArrays {
    std::array<std::vector<float>, 3> low;
    std::array<std::vector<float>, 3> high;

    void resize(std::size_t count);
    Boxes view() const;
  };

  void add_bricks(const std::vector<CellKey>& cells, const CellGrid& grid);
  void add_brick_boxes();
  void add_directory();
  void add_levels();

  std::int64_t elements_ = 0;
  std::vector<std::uint8_t> configuration_;
  std::vector<std::uint8_t> place_;
  std::vector<std::uint8_t> shared_;
  BoxArrays cell_boxes_;
  std::vector<std::int64_t> first_cell_;
  std::vector<std::uint8_t> part_;
  BoxArrays brick_boxes_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> directory_;
  std::array<std::int32_t, 3> directory_origin_{};
  std::array<std::int32_t, 3> directory_size_{};
  std::vector<std::vector<std::uint64_t>> levels_;
  std::vector<std::array<std::int32_t, 3>> level_sizes_;
};

/// Sorts keys in place; `bits` is the number of low bits in which they may differ.
void sort_keys(std::vector<CellKey>& keys, int bits);

GridView view_of(const CellGrid& grid);
ShapeView view_of(const ShapeTable& shapes);

}  // namespace segtrial
