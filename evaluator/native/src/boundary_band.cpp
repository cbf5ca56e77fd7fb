#include "boundary_band.hpp"

#include <algorithm>
#include <cmath>

#include "wide_band.hpp"

namespace segtrial {

namespace {

// As in measurement.py: lengths closer than this ratio are equal.
constexpr double kRelativeSlack = 1e-9;

/// Distance along one axis from a voxel's centre to the nearest face of the voxel `steps` away.
double gap(double steps, double spacing) { return std::max(steps - 0.5, 0.0) * spacing; }

/// Clears each bit unless the one `distance` columns further on is set. `words` has zeros after it.
void and_with_following(Word* words, std::int32_t count, std::int32_t distance) {
  const std::int32_t skip = distance / kWordBits;
  const int shift = distance % kWordBits;
  const auto at = [&](std::int32_t i) { return i < count ? words[i] : Word{0}; };
  for (std::int32_t i = 0; i < count; ++i) {
    const Word high = shift == 0 ? 0 : at(i + skip + 1) << (kWordBits - shift);
    words[i] &= at(i + skip) >> shift | high;
  }
}

/// Moves each bit `distance` columns on.
void move_on(Word* words, std::int32_t count, std::int32_t distance) {
  const std::int32_t skip = distance / kWordBits;
  const int shift = distance % kWordBits;
  const auto at = [&](std::int32_t i) { return i >= 0 ? words[i] : Word{0}; };
  for (std::int32_t i = count - 1; i >= 0; --i) {
    const Word low = shift == 0 ? 0 : at(i - skip - 1) >> (kWordBits - shift);
    words[i] = at(i - skip) << shift | low;
  }
}

/// Keeps the bits that have `half_width` set bits on either side; what is outside is not set.
void erode(Word* words, std::int32_t count, std::int32_t half_width) {
  const bool any = std::any_of(words, words + count, [](Word word) { return word != 0; });
  if (!any) return;
  const std::int32_t length = 2 * half_width + 1;
  for (std::int32_t covered = 1; covered < length;) {
    const std::int32_t step = std::min(covered, length - covered);
    and_with_following(words, count, step);
    covered += step;
  }
  move_on(words, count, half_width);
}

/// One plane of a mask, eroded along its rows by each half-width of a shape.
class ErodedPlane {
 public:
  ErodedPlane(const BitSlab& mask, const BandShape& shape)
      : mask_(mask), shape_(shape), levels_(shape.half_widths().size()) {}

  void load(std::int32_t plane) {
    const Box& box = mask_.box();
    const Word* const words = mask_.plane(plane);
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      levels_[l].assign(words, words + mask_.plane_words());
      for (std::int32_t row = 0; row < box.rows(); ++row) {
        Word* const first = &levels_[l][static_cast<std::size_t>(row) * mask_.row_words()];
        erode(first + 1, box.words(), shape_.half_widths()[l]);
      }
    }
  }

  const std::vector<Word>& level(std::int32_t index) const { return levels_[index]; }

 private:
  const BitSlab& mask_;
  const BandShape& shape_;
  std::vector<std::vector<Word>> levels_;
};

/// Keeps the voxels of a plane that have mask at all of these offsets from another plane; false
/// when none are left.
bool keep_inside(Word* plane, std::size_t plane_words, std::size_t row_words,
                 const ErodedPlane& other, const std::vector<BandShape::Run>& runs) {
  for (const BandShape::Run& run : runs) {
    const std::vector<Word>& level = other.level(run.level);
    // A row's partner is so many words away; where it is outside the box, nothing is inside.
    const std::size_t away = std::min(std::abs(run.rows) * row_words, plane_words);
    const bool above = run.rows >= 0;
    Word* const begin = plane + (above ? 0 : away);
    const Word* const partner = level.data() + (above ? away : 0);
    Word left = 0;
    for (std::size_t i = 0; i < plane_words - away; ++i) left |= begin[i] &= partner[i];
    std::fill_n(above ? plane + (plane_words - away) : plane, away, 0);
    if (left == 0) return false;
  }
  return true;
}

/// Whether no voxel is so nearly at the limit that rounding decides on which side it is.
bool is_clear_of(double limit, std::int32_t plane_reach, std::int32_t row_reach,
                 const std::array<double, 3>& spacing) {
  constexpr double kMargin = 1e-12;  // of squares; some hundred times what rounding does to them
  const double square = limit * limit;
  for (std::int32_t p = 0; p <= plane_reach; ++p) {
    for (std::int32_t r = 0; r <= row_reach; ++r) {
      const double across = std::hypot(gap(p, spacing[kPlane]), gap(r, spacing[kRow]));
      const double room = square - across * across;
      const double columns = std::floor(std::sqrt(std::max(room, 0.0)) / spacing[kColumn] + 0.5);
      for (const double c : {columns, columns + 1}) {  // the last within, the first beyond
        const double left = room - gap(c, spacing[kColumn]) * gap(c, spacing[kColumn]);
        if (!(std::abs(left) > kMargin * square)) return false;
      }
    }
  }
  return true;
}

}  // namespace

