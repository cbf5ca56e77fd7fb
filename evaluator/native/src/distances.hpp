// From the distances of all elements to what the metrics need: sums, percentiles, weight within.
#pragma once

#include <array>
#include <vector>

#include "shapes.hpp"
#include "surface.hpp"

namespace segtrial {

/// What is asked about the distances of one structure.
struct DistanceQuery {
  std::vector<double> percentiles;    // in (0, 100]
  std::vector<double> tolerances_mm;  // 0 or more
};

struct DirectedSummary {
  double size = 0;     // weight of all elements: mm2, or mm in 2D
  double moment = 0;   // sum of weight times distance
  double maximum = 0;  // mm
  std::vector<double> percentiles;
  std::vector<double> within;  // weight of the elements within each tolerance
};

struct DistanceSummary {
  std::array<DirectedSummary, 2> directed;  // from the reference, from the prediction
  std::vector<double> pooled_percentiles;
};

/// The distances of one surface's elements, in the order of its cells.
struct ElementDistances {
  const Surface* surface;
  const double* distances;
};

DistanceSummary summarise(const std::array<ElementDistances, 2>& sides, const ShapeTable& shapes,
                          const DistanceQuery& query);

}  // namespace segtrial
