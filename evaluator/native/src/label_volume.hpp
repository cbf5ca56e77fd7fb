// A label map as it lies in memory, and the masks that are asked of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace segtrial {

/// The axes of a volume in the order of its memory: planes are furthest apart, columns adjacent.
enum MemoryAxis : int { kPlane = 0, kRow = 1, kColumn = 2 };

/// A label map seen in memory order. All strides are positive, and columns are adjacent.
struct LabelVolume {
  const std::byte* data;
  int bytes_per_label;  // 1, 2, 4 or 8; labels are read as unsigned
  bool is_signed;       // the array's dtype was: its largest half are negative labels
  std::array<std::int64_t, 3> size;
  std::array<std::int64_t, 2> stride;  // bytes from plane to plane, and from row to row

  template <class Label>
  const Label* row(std::int64_t plane, std::int64_t row) const {
    return reinterpret_cast<const Label*>(data + plane * stride[kPlane] + row * stride[kRow]);
  }
};

/// How the memory axes of both volumes lie in the logical array: the order of axes in which the
/// result is defined, and which is the same for every memory order of the same array.
struct Orientation {
  std::array<int, 3> logical_axis;  // of each memory axis
  std::array<bool, 3> reversed;     // whether the logical index falls along the memory axis
};

/// Calls `f(Label{})` with the unsigned type of the volume's labels.
template <class F>
decltype(auto) with_label_type(const LabelVolume& volume, F&& f) {
  switch (volume.bytes_per_label) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      throw std::invalid_argument("labels of 1, 2, 4 or 8 bytes");
  }
}

}  // namespace segtrial
