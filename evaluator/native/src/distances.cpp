#include "distances.hpp"

#include <algorithm>
#include <cstdint>

namespace segtrial {

namespace {

// As in measurement.py: distances and cumulative weights closer than this ratio are equal.
constexpr double kRelativeSlack = 1e-9;

constexpr int kBins = 2048;

struct WeightedDistance {
  double distance;
  double weight;
};

/// Calls `visit(distance, weight)` for every element.
template <class Visit>
void for_each_element(const ElementDistances& side, const ShapeTable& shapes, const Visit& visit) {
  const double* distance = side.distances;
  const std::uint8_t* const configurations = side.surface->configurations();
  for (std::int64_t cell = 0; cell < side.surface->cells(); ++cell) {
    const std::uint8_t configuration = configurations[cell];
    for (std::int32_t e = shapes.first_element[configuration];
         e < shapes.first_element[configuration + 1]; ++e) {
      visit(*distance++, shapes.elements[e].weight);
    }
  }
}

/// Weight of the elements in equal steps of distance: where a percentile is, but for one step.
class Histogram {
 public:
  explicit Histogram(double maximum)
      : scale_(maximum > 0 ? kBins / maximum : 0), weight_(kBins, 0.0) {}

  int bin(double distance) const {
    return std::min(static_cast<int>(distance * scale_), kBins - 1);
  }
  void add(double distance, double weight) { weight_[bin(distance)] += weight; }
  double operator[](int bin) const { return weight_[bin]; }

 private:
  double scale_;
  std::vector<double> weight_;
};

/// The distance at which the cumulative weight reaches `target`, by halving: linear in the number
/// of elements, however they are spread.
double reaching(std::vector<WeightedDistance>& elements, double target) {
  auto begin = elements.begin();
  auto end = elements.end();
  const auto nearer = [](const WeightedDistance& a, const WeightedDistance& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.weight < b.weight);
  };
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, nearer);
    double weight = 0;
    for (auto at = begin; at != middle; ++at) weight += at->weight;
    if (weight >= target) {
      end = middle;
    } else {
      target -= weight;
      begin = middle;
    }
  }
  return begin->distance;
}

/// Lower quantile of the elements of one or both sides.
double percentile(const std::vector<ElementDistances>& sides,
                  const std::vector<const Histogram*>& histograms, double size, double percent,
                  const ShapeTable& shapes) {
  const double target = percent / 100 * size * (1 - kRelativeSlack);
  double below = 0;
  int bin = 0;
  const auto weight_in = [&](int b) {
    double weight = 0;
    for (const Histogram* histogram : histograms) weight += (*histogram)[b];
    return weight;
  };
  for (; bin < kBins - 1; ++bin) {
    const double weight = weight_in(bin);
    if (below + weight >= target) break;
    below += weight;
  }
  // Rounding may carry the last bin, or one just before it, past the last element.
  while (bin > 0 && weight_in(bin) == 0) below -= weight_in(--bin);
  std::vector<WeightedDistance> candidates;
  for (const ElementDistances& side : sides) {
    for_each_element(side, shapes, [&](double distance, double weight) {
      if (histograms.front()->bin(distance) == bin) candidates.push_back({distance, weight});
    });
  }
  return reaching(candidates, target - below);
}

DirectedSummary sums(const ElementDistances& side, const ShapeTable& shapes,
                     const DistanceQuery& query) {
  DirectedSummary summary;
  summary.within.assign(query.tolerances_mm.size(), 0.0);
  std::vector<double> limits;
  for (const double tolerance : query.tolerances_mm) {
    limits.push_back(tolerance * (1 + kRelativeSlack));
  }
  for_each_element(side, shapes, [&](double distance, double weight) {
    summary.size += weight;
    summary.moment += weight * distance;
    summary.maximum = std::max(summary.maximum, distance);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      if (distance <= limits[i]) summary.within[i] += weight;
    }
  });
  return summary;
}

}  // namespace

DistanceSummary summarise(const std::array<ElementDistances, 2>& sides, const ShapeTable& shapes,
                          const DistanceQuery& query) {
  DistanceSummary summary;
  auto& [there, back] = summary.directed;
  there = sums(sides[0], shapes, query);
  back = sums(sides[1], shapes, query);
  if (query.percentiles.empty()) return summary;
  const double maximum = std::max(there.maximum, back.maximum);
  std::array<Histogram, 2> histograms{Histogram(maximum), Histogram(maximum)};
  for (int s = 0; s < 2; ++s) {
    for_each_element(sides[s], shapes,
                     [&](double distance, double weight) { histograms[s].add(distance, weight); });
  }
  for (const double percent : query.percentiles) {
    for (int s = 0; s < 2; ++s) {
      DirectedSummary& directed = summary.directed[s];
      directed.percentiles.push_back(
          percentile({sides[s]}, {&histograms[s]}, directed.size, percent, shapes));
    }
    summary.pooled_percentiles.push_back(percentile({sides[0], sides[1]},
                                                    {&histograms[0], &histograms[1]},
                                                    there.size + back.size, percent, shapes));
  }
  return summary;
}

}  // namespace segtrial
