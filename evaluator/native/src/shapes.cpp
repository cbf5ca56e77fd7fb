#include "shapes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace segtrial {

namespace {

#include "surface_table.inc"

using Vector = std::array<double, 3>;
using HalfCells = std::array<int, 3>;
template <int kCorners>
using Corners = std::array<HalfCells, kCorners>;

// Of lengths in mm, or exactly of half cells.
template <class T>
std::array<T, 3> operator-(const std::array<T, 3>& a, const std::array<T, 3>& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

template <class T>
T dot(const std::array<T, 3>& a, const std::array<T, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

template <class T>
std::array<T, 3> cross(const std::array<T, 3>& a, const std::array<T, 3>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double length(const Vector& a) { return std::sqrt(dot(a, a)); }

Vector unit(const Vector& a) {
  const double size = length(a);
  return {a[0] / size, a[1] / size, a[2] / size};
}

void store(const Vector& from, double (&to)[3]) { std::copy(from.begin(), from.end(), to); }

HalfCells vertex(char letter, int dimensions) {
  const int index = letter == '_' ? 26 : letter - 'A';
  return dimensions == 2 ? HalfCells{0, index / 3, index % 3}
                         : HalfCells{index / 9, index / 3 % 3, index % 3};
}

/// The corners of two triangles with a side in common, in order around both; empty without one.
/// The side goes from the first corner to the third.
std::optional<Corners<4>> joined(const Corners<3>& one, const Corners<3>& other) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const HalfCells& from = one[i];
      const HalfCells& to = one[(i + 1) % 3];
      if (from != other[(j + 1) % 3] || to != other[j]) continue;
      return Corners<4>{from, other[(j + 2) % 3], to, one[(i + 2) % 3]};
    }
  }
  return std::nullopt;
}

bool in_one_plane(const Corners<4>& corners) {
  const HalfCells normal = cross(corners[1] - corners[0], corners[2] - corners[0]);
  return dot(normal, corners[3] - corners[0]) == 0;
}

/// Fills a table, one configuration after another.
class Builder {
 public:
  Builder(ShapeTable& table, int dimensions, const Vector& spacing)
      : table_(table), dimensions_(dimensions), spacing_(spacing) {}

  void add(unsigned configuration) {
    const std::vector<HalfCells> corners = element_corners(dimensions_, configuration);
    begin_elements(configuration);
    ShapeRanges& ranges = table_.ranges[configuration];
    each_kind(ranges, [](ShapeRanges::Range& range, std::size_t size) { range.begin = size; });
    add_box(configuration, corners);
    for (std::size_t i = 0; i < corners.size(); i += dimensions_) add_element(&corners[i]);
    if (dimensions_ == 2) {
      for (std::size_t i = 0; i < corners.size(); i += 2) add_segment(corners[i], corners[i + 1]);
    } else {
      std::vector<Corners<3>> triangles(corners.size() / 3);
      for (std::size_t i = 0; i < corners.size(); ++i) triangles[i / 3][i % 3] = corners[i];
      take_pairs(triangles, [this](const Corners<4>& pair) { return add_if_rectangle(pair); });
      take_pairs(triangles, [this](const Corners<4>& pair) { return add_if_in_one_plane(pair); });
      for (const Corners<3>& triangle : triangles) add_polygon<3>(triangle, table_.triangles);
    }
    each_kind(ranges, [](ShapeRanges::Range& range, std::size_t size) { range.end = size; });
  }

  /// Notes where the elements of a configuration begin; 256 stands for the end.
  void begin_elements(unsigned configuration) {
    table_.first_element[configuration] = static_cast<std::int32_t>(table_.elements.size());
  }

 private:
  /// Calls `f(range, size)` with the number of shapes so far, for each kind.
  template <class F>
  void each_kind(ShapeRanges& ranges, const F& f) const {
    f(ranges.rectangles, table_.rectangles.size());
    f(ranges.triangles, table_.triangles.size());
    f(ranges.quadrilaterals, table_.quadrilaterals.size());
  }

  Vector mm(const HalfCells& v) const {
    return {0.5 * v[0] * spacing_[0], 0.5 * v[1] * spacing_[1], 0.5 * v[2] * spacing_[2]};
  }

  void add_box(unsigned configuration, const std::vector<HalfCells>& corners) {
    Vector& low = table_.low[configuration];
    Vector& high = table_.high[configuration];
    low = high = corners.empty() ? Vector{} : mm(corners.front());
    for (const HalfCells& corner : corners) {
      const Vector at = mm(corner);
      for (int a = 0; a < 3; ++a) {
        low[a] = std::min(low[a], at[a]);
        high[a] = std::max(high[a], at[a]);
      }
    }
  }