BandShape::BandShape(int dimensions, const std::array<double, 3>& spacing,
                     const std::array<std::int64_t, 3>& size, double width)
    : column_in_rows_(spacing[kColumn] / spacing[kRow]) {
  const double limit = width * (1 + kRelativeSlack);
  // A step of the volume's whole size leads out of it from anywhere; further is the same.
  const auto reach = [&](int axis) {
    const double steps = std::floor(limit / spacing[axis] + 0.5);
    return static_cast<std::int32_t>(
        std::clamp(steps, 1.0, static_cast<double>(std::max<std::int64_t>(size[axis], 1))));
  };
  const std::int32_t plane_reach = dimensions == 2 ? 0 : reach(kPlane);
  const std::int32_t row_reach = reach(kRow);
  const std::int32_t column_reach = reach(kColumn);
  struct Row {
    std::int32_t planes, rows, half_width;
  };
  std::vector<Row> rows;
  for (std::int32_t p = 0; p <= plane_reach; ++p) {
    for (std::int32_t r = -row_reach; r <= row_reach; ++r) {
      const double across = std::hypot(gap(p, spacing[kPlane]), gap(std::abs(r), spacing[kRow]));
      const std::int32_t steps = p + std::abs(r);
      if (across > limit && steps > 1) continue;
      const double room = std::sqrt(std::max(limit * limit - across * across, 0.0));
      const double columns = std::floor(room / spacing[kColumn] + 0.5);
      const double least = steps == 0 ? 1 : 0;
      const double half_width = std::clamp<double>(columns, least, column_reach);
      rows.push_back({p, r, static_cast<std::int32_t>(half_width)});
    }
  }
  // Widest first: in a wide band the interior is soon found to be empty.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.half_width > b.half_width; });
  runs_.resize(plane_reach + 1);
  for (const Row& row : rows) {
    if (half_widths_.empty() || half_widths_.back() != row.half_width) {
      half_widths_.push_back(row.half_width);
    }
    const auto level = static_cast<std::int32_t>(half_widths_.size()) - 1;
    runs_[row.planes].push_back({row.rows, level});
  }
  // What eroding takes, in rows; and where it takes as long as wide_band(), measured on x86-64.
  // A plane is eroded by each half-width once for itself, and twice for the planes around it.
  constexpr std::size_t kRowsPerErosion = 20;
  constexpr std::size_t kManyRows = 1200;
  const std::size_t erosions = half_widths_.size() * (plane_reach == 0 ? 1 : 3);
  const bool is_slow = rows.size() + kRowsPerErosion * erosions > kManyRows;
  is_wide_ = is_slow && std::isfinite(square_in_rows(half_widths_.front())) &&
             is_clear_of(limit, dimensions == 2 ? 0 : plane_reach + 1, row_reach + 1, spacing);
}

double BandShape::square_in_rows(std::int32_t columns) const {
  const double rows = gap(columns, column_in_rows_);
  return rows * rows;
}

BitSlab boundary_band(const BitSlab& mask, const BandShape& shape, std::int32_t first_plane,
                      std::int32_t last_plane) {
  if (shape.is_wide()) return wide_band(mask, shape, first_plane, last_plane);
  const Box& box = mask.box();
  BitSlab band = mask.planes(first_plane, last_plane);
  const std::int32_t first = band.box().first_plane;
  const std::int32_t last = band.box().last_plane;
  // First the interior: the voxels with nothing but mask at every offset.
  std::vector<bool> left(std::max(last - first, 0), true);
  ErodedPlane eroded(mask, shape);
  const auto keep = [&](std::int32_t plane, std::int32_t other) {
    left[plane - first] = keep_inside(band.plane(plane), mask.plane_words(), mask.row_words(),
                                      eroded, shape.runs(other - plane));
  };
  for (std::int32_t plane = first; plane < last; ++plane) {
    eroded.load(plane);
    keep(plane, plane);
  }
  for (std::int32_t other = first - shape.plane_reach(); other < last + shape.plane_reach();
       ++other) {
    const bool inside = other >= box.first_plane && other < box.last_plane;
    bool loaded = false;
    const std::int32_t begin = std::max(first, other - shape.plane_reach());
    const std::int32_t end = std::min(last, other + shape.plane_reach() + 1);
    for (std::int32_t plane = begin; plane < end; ++plane) {
      if (plane == other || !left[plane - first]) continue;
      if (!inside) {
        std::fill_n(band.plane(plane), mask.plane_words(), 0);
        left[plane - first] = false;
        continue;
      }
      if (!loaded) eroded.load(other);
      loaded = true;
      keep(plane, other);
    }
  }
  for (std::int32_t plane = first; plane < last; ++plane) {
    Word* const words = band.plane(plane);
    const Word* const all = mask.plane(plane);
    for (std::size_t i = 0; i < mask.plane_words(); ++i) {
      words[i] = left[plane - first] ? all[i] & ~words[i] : all[i];
    }
  }
  return band;
}

}  // namespace segtrial
