// Independent tasks on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace segtrial {

/// Runs `task(i)` for every i in [0, count), on up to `threads` threads, the caller's among them.
///
/// Which thread runs a task, and in which order, is left open: a task writes only what is its own,
/// so that no result depends on it. The first exception of any task is thrown again here.
template <class Task>
void parallel_for(std::int64_t count, int threads, const Task& task) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_guard;
  const auto work = [&] {
    try {
      for (std::int64_t i = next++; i < count; i = next++) task(i);
    } catch (...) {
      next = count;  // the others stop at their next task
      const std::lock_guard<std::mutex> lock(failure_guard);
      if (!failure) failure = std::current_exception();
    }
  };
  const auto helpers = std::min<std::int64_t>(threads, count) - 1;
  std::vector<std::thread> pool;
  try {
    for (std::int64_t i = 0; i < helpers; ++i) pool.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: those that started, and this one, do the work.
  }
  work();
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace segtrial
