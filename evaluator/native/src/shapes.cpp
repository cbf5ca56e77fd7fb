#include "shapes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace segtrial {

namespace {

#include "surface_table.inc"

using Vector = std::array<double, 3>;
using HalfCells = std::array<int, 3>;
using Corners = std::array<HalfCells, 3>;  // of a triangle

Vector operator-(const Vector& a, const Vector& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Vector cross(const Vector& a, const Vector& b) {
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

/// Fills a table, one configuration after another.
class Builder {
 public:
  Builder(ShapeTable& table, int dimensions, const Vector& spacing)
      : table_(table), dimensions_(dimensions), spacing_(spacing) {}

  void add(unsigned configuration) {
    const std::vector<HalfCells> corners = element_corners(dimensions_, configuration);
    begin(configuration);
    add_box(configuration, corners);
    for (std::size_t i = 0; i < corners.size(); i += dimensions_) add_element(&corners[i]);
    if (dimensions_ == 2) {
      for (std::size_t i = 0; i < corners.size(); i += 2) add_segment(corners[i], corners[i + 1]);
    } else {
      std::vector<Corners> triangles(corners.size() / 3);
      for (std::size_t i = 0; i < corners.size(); ++i) triangles[i / 3][i % 3] = corners[i];
      for (const Corners& triangle : without_rectangles(triangles)) add_triangle(triangle);
    }
  }

  /// Notes where the configuration begins; 256 stands for the end.
  void begin(unsigned configuration) {
    table_.first_element[configuration] = static_cast<std::int32_t>(table_.elements.size());
    table_.first_rectangle[configuration] = static_cast<std::int32_t>(table_.rectangles.size());
    table_.first_triangle[configuration] = static_cast<std::int32_t>(table_.triangles.size());
  }

 private:
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

  /// Adds the rectangles that pairs of triangles make up, and returns the other triangles.
  std::vector<Corners> without_rectangles(const std::vector<Corners>& triangles) {
    std::vector<bool> used(triangles.size(), false);
    for (std::size_t i = 0; i < triangles.size(); ++i) {
      for (std::size_t j = i + 1; j < triangles.size() && !used[i]; ++j) {
        if (!used[j] && merge(triangles[i], triangles[j])) used[i] = used[j] = true;
      }
    }
    std::vector<Corners> others;
    for (std::size_t i = 0; i < triangles.size(); ++i) {
      if (!used[i]) others.push_back(triangles[i]);
    }
    return others;
  }

  /// Adds the rectangle of two triangles, or returns false when they do not make one.
  bool merge(const Corners& one, const Corners& other) {
    const auto in_other = [&](const HalfCells& v) {
      return std::find(other.begin(), other.end(), v) != other.end();
    };
    for (int k = 0; k < 3; ++k) {
      const HalfCells& right = one[k];
      const HalfCells& p = one[(k + 1) % 3];
      const HalfCells& q = one[(k + 2) % 3];
      const HalfCells opposite{p[0] + q[0] - right[0], p[1] + q[1] - right[1],
                               p[2] + q[2] - right[2]};
      if (!in_other(p) || !in_other(q) || !in_other(opposite)) continue;
      const Vector first = mm(p) - mm(right);
      const Vector second = mm(q) - mm(right);
      if (std::abs(dot(first, second)) > 1e-12 * length(first) * length(second)) continue;
      add_rectangle(mm(right), unit(first), unit(second), {length(first), length(second)});
      return true;
    }
    return false;
  }

  void add_triangle(const Corners& corners) {
    const std::array<Vector, 3> corner{mm(corners[0]), mm(corners[1]), mm(corners[2])};
    const Vector first = unit(corner[1] - corner[0]);
    const Vector normal = unit(cross(corner[1] - corner[0], corner[2] - corner[0]));
    const Vector second = cross(normal, first);
    Triangle triangle{};
    store(corner[0], triangle.origin);
    store(first, triangle.axis[0]);
    store(second, triangle.axis[1]);
    store(normal, triangle.normal);
    triangle.base = length(corner[1] - corner[0]);
    for (int k = 0; k < 2; ++k) {
      const Vector start = corner[k + 1] - corner[0];
      const Vector along = corner[(k + 2) % 3] - corner[k + 1];
      Triangle::Edge& edge = triangle.edge[k];
      edge.length = length(along);
      edge.start[0] = dot(start, first);
      edge.start[1] = dot(start, second);
      edge.direction[0] = dot(along, first) / edge.length;
      edge.direction[1] = dot(along, second) / edge.length;
    }
    table_.triangles.push_back(triangle);
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
  builder.begin(256);
}

}  // namespace segtrial
