#include "wide_band.hpp"

#include <algorithm>
#include <vector>

namespace segtrial {

namespace {

constexpr std::int32_t kLanes = 16;  // columns at a time: few, so that all their planes fit a cache
constexpr Word kAllLanes = (Word{1} << kLanes) - 1;
constexpr std::int32_t kNone = -1;  // not even in its own plane

/// How many planes away a voxel is boundary because of a background voxel so many rows and columns
/// off.
class PlaneReach {
 public:
  explicit PlaneReach(const BandShape& shape) : columns_(shape.half_widths().front() + 1) {
    for (const BandShape::Run& run : shape.runs(0)) rows_ = std::max(rows_, run.rows + 1);
    planes_.assign(static_cast<std::size_t>(rows_) * columns_, kNone);
    for (std::int32_t planes = 0; planes <= shape.plane_reach(); ++planes) {
      for (const BandShape::Run& run : shape.runs(planes)) {
        if (run.rows >= 0) planes_[at(run.rows, shape.half_widths()[run.level])] = planes;
      }
    }
    for (std::int32_t rows = 0; rows < rows_; ++rows) {  // a run covers all columns within it
      for (std::int32_t columns = columns_ - 1; columns > 0; --columns) {
        std::int32_t& nearer = planes_[at(rows, columns - 1)];
        nearer = std::max(nearer, planes_[at(rows, columns)]);
      }
    }
  }

  std::int32_t operator()(std::int32_t rows, std::int32_t columns) const {
    return rows < rows_ && columns < columns_ ? planes_[at(rows, columns)] : kNone;
  }

  std::int32_t columns() const { return columns_ - 1; }

 private:
  std::size_t at(std::int32_t rows, std::int32_t columns) const {
    return static_cast<std::size_t>(rows) * columns_ + columns;
  }

  std::int32_t rows_ = 0;
  std::int32_t columns_;
  std::vector<std::int32_t> planes_;
};

/// How many bits just before `column` are set; more than `most` are not told apart.
std::int32_t set_before(const Word* words, std::int32_t column, std::int32_t most) {
  std::int32_t i = column / kWordBits;
  Word clear = ~words[i] & ((Word{1} << column % kWordBits) - 1);
  while (clear == 0 && column - i * kWordBits <= most) clear = ~words[--i];
  const int last = clear == 0 ? -1 : kWordBits - 1 - __builtin_clzll(clear);
  return column - 1 - (i * kWordBits + last);
}

/// How many bits from `column` on are set; more than `most` are not told apart.
std::int32_t set_from(const Word* words, std::int32_t column, std::int32_t most) {
  std::int32_t i = column / kWordBits;
  Word clear = ~words[i] >> column % kWordBits << column % kWordBits;
  while (clear == 0 && (i + 1) * kWordBits - column <= most) clear = ~words[++i];
  const int first = clear == 0 ? kWordBits : __builtin_ctzll(clear);
  return i * kWordBits + first - column;
}

/// Columns from each voxel to the nearest background in its row.
void count_columns(const Word* words, std::int32_t column, std::int32_t most,
                   std::int32_t* distances) {
  const Word set = words[column / kWordBits] >> column % kWordBits;
  std::int32_t run = set_before(words, column, most);
  for (std::int32_t lane = 0; lane < kLanes; ++lane) {
    run = (set >> lane & 1) != 0 ? run + 1 : 0;
    distances[lane] = run;
  }
  run = set_from(words, column + kLanes, most);
  for (std::int32_t lane = kLanes - 1; lane >= 0; --lane) {
    run = (set >> lane & 1) != 0 ? run + 1 : 0;
    distances[lane] = std::min(distances[lane], run);
  }
}

/// The nearest background of a line of rows, which has background before its first and after its
/// last row.
///
/// A background voxel is as near as the nearest point of the edges of its row, so that parabolas
/// above the edges stand for the voxels on both sides of each. Edge j is before row j.
class NearestEdges {
 public:
  explicit NearestEdges(const BandShape& shape, const PlaneReach& reach) : reach_(reach) {
    for (std::int32_t columns = 0; columns <= reach.columns(); ++columns) {
      heights_.push_back(shape.square_in_rows(columns));
    }
  }

  /// From the columns to background, `kLanes` apart, to the planes that are in reach.
  void find(const std::int32_t* columns, std::int32_t first_row, std::int32_t last_row,
            std::int32_t* planes) {
    lowest_.clear();
    for (std::int32_t edge = first_row; edge <= last_row; ++edge) {
      const std::int32_t nearer = std::min(columns[(edge - 1) * kLanes], columns[edge * kLanes]);
      if (nearer <= reach_.columns()) add({edge, nearer, first_row}, last_row);
    }
    const Parabola* nearest = lowest_.data();
    const Parabola* const last = nearest + lowest_.size() - 1;
    for (std::int32_t row = first_row; row < last_row; ++row) {
      while (nearest != last && nearest[1].from_row <= row) ++nearest;
      const std::int32_t rows = row < nearest->edge ? nearest->edge - row : row - nearest->edge + 1;
      // To background in its own row there is no edge between.
      planes[row * kLanes] =
          std::max(reach_(rows, nearest->columns), reach_(0, columns[row * kLanes]));
    }
    // Sharing a face is near enough, however far apart rows are.
    for (std::int32_t* const end :
         {planes + first_row * kLanes, planes + (last_row - 1) * kLanes}) {
      *end = std::max(*end, reach_(1, 0));
    }
  }

