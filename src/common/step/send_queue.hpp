// Bytes on their way into a descriptor that takes them piece by piece.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

class SendQueue {
 public:
  void append(std::string_view bytes) { waiting_ += bytes; }
  // Where append_frame() and the like put theirs.
  [[nodiscard]] std::string& end() { return waiting_; }
  [[nodiscard]] size_t size() const { return waiting_.size() + sending_.size() - sent_; }
  // What goes next; it stays where it is until taken() is called.
  [[nodiscard]] std::string_view next() {
    if (sent_ == sending_.size()) {
      sending_.clear();
      sent_ = 0;
      sending_.swap(waiting_);
    }
    return std::string_view(sending_).substr(sent_);
  }
  void taken(size_t bytes) { sent_ += bytes; }
  // What next() gave may still be on its way and stays.
  void drop() {
    waiting_.clear();
    sent_ = sending_.size();
  }

 private:
  std::string waiting_;
  std::string sending_;
  size_t sent_ = 0;  // of sending_
};

}  // namespace sluice
