// NVIDIA's management library, which is loaded when it is there: nothing of it is needed to build.
// Only its stable calls are used; their types are declared where they are called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/result.hpp"

namespace sluice {

class NvmlLibrary {
 public:
  using Device = void*;
  static constexpr int kSuccess = 0;

  // Begins it; the end of the object ends it. The error says what is wrong with the library.
  [[nodiscard]] static Result<NvmlLibrary> open();
  ~NvmlLibrary();
  NvmlLibrary(NvmlLibrary&& other) noexcept
      : library_(std::move(other.library_)), began_(std::exchange(other.began_, false)) {}
  NvmlLibrary& operator=(NvmlLibrary&&) = delete;
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  // Null: this library does not have it.
  template <class Call>
  void find(Call*& call, const char* symbol) const {
    call = reinterpret_cast<Call*>(address_of(symbol));
  }
  [[nodiscard]] unsigned count() const;  // of GPUs; 0 where it does not say
  [[nodiscard]] std::optional<Device> device(unsigned index) const;
  // The number of its file, 3 of /dev/nvidia3.
  [[nodiscard]] std::optional<unsigned> minor_of(Device device) const;

 private:
  struct Closer {
    void operator()(void* library) const;
  };
  explicit NvmlLibrary(void* library) : library_(library) {}
  [[nodiscard]] void* address_of(const char* symbol) const;

  std::unique_ptr<void, Closer> library_;
  bool began_ = false;
};

}  // namespace sluice
