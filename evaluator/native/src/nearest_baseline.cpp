#include "nearest_kernel.hpp"

namespace segtrial::baseline {

void nearest_distances(const GridView& grid, const ShapeView& shapes, const SurfaceView& from,
                       std::int64_t first, std::int64_t last, const SurfaceView& to,
                       double* distances) {
  measure_nodes(grid, shapes, from, first, last, to, distances);
}

}  // namespace segtrial::baseline
