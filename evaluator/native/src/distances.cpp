#include "distances.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace segtrial {

namespace {

// As in measurement.py: distances and cumulative weights closer than this ratio are equal.
constexpr double kRelativeSlack = 1e-9;

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

/// Weight of the elements by distance, in steps of a thirty-second of its power of two: where a
/// percentile is, but for one step.
class Histogram {
 public:
  // The exponent of a single-precision number, and 5 bits more.
  static constexpr int kBins = 1 << 13;
  // The bin of what is 0 mm: all that is in it is less than 1e-39 mm.
  static constexpr int kZero = 0;

  /// Never falls with distance, which is not negative.
  static int bin(double distance) {
    const auto single = static_cast<float>(distance);
    std::uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    return static_cast<int>(bits >> 18);
  }
  void add(double distance, double weight) { weight_[bin(distance)] += weight; }
  double operator[](int bin) const { return weight_[bin]; }

 private:
  std::vector<double> weight_ = std::vector<double>(kBins, 0.0);
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

/// Where a lower quantile of the elements of some sides is.
struct Quantile {
  int bin;
  double left;  // weight that is to be reached in the bin
};

Quantile quantile(const std::vector<const Histogram*>& sides, double size, double percent) {
  const double target = percent / 100 * size * (1 - kRelativeSlack);
  double below = 0;
  int bin = 0;
  const auto weight_in = [&](int b) {
    double weight = 0;
    for (const Histogram* side : sides) weight += (*side)[b];
    return weight;
  };
  for (; bin < Histogram::kBins - 1; ++bin) {
    const double weight = weight_in(bin);
    if (weight > 0 && below + weight >= target) break;
    below += weight;
  }
  // Rounding may carry the last bin, or one just before it, past the last element.
  while (bin > 0 && weight_in(bin) == 0) below -= weight_in(--bin);
  return {bin, target - below};
}

/// The elements of one side that are in the bins of quantiles.
class BinnedElements {
 public:
  void want(int bin) {
    if (slot_[bin] >= 0) return;
    slot_[bin] = static_cast<std::int32_t>(elements_.size());
    elements_.emplace_back();
  }

  void collect(const ElementDistances& side, const ShapeTable& shapes) {
    if (elements_.empty()) return;
    for_each_element(side, shapes, [&](double distance, double weight) {
      const std::int32_t slot = slot_[Histogram::bin(distance)];
      if (slot >= 0) elements_[slot].push_back({distance, weight});
    });
  }

  const std::vector<WeightedDistance>& in(int bin) const { return elements_[slot_[bin]]; }

 private:
  std::vector<std::int32_t> slot_ = std::vector<std::int32_t>(Histogram::kBins, -1);
  std::vector<std::vector<WeightedDistance>> elements_;
};

/// Lower quantiles of the elements of some sides.
class Quantiles {
 public:
  Quantiles(const std::vector<const Histogram*>& histograms, const std::vector<double>& percentiles,
            double size, const std::vector<BinnedElements*>& sides)
      : sides_(sides) {
    for (const double percent : percentiles) {
      quantiles_.push_back(quantile(histograms, size, percent));
      if (quantiles_.back().bin == Histogram::kZero) continue;
      for (BinnedElements* side : sides) side->want(quantiles_.back().bin);
    }
  }

  /// Once the sides have collected their elements.
  std::vector<double> distances() const {
    std::vector<double> distances;
    for (const Quantile& quantile : quantiles_) {
      std::vector<WeightedDistance> elements;
      if (quantile.bin != Histogram::kZero) {
        for (const BinnedElements* side : sides_) {
          const auto& in_bin = side->in(quantile.bin);
          elements.insert(elements.end(), in_bin.begin(), in_bin.end());
        }
      }
      distances.push_back(elements.empty() ? 0.0 : reaching(elements, quantile.left));
    }
    return distances;
  }

 private:
  std::vector<BinnedElements*> sides_;
  std::vector<Quantile> quantiles_;
};

DirectedSummary sums(const ElementDistances& side, const ShapeTable& shapes,
                     const DistanceQuery& query, Histogram& histogram) {
  DirectedSummary summary;
  std::vector<double> limits;
  for (const double tolerance : query.tolerances_mm) {
    limits.push_back(tolerance * (1 + kRelativeSlack));
  }
  summary.within.assign(limits.size(), 0.0);
  for_each_element(side, shapes, [&](double distance, double weight) {
    summary.size += weight;
    summary.moment += weight * distance;
    summary.maximum = std::max(summary.maximum, distance);
    histogram.add(distance, weight);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      summary.within[i] += distance <= limits[i] ? weight : 0.0;
    }
  });
  return summary;
}

}  // namespace

DistanceSummary summarise(const std::array<ElementDistances, 2>& sides, const ShapeTable& shapes,
                          const DistanceQuery& query) {
  DistanceSummary summary;
  std::array<Histogram, 2> histograms;
  for (int s = 0; s < 2; ++s) {
    summary.directed[s] = sums(sides[s], shapes, query, histograms[s]);
  }
  std::array<BinnedElements, 2> elements;
  const auto quantiles_of = [&](const std::vector<int>& sides) {
    std::vector<const Histogram*> histograms_of;
    std::vector<BinnedElements*> elements_of;
    double size = 0;
    for (const int s : sides) {
      histograms_of.push_back(&histograms[s]);
      elements_of.push_back(&elements[s]);
      size += summary.directed[s].size;
    }
    return Quantiles(histograms_of, query.percentiles, size, elements_of);
  };
  const std::array<Quantiles, 2> directed{quantiles_of({0}), quantiles_of({1})};
  const Quantiles pooled = quantiles_of({0, 1});
  for (int s = 0; s < 2; ++s) elements[s].collect(sides[s], shapes);
  for (int s = 0; s < 2; ++s) summary.directed[s].percentiles = directed[s].distances();
  summary.pooled_percentiles = pooled.distances();
  return summary;
}

}  // namespace segtrial
