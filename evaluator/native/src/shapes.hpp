// The surface inside one cell, for each configuration of its corners, at true spacing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace segtrial {

/// A triangle of the surface (a segment in 2D), as a place to measure from.
struct Element {
  double centroid[3];  // mm from the cell's first corner
  double weight;       // area in mm2 (length in mm)
};

/// A rectangle of the surface, as a thing to measure to; in 2D a segment, without a second side.
///
/// Two right-angled triangles that make up a rectangle are one: its nearest point takes two clamps,
/// where a triangle takes three edges.
struct Rectangle {
  double origin[3];  // a corner, mm from the cell's first corner
  double normal[3];  // unit vectors: of the plane, and of two sides
  double axis[2][3];
  double side[2];  // mm along the axes
};

/// A convex polygon of the surface, as a thing to measure to: a triangle, or two in one plane that
/// have a side in common.
template <int kCorners>
struct Polygon {
  double origin[3];  // a corner, mm from the cell's first corner
  double normal[3];  // unit vectors: of the plane, of the first edge, and across that
  double axis[2][3];
  double base;   // length of the first edge, from the origin along the first axis
  struct Edge {  // the others, in the coordinates of the axes, counter-clockwise
    double start[2];
    double direction[2];
    double length;
  } edge[kCorners - 1];
};
using Triangle = Polygon<3>;
using Quadrilateral = Polygon<4>;

/// The shapes of a configuration: of each kind those from begin up to end.
struct ShapeRanges {
  struct Range {
    std::uint16_t begin, end;
  } rectangles, triangles, quadrilaterals;
};

/// The surface in a cell, for all configurations of its corners.
struct ShapeTable {
  /// `spacing` along the logical axes in mm.
  ShapeTable(int dimensions, const std::array<double, 3>& spacing);

  std::vector<Element> elements;
  std::array<std::int32_t, 257> first_element;  // of each configuration; the last one is the end

  // Together they are the same surface as the elements.
  std::vector<Rectangle> rectangles;
  std::vector<Triangle> triangles;
  std::vector<Quadrilateral> quadrilaterals;
  std::array<ShapeRanges, 256> ranges;  // for each configuration

  std::array<std::array<double, 3>, 256> low;  // box around it
  std::array<std::array<double, 3>, 256> high;

  int element_count(std::uint8_t configuration) const {
    return first_element[configuration + 1] - first_element[configuration];
  }
};

/// Corners of the elements of a configuration in half cells along the three logical axes: three
/// for each triangle, or two for each segment.
std::vector<std::array<int, 3>> element_corners(int dimensions, unsigned configuration);

}  // namespace segtrial
