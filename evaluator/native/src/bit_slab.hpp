// A structure in a few planes of a volume as bits: 64 voxels in one word.
#pragma once

#include <cstdint>
#include <vector>

#include "extents.hpp"
#include "label_volume.hpp"

namespace segtrial {

using Word = std::uint64_t;
constexpr int kWordBits = 64;

/// A box of voxels: planes [first, last), rows [first, last), words of columns [first, last).
struct Box {
  std::int32_t first_plane, last_plane;
  std::int32_t first_row, last_row;
  std::int32_t first_word, last_word;

  std::int32_t rows() const { return last_row - first_row; }
  std::int32_t words() const { return last_word - first_word; }
};

/// The planes of `extent` in [first_plane, last_plane).
struct ExtentRange {
  ExtentRange(const StructureExtent& extent, std::int32_t first_plane, std::int32_t last_plane);
  const PlaneExtent* first;
  const PlaneExtent* last;
  const PlaneExtent* begin() const { return first; }
  const PlaneExtent* end() const { return last; }
  bool empty() const { return first == last; }
};

/// The smallest box that holds both, with a word more where a column just after them may matter.
Box bounding_box(const ExtentRange& a, const ExtentRange& b);

/// Bits of one mask in a box, and zeros everywhere else.
class BitSlab {
 public:
  explicit BitSlab(const Box& box);

  const Box& box() const { return box_; }

  /// The words of a row, from the first word of the box; one word before them and one after them
  /// may be read too. Rows and planes outside the box are zero.
  const Word* row(std::int32_t plane, std::int32_t row) const {
    const bool inside = plane >= box_.first_plane && plane < box_.last_plane &&
                        row >= box_.first_row && row < box_.last_row;
    return (inside ? &bits_[offset(plane, row)] : zeros_.data()) + 1;
  }

  /// The same mask in planes [first, last) of the box only.
  BitSlab planes(std::int32_t first, std::int32_t last) const;

  /// All rows of a plane of the box, one after another, each with a zero word on either side.
  Word* plane(std::int32_t plane) { return &bits_[offset(plane, box_.first_row)]; }
  const Word* plane(std::int32_t plane) const { return &bits_[offset(plane, box_.first_row)]; }
  std::size_t row_words() const { return stride_; }
  std::size_t plane_words() const { return stride_ * static_cast<std::size_t>(box_.rows()); }

  /// Sets the bits of the voxels in `extent` whose label is one of `labels`.
  void set(const LabelVolume& volume, const ExtentRange& extent,
           const std::vector<std::uint64_t>& labels);

  /// Clears the bits of the voxels in `extent` whose label in `volume` is one of `labels`.
  void clear(const LabelVolume& volume, const ExtentRange& extent,
             const std::vector<std::uint64_t>& labels);

 private:
  std::size_t offset(std::int32_t plane, std::int32_t row) const {
    return static_cast<std::size_t>(plane - box_.first_plane) * plane_words() +
           static_cast<std::size_t>(row - box_.first_row) * stride_;
  }

  template <class Combine>
  void for_matches(const LabelVolume& volume, const ExtentRange& extent,
                   const std::vector<std::uint64_t>& labels, const Combine& combine);

  Box box_;
  std::size_t stride_;  // words from row to row: the box's, and one on either side
  std::vector<Word> bits_;
  std::vector<Word> zeros_;  // one row
};

}  // namespace segtrial
