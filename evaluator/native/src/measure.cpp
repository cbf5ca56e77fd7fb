#include "measure.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "extents.hpp"
#include "labels.hpp"
#include "parallel.hpp"
#include "surface.hpp"

namespace segtrial {

namespace {

/// A structure on its way from voxels to distances.
struct Work {
  StructurePair pair;
  VoxelCounts counts;
  std::array<std::vector<CellKey>, 2> keys;
  std::array<Surface, 2> surfaces;
  std::array<std::unique_ptr<double[]>, 2> distances;  // to each element
  DistanceSummary summary;

  bool has_surfaces() const { return counts.reference > 0 && counts.prediction > 0; }
};

/// Number of low bits in which keys of a grid may differ.
int key_bits(const CellGrid& grid) {
  const auto nodes = static_cast<std::uint64_t>(grid.nodes[0] * grid.nodes[1] * grid.nodes[2]);
  int bits = kNodeShift;
  while (nodes >> (bits - kNodeShift) != 0) ++bits;
  return bits;
}

class Measurement {
 public:
  Measurement(const VolumePair& volumes, const CaseRequest& request)
      : volumes_(volumes),
        request_(request),
        grid_(request.dimensions, logical_size(), request.spacing_mm),
        coder_(grid_, request.orientation),
        shapes_(request.dimensions, request.spacing_mm),
        work_(request.structures.size()) {}

  std::vector<StructureResult> run() {
    find_structures();
    pass_voxels();
    build_surfaces();
    search();
    summarise_distances();
    std::vector<StructureResult> results;
    for (Work& work : work_) {
      results.push_back({work.counts, {}});
      if (work.has_surfaces()) results.back().surface = std::move(work.summary);
    }
    return results;
  }

 private:
  std::array<std::int64_t, 3> logical_size() const {
    std::array<std::int64_t, 3> size{};
    for (int axis = 0; axis < 3; ++axis) {
      size[request_.orientation.logical_axis[axis]] = volumes_[0].size[axis];
    }
    return size;
  }

  std::array<double, 3> memory_spacing() const {
    std::array<double, 3> spacing{};
    for (int axis = 0; axis < 3; ++axis) {
      spacing[axis] = request_.spacing_mm[request_.orientation.logical_axis[axis]];
    }
    return spacing;
  }

  void find_structures() {
    for (int side = 0; side < 2; ++side) {
      std::vector<std::vector<std::uint64_t>> labels;
      for (std::size_t s = 0; s < work_.size(); ++s) {
        work_[s].pair.labels[side] = request_.structures[s].labels[side];
        labels.push_back(work_[s].pair.labels[side]);
      }
      auto extents =
          find_extents(volumes_[side], StructuresOfLabel(labels), labels.size(), request_.threads);
      for (std::size_t s = 0; s < work_.size(); ++s) {
        work_[s].pair.extent[side] = std::move(extents[s]);
      }
    }
  }

  void pass_voxels() {
    struct Task {
      std::size_t structure;
      std::int64_t slab;
    };
    std::vector<BandShape> bands;
    std::vector<Task> tasks;
    std::vector<std::size_t> first_task;  // of each structure; the last one is the end
    for (std::size_t s = 0; s < work_.size(); ++s) {
      first_task.push_back(tasks.size());
      bands.emplace_back(request_.dimensions, memory_spacing(), volumes_[0].size,
                         request_.structures[s].band_width_mm);
      for (const std::int64_t slab : slabs_of(work_[s].pair, bands[s])) tasks.push_back({s, slab});
    }
    first_task.push_back(tasks.size());
    std::vector<SlabResult> results(tasks.size());
    parallel_for(static_cast<std::int64_t>(tasks.size()), request_.threads, [&](std::int64_t i) {
      const auto [s, slab] = tasks[i];
      results[i] = measure_slab(volumes_, work_[s].pair, request_.ignored, bands[s], coder_, slab);
    });
    parallel_for(static_cast<std::int64_t>(work_.size()), request_.threads, [&](std::int64_t s) {
      join(results.begin() + first_task[s], results.begin() + first_task[s + 1], work_[s]);
    });
  }

