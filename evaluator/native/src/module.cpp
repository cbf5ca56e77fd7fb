// The Python module segtrial.metrics._core; segtrial/metrics/native.py is its only user.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>

#include "labels.hpp"
#include "measure.hpp"

namespace nb = nanobind;

namespace {

using namespace segtrial;
using Array = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;
using Labels = std::vector<std::uint64_t>;

/// A volume whose axes were already brought into the order of its memory.
LabelVolume volume_of(const Array& array) {
  const nb::dlpack::dtype type = array.dtype();
  LabelVolume volume{};
  volume.data = static_cast<const std::byte*>(array.data());
  volume.bytes_per_label = type.bits / 8;
  volume.is_signed = type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int);
  for (int axis = 0; axis < 3; ++axis) {
    volume.size[axis] = static_cast<std::int64_t>(array.shape(axis));
  }
  const bool adjacent = array.stride(kColumn) == 1 || array.shape(kColumn) == 1;
  if (!adjacent || array.stride(kPlane) < 0 || array.stride(kRow) < 0) {
    throw std::invalid_argument("a volume in memory order");
  }
  volume.stride = {array.stride(kPlane) * volume.bytes_per_label,
                   array.stride(kRow) * volume.bytes_per_label};
  return volume;
}

struct InstructionSet {
  const char* name;
  bool usable;
  NearestDistances nearest;
};

/// The variants of the search in this build, the best one first.
std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
#if defined(SEGTRIAL_X86)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("popcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  sets.push_back({"avx512", avx512, avx512::nearest_distances});
  sets.push_back({"avx2", avx2, avx2::nearest_distances});
#endif
  sets.push_back({"baseline", true, baseline::nearest_distances});
  return sets;
}

std::vector<std::string> usable_instruction_sets() {
  std::vector<std::string> names;
  for (const InstructionSet& set : instruction_sets()) {
    if (set.usable) names.emplace_back(set.name);
  }
  return names;
}

NearestDistances nearest_for(const std::string& name) {
  for (const InstructionSet& set : instruction_sets()) {
    if (set.usable && (name.empty() || name == set.name)) return set.nearest;
  }
  throw std::invalid_argument("an instruction set of this build and processor");
}

/// Threads to work with; 0 asks for one on each processor.
int thread_count(int threads, const LabelVolume& volume) {
  // Starting one takes as long as measuring some ten thousand voxels.
  constexpr std::int64_t kVoxelsPerThread = 1 << 15;
  const std::int64_t voxels = volume.size[kPlane] * volume.size[kRow] * volume.size[kColumn];
  const std::int64_t asked = threads > 0 ? threads : std::thread::hardware_concurrency();
  return static_cast<int>(std::clamp<std::int64_t>(asked, 1, 1 + voxels / kVoxelsPerThread));
}

nb::tuple as_python(const std::vector<double>& numbers) {
  nb::list list;
  for (const double number : numbers) list.append(number);
  return nb::tuple(list);
}

nb::tuple as_python(const DirectedSummary& way) {
  return nb::make_tuple(way.size, way.moment, way.maximum, as_python(way.percentiles),
                        as_python(way.within));
}

nb::tuple as_python(const StructureResult& result) {
  nb::object surface = nb::none();
  if (result.surface) {
    surface = nb::make_tuple(as_python(result.surface->directed[0]),
                             as_python(result.surface->directed[1]),
                             as_python(result.surface->pooled_percentiles));
  }
  const VoxelCounts& counts = result.counts;
  return nb::make_tuple(counts.reference, counts.prediction, counts.intersection,
                        counts.band_intersection, counts.band_union, surface);
}

nb::list measure_arrays(const Array& reference, const Array& prediction, int dimensions,
                        std::array<double, 3> spacing_mm, std::array<int, 3> logical_axis,
                        std::array<bool, 3> reversed, const std::vector<Labels>& reference_labels,
                        const std::vector<Labels>& prediction_labels,
                        std::vector<std::vector<double>> tolerances_mm,
                        const std::vector<double>& band_widths_mm, std::vector<double> percentiles,
                        Labels ignored, int threads, const std::string& instruction_set) {
  const VolumePair volumes{volume_of(reference), volume_of(prediction)};
  CaseRequest request;
  request.dimensions = dimensions;
  request.spacing_mm = spacing_mm;
  request.orientation = {logical_axis, reversed};
  request.percentiles = std::move(percentiles);
  request.ignored = std::move(ignored);
  request.threads = thread_count(threads, volumes[0]);
  request.nearest = nearest_for(instruction_set);
  for (std::size_t s = 0; s < reference_labels.size(); ++s) {
    request.structures.push_back({{reference_labels[s], prediction_labels.at(s)},
                                  std::move(tolerances_mm.at(s)),
                                  band_widths_mm.at(s)});
  }
  std::vector<StructureResult> results;
  {
    const nb::gil_scoped_release release;
    results = measure(volumes, request);
  }
  nb::list list;
  for (const StructureResult& result : results) list.append(as_python(result));
  return list;
}

Labels labels_in(const Array& array, int threads) {
  const LabelVolume volume = volume_of(array);
  const nb::gil_scoped_release release;
  return find_labels(volume, thread_count(threads, volume));
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Native core of segtrial.metrics; use segtrial.metrics.evaluate_label_maps.";
  nb::exception<NegativeLabel>(m, "NegativeLabelError", PyExc_ValueError);
  nb::exception<TooLarge>(m, "TooLargeError", PyExc_ValueError);
  m.def("measure", &measure_arrays, nb::kw_only(), nb::arg("reference"), nb::arg("prediction"),
        nb::arg("dimensions"), nb::arg("spacing_mm"), nb::arg("logical_axis"), nb::arg("backwards"),
        nb::arg("reference_labels"), nb::arg("prediction_labels"), nb::arg("tolerances_mm"),
        nb::arg("band_widths_mm"), nb::arg("percentiles"), nb::arg("ignored"), nb::arg("threads"),
        nb::arg("instruction_set") = "",
        "Counts and distance sums of every structure; threads = 0 uses every processor.");
  m.def("find_labels", &labels_in, nb::arg("array"), nb::arg("threads"),
        "Labels other than 0 in a volume, ascending; negative ones as their unsigned patterns.");
  m.def("element_corners", &element_corners, nb::arg("dimensions"), nb::arg("configuration"),
        "The surface of one cell: corners of its elements in half cells.");
  m.def("instruction_sets", &usable_instruction_sets,
        "Variants this processor can run, best first.");
}
