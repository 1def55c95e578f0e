// Many addresses looked up at once, and no longer than is wanted: a name service that does not
// answer takes seconds for each.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace sluice {

class NameLookups {
 public:
  NameLookups();
  ~NameLookups();
  NameLookups(const NameLookups&) = delete;
  NameLookups& operator=(const NameLookups&) = delete;

  void add(const std::string& address);
  // Asks for all of them. What is not known after that time stays unanswered; threads that wait for
  // the name service then are left to themselves, and end with it or with the process.
  void run(std::chrono::seconds most);

  enum class Answer : uint8_t {
    kNone,     // there was none
    kKnown,    // it is an address, or the name of some
    kUnknown,  // the name service knows no such name
  };
  [[nodiscard]] Answer answer(const std::string& address) const;

 private:
  struct Shared;  // with the threads
  std::shared_ptr<Shared> shared_;
};

}  // namespace sluice