  /// Adds up what was found in the slabs of a structure, and frees it.
  static void join(std::vector<SlabResult>::iterator first, std::vector<SlabResult>::iterator last,
                   Work& work) {
    std::array<std::size_t, 2> cells{};
    for (auto slab = first; slab != last; ++slab) {
      work.counts += slab->counts;
      for (int side = 0; side < 2; ++side) cells[side] += slab->cells[side].size();
    }
    for (int side = 0; side < 2; ++side) {
      work.keys[side].reserve(cells[side]);
      for (auto slab = first; slab != last; ++slab) {
        std::vector<CellKey> found = std::move(slab->cells[side]);
        work.keys[side].insert(work.keys[side].end(), found.begin(), found.end());
      }
    }
  }

  void build_surfaces() {
    const int bits = key_bits(grid_);
    for_each_side([&](Work& work, int side) {
      sort_keys(work.keys[side], bits);
      work.surfaces[side] = Surface(work.keys[side], grid_, shapes_);
    });
    for_each_structure([&](Work& work) {
      Surface::mark_shared(work.keys[0], work.surfaces[0], work.keys[1], work.surfaces[1]);
      for (auto& keys : work.keys) std::vector<CellKey>().swap(keys);
    });
  }

  void search() {
    struct Task {
      Work* work;
      int side;
      Surface::Piece piece;
    };
    std::vector<Task> tasks;
    for (Work& work : work_) {
      if (!work.has_surfaces()) continue;
      for (int side = 0; side < 2; ++side) {
        // Left as it is: the threads of the search fill it, and are the first to touch its pages.
        work.distances[side].reset(new double[work.surfaces[side].elements()]);
        for (const auto& piece : work.surfaces[side].pieces(shapes_)) {
          tasks.push_back({&work, side, piece});
        }
      }
    }
    const GridView grid = view_of(grid_);
    const ShapeView shapes = view_of(shapes_);
    parallel_for(static_cast<std::int64_t>(tasks.size()), request_.threads, [&](std::int64_t i) {
      const auto& [work, side, piece] = tasks[i];
      request_.nearest(grid, shapes, work->surfaces[side].view(), piece.first_node, piece.last_node,
                       work->surfaces[1 - side].view(),
                       work->distances[side].get() + piece.first_element);
    });
  }

  void summarise_distances() {
    for_each_structure([&](Work& work) {
      const auto s = static_cast<std::size_t>(&work - work_.data());
      work.summary =
          summarise({ElementDistances{&work.surfaces[0], work.distances[0].get()},
                     ElementDistances{&work.surfaces[1], work.distances[1].get()}},
                    shapes_, {request_.percentiles, request_.structures[s].tolerances_mm});
    });
  }

  /// Calls `f(work)` for every structure with two surfaces.
  template <class F>
  void for_each_structure(const F& f) {
    parallel_for(static_cast<std::int64_t>(work_.size()), request_.threads, [&](std::int64_t i) {
      if (work_[i].has_surfaces()) f(work_[i]);
    });
  }

  /// Calls `f(work, side)` for both sides of every structure with two surfaces.
  template <class F>
  void for_each_side(const F& f) {
    parallel_for(2 * static_cast<std::int64_t>(work_.size()), request_.threads,
                 [&](std::int64_t i) {
                   if (work_[i / 2].has_surfaces()) f(work_[i / 2], static_cast<int>(i % 2));
                 });
  }

  const VolumePair& volumes_;
  const CaseRequest& request_;
  CellGrid grid_;
  CellCoder coder_;
  ShapeTable shapes_;
  std::vector<Work> work_;
};

}  // namespace

std::vector<StructureResult> measure(const VolumePair& volumes, const CaseRequest& request) {
  return Measurement(volumes, request).run();
}

}  // namespace segtrial