 private:
  struct Parabola {
    std::int32_t edge;
    std::int32_t columns;   // its height, in voxels
    std::int32_t from_row;  // the first row in which it is the lowest
  };

  void add(Parabola parabola, std::int32_t last_row) {
    const std::int32_t first_row = parabola.from_row;
    while (!lowest_.empty()) {
      parabola.from_row = first_lower(lowest_.back(), parabola);
      if (parabola.from_row > lowest_.back().from_row) break;
      lowest_.pop_back();
      parabola.from_row = first_row;
    }
    if (parabola.from_row < last_row) lowest_.push_back(parabola);
  }

  /// The first row in which `after` is no higher than `before`.
  std::int32_t first_lower(const Parabola& before, const Parabola& after) const {
    constexpr double kFar = 1 << 30;  // further than any row
    const double apart = after.edge - before.edge;
    const double rise = heights_[after.columns] - heights_[before.columns];
    // From `before`, not from row 0: the closer the numbers, the less is rounded off.
    const double steps = std::clamp((rise / apart + apart) / 2 - 0.5, -kFar, kFar);
    const auto whole = static_cast<std::int32_t>(steps);  // towards 0
    return before.edge + whole + (steps > whole ? 1 : 0);
  }

  const PlaneReach& reach_;
  std::vector<double> heights_;  // by columns, in square rows
  std::vector<Parabola> lowest_;
};

/// Some columns of a mask, in all its planes and rows.
class Columns {
 public:
  Columns(const BitSlab& mask, const BandShape& shape)
      : mask_(mask),
        reach_(shape),
        nearest_(shape, reach_),
        row_lanes_(static_cast<std::size_t>(mask.box().rows()) * kLanes),
        distances_(row_lanes_ + 2 * kLanes),
        planes_((mask.box().last_plane - mask.box().first_plane) * row_lanes_) {}

  /// Looks at the columns from `column` on.
  void load(std::int32_t column) {
    const Box& box = mask_.box();
    for (std::int32_t plane = box.first_plane; plane < box.last_plane; ++plane) {
      load_plane(plane, column);
    }
    const std::int32_t outside = reach_(0, 0) - 1;
    const std::size_t end = planes_.size() - row_lanes_;
    for (std::size_t i = 0; i < row_lanes_; ++i) {
      planes_[i] = std::max(planes_[i], outside);
      planes_[end + i] = std::max(planes_[end + i], outside);
    }
    for (std::size_t i = row_lanes_; i < planes_.size(); ++i) {
      planes_[i] = std::max(planes_[i], planes_[i - row_lanes_] - 1);
    }
    for (std::size_t i = end; i-- > 0;) {
      planes_[i] = std::max(planes_[i], planes_[i + row_lanes_] - 1);
    }
  }

  /// Bit i says whether column i of those loaded has background near enough.
  Word near(std::int32_t plane, std::int32_t row) const {
    const std::int32_t* const planes = planes_.data() + offset(plane) + row * kLanes;
    Word bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) bits |= Word{planes[lane] != kNone} << lane;
    return bits;
  }

 private:
  std::size_t offset(std::int32_t plane) const {
    return static_cast<std::size_t>(plane - mask_.box().first_plane) * row_lanes_;
  }

  void load_plane(std::int32_t plane, std::int32_t column) {
    const std::int32_t rows = mask_.box().rows();
    std::int32_t* const distances = distances_.data() + kLanes;  // row -1 is background
    for (std::int32_t row = 0; row < rows; ++row) {
      const Word* const words = mask_.plane(plane) + row * mask_.row_words() + 1;
      count_columns(words, column, reach_.columns(), distances + row * kLanes);
    }
    std::int32_t* const planes = planes_.data() + offset(plane);
    std::fill_n(planes, row_lanes_, reach_(0, 0));
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      for (std::int32_t row = 0; row < rows; ++row) {
        const std::int32_t first = row;
        while (distances[row * kLanes + lane] != 0) ++row;  // row `rows` is background too
        if (row > first) nearest_.find(distances + lane, first, row, planes + lane);
      }
    }
  }

  const BitSlab& mask_;
  PlaneReach reach_;
  NearestEdges nearest_;
  std::size_t row_lanes_;
  std::vector<std::int32_t> distances_;  // in columns; one plane, and a row on either side
  std::vector<std::int32_t> planes_;     // from which background is in reach
};

/// Whether even the middle of the box is within reach of what is outside.
bool reaches_everywhere(const Box& box, const BandShape& shape) {
  return 2 * shape.plane_reach() > box.last_plane - box.first_plane ||
         2 * shape.half_widths().front() > box.words() * kWordBits;
}

}  // namespace

BitSlab wide_band(const BitSlab& mask, const BandShape& shape, std::int32_t first_plane,
                  std::int32_t last_plane) {
  BitSlab band = mask.planes(first_plane, last_plane);
  const Box& box = band.box();
  if (box.first_plane == box.last_plane || reaches_everywhere(mask.box(), shape)) return band;
  Columns columns(mask, shape);
  for (std::int32_t column = 0; column < box.words() * kWordBits; column += kLanes) {
    columns.load(column);
    const int shift = column % kWordBits;
    for (std::int32_t plane = box.first_plane; plane < box.last_plane; ++plane) {
      for (std::int32_t row = 0; row < box.rows(); ++row) {
        const Word far = ~columns.near(plane, row) & kAllLanes;
        Word* const words = band.plane(plane) + row * band.row_words() + 1;
        words[column / kWordBits] &= ~(far << shift);
      }
    }
  }
  return band;
}

}  // namespace segtrial
