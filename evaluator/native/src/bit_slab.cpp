#include "bit_slab.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace segtrial {

namespace {

/// Eight bytes that are 0 or 1 as eight bits, the first byte lowest.
Word packed(const std::uint8_t* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  // Byte i is moved to bit 56 + i; no two of the other products meet, so nothing is carried.
  return word * 0x0102040810204080u >> 56;
}

/// Bit i says whether the label at `voxels[i]` is one of `labels`, for i below `count`.
template <class Label>
Word matches(const Label* voxels, int count, const std::vector<Label>& labels) {
  std::uint8_t match[kWordBits] = {};
  for (const Label label : labels) {
    if (count == kWordBits) {  // known in advance, the loop becomes a few vector instructions
      for (int i = 0; i < kWordBits; ++i) match[i] |= voxels[i] == label;
    } else {
      for (int i = 0; i < count; ++i) match[i] |= voxels[i] == label;
    }
  }
  Word word = 0;
  for (int i = 0; i < kWordBits; i += 8) word |= packed(match + i) << i;
  return word;
}

void widen(Box& box, const ExtentRange& extent) {
  for (const PlaneExtent& plane : extent) {
    box.first_plane = std::min(box.first_plane, plane.plane);
    box.last_plane = std::max(box.last_plane, plane.plane + 1);
    box.first_row = std::min(box.first_row, plane.first_row);
    const auto rows = static_cast<std::int32_t>(plane.spans.size());
    box.last_row = std::max(box.last_row, plane.first_row + rows);
    for (const Span& span : plane.spans) {
      if (span.begin == span.end) continue;
      box.first_word = std::min(box.first_word, span.begin / kWordBits);
      // The cell after the last voxel is its column's neighbour, perhaps in the next word.
      box.last_word = std::max(box.last_word, span.end / kWordBits + 1);
    }
  }
}

}  // namespace

ExtentRange::ExtentRange(const StructureExtent& extent, std::int32_t first_plane,
                         std::int32_t last_plane) {
  const auto before = [](const PlaneExtent& at, std::int32_t plane) { return at.plane < plane; };
  const PlaneExtent* const all = extent.data();
  const PlaneExtent* const end = all + extent.size();
  first = std::lower_bound(all, end, first_plane, before);
  last = std::lower_bound(first, end, last_plane, before);
}

Box bounding_box(const ExtentRange& a, const ExtentRange& b) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  Box box{kMost, 0, kMost, 0, kMost, 0};
  widen(box, a);
  widen(box, b);
  return box;
}

BitSlab::BitSlab(const Box& box)
    : box_(box),
      stride_(static_cast<std::size_t>(box.words()) + 2),
      bits_(offset(box.last_plane, box.first_row)),
      zeros_(stride_) {}

BitSlab BitSlab::planes(std::int32_t first, std::int32_t last) const {
  Box box = box_;
  box.first_plane = std::max(first, box_.first_plane);
  box.last_plane = std::max(box.first_plane, std::min(last, box_.last_plane));
  BitSlab some(box);
  if (!some.bits_.empty()) {
    std::copy_n(plane(box.first_plane), some.bits_.size(), some.bits_.begin());
  }
  return some;
}

template <class Combine>
void BitSlab::for_matches(const LabelVolume& volume, const ExtentRange& extent,
                          const std::vector<std::uint64_t>& labels, const Combine& combine) {
  with_label_type(volume, [&](auto type) {
    using Label = decltype(type);
    std::vector<Label> possible;
    for (const std::uint64_t label : labels) {
      if (label <= std::numeric_limits<Label>::max()) possible.push_back(static_cast<Label>(label));
    }
    for (const PlaneExtent& plane : extent) {
      std::int32_t row = plane.first_row;
      for (const Span& span : plane.spans) {
        const Label* const voxels = volume.row<Label>(plane.plane, row);
        Word* const words = &bits_[offset(plane.plane, row)] + 1;
        for (std::int64_t x = span.begin / kWordBits * kWordBits; x < span.end; x += kWordBits) {
          const auto count = std::min<std::int64_t>(kWordBits, volume.size[kColumn] - x);
          const Word match = matches(voxels + x, static_cast<int>(count), possible);
          combine(words[x / kWordBits - box_.first_word], match);
        }
        ++row;
      }
    }
  });
}

void BitSlab::set(const LabelVolume& volume, const ExtentRange& extent,
                  const std::vector<std::uint64_t>& labels) {
  for_matches(volume, extent, labels, [](Word& word, Word match) { word |= match; });
}

void BitSlab::clear(const LabelVolume& volume, const ExtentRange& extent,
                    const std::vector<std::uint64_t>& labels) {
  for_matches(volume, extent, labels, [](Word& word, Word match) { word &= ~match; });
}

}  // namespace segtrial