  void add_element(const HalfCells* corners) {
    Element element{};
    for (int c = 0; c < dimensions_; ++c) {
      const Vector at = mm(corners[c]);
      for (int a = 0; a < 3; ++a) element.centroid[a] += at[a] / dimensions_;
    }
    const Vector first = mm(corners[1]) - mm(corners[0]);
    element.weight = dimensions_ == 2 ? length(first)
                                      : length(cross(first, mm(corners[2]) - mm(corners[0]))) / 2;
    table_.elements.push_back(element);
  }

  void add_segment(const HalfCells& start, const HalfCells& end) {
    const Vector along = mm(end) - mm(start);
    const Vector across{1, 0, 0};  // both coordinates are 0 along this axis in 2D
    add_rectangle(mm(start), unit(along), across, {length(along), 0.0});
  }

  void add_rectangle(const Vector& origin, const Vector& first, const Vector& second,
                     const std::array<double, 2>& side) {
    Rectangle rectangle{};
    store(origin, rectangle.origin);
    store(first, rectangle.axis[0]);
    store(second, rectangle.axis[1]);
    store(cross(first, second), rectangle.normal);
    std::copy(side.begin(), side.end(), rectangle.side);
    table_.rectangles.push_back(rectangle);
  }

  /// Takes out each two triangles with a side in common that `add` makes another shape of.
  template <class Add>
  static void take_pairs(std::vector<Corners<3>>& triangles, const Add& add) {
    for (auto one = triangles.begin(); one != triangles.end();) {
      const auto other = std::find_if(one + 1, triangles.end(), [&](const Corners<3>& triangle) {
        const auto pair = joined(*one, triangle);
        return pair && add(*pair);
      });
      if (other == triangles.end()) {
        ++one;
        continue;
      }
      triangles.erase(other);
      one = triangles.erase(one);
    }
  }

  bool add_if_rectangle(const Corners<4>& corners) {
    if (corners[1] - corners[0] != corners[2] - corners[3]) return false;
    const Vector first = mm(corners[0]) - mm(corners[3]);
    const Vector second = mm(corners[2]) - mm(corners[3]);
    if (std::abs(dot(first, second)) > 1e-12 * length(first) * length(second)) return false;
    add_rectangle(mm(corners[3]), unit(first), unit(second), {length(first), length(second)});
    return true;
  }

  /// In the table no two triangles in one plane make a shape with a dent; some make a triangle,
  /// whose fourth corner is on a side.
  bool add_if_in_one_plane(const Corners<4>& corners) {
    if (!in_one_plane(corners)) return false;
    add_polygon<4>(corners, table_.quadrilaterals);
    return true;
  }

  template <int kCorners>
  void add_polygon(const Corners<kCorners>& corners, std::vector<Polygon<kCorners>>& polygons) {
    const Vector origin = mm(corners[0]);
    const Vector base = mm(corners[1]) - origin;
    const Vector first = unit(base);
    const Vector normal = unit(cross(base, mm(corners[2]) - origin));
    const Vector second = cross(normal, first);
    Polygon<kCorners> polygon{};
    store(origin, polygon.origin);
    store(first, polygon.axis[0]);
    store(second, polygon.axis[1]);
    store(normal, polygon.normal);
    polygon.base = length(base);
    for (int k = 0; k < kCorners - 1; ++k) {
      const Vector start = mm(corners[k + 1]);
      const Vector along = mm(corners[(k + 2) % kCorners]) - start;
      auto& edge = polygon.edge[k];
      edge.length = length(along);
      edge.start[0] = dot(start - origin, first);
      edge.start[1] = dot(start - origin, second);
      edge.direction[0] = dot(along, first) / edge.length;
      edge.direction[1] = dot(along, second) / edge.length;
    }
    polygons.push_back(polygon);
  }

  ShapeTable& table_;
  int dimensions_;
  Vector spacing_;
};

}  // namespace

std::vector<HalfCells> element_corners(int dimensions, unsigned configuration) {
  // In 2D the image is the upper plane of a cell, and the lower one is always empty.
  if (dimensions == 2 && configuration % 16 != 0) return {};
  const char* const letters =
      dimensions == 2 ? kSegments[configuration / 16] : kTriangles[configuration];
  std::vector<HalfCells> corners(std::strlen(letters));
  for (std::size_t i = 0; i < corners.size(); ++i) corners[i] = vertex(letters[i], dimensions);
  return corners;
}

ShapeTable::ShapeTable(int dimensions, const std::array<double, 3>& spacing) {
  Builder builder(*this, dimensions, spacing);
  for (unsigned configuration = 0; configuration < 256; ++configuration) builder.add(configuration);
  builder.begin_elements(256);
}

}  // namespace segtrial
