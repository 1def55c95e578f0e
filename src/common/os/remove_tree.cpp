#include "common/os/remove_tree.hpp"

#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct Place {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const Place&) const = default;
};

Place place_of(int folder) {
  struct stat about {};
  return ::fstat(folder, &about) == 0 ? Place{about.st_dev, about.st_ino} : Place{};
}

bool is_gone(int done) { return done == 0 || errno == ENOENT; }

// Goes down into the first folder that it meets, and up again once that is empty.
class Walk {
 public:
  explicit Walk(int top) : folder_(top) {}
  ~Walk() {
    if (folder_ >= 0) ::close(folder_);
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // Of the top folder; that itself stays.
  bool empty() {
    while (true) {
      std::string below;
      if (!remove_entries(below)) return false;
      if (!below.empty() ? !go_down(std::move(below)) : !above_.empty() && !go_up()) return false;
      if (at_top_and_empty_) return true;
    }
  }

 private:
  struct Level {
    Place place;
    std::string name;  // of the folder below, through which the way goes
  };

  // All up to the first one that is a folder with something in it, which it names.
  bool remove_entries(std::string& below) {
    const int copy = ::openat(folder_, ".", kFolder);
    DIR* entries = copy < 0 ? nullptr : ::fdopendir(copy);
    if (entries == nullptr) {
      if (copy >= 0) ::close(copy);
      return false;
    }
    bool good = true;
    while (good && below.empty()) {
      errno = 0;
      const dirent* entry = ::readdir(entries);  // NOLINT(concurrency-mt-unsafe): our own stream
      if (entry == nullptr) {
        good = errno == 0;
        at_top_and_empty_ = good && above_.empty();
        break;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || is_gone(::unlinkat(folder_, entry->d_name, 0))) continue;
      if (is_gone(::unlinkat(folder_, entry->d_name, AT_REMOVEDIR))) continue;
      good = errno == ENOTEMPTY || errno == EEXIST;
      if (good) below = name;
    }
    ::closedir(entries);
    return good;
  }

  bool go_down(std::string name) {
    const int next = ::openat(folder_, name.c_str(), kFolder);
    if (next < 0) return false;
    above_.push_back({place_of(folder_), std::move(name)});
    enter(next);
    return true;
  }

  // Not into another folder, where somebody has moved the one that was emptied.
  bool go_up() {
    const Level level = std::move(above_.back());
    above_.pop_back();
    const int next = ::openat(folder_, "..", kFolder);
    if (next < 0) return false;
    enter(next);
    return place_of(folder_) == level.place &&
           is_gone(::unlinkat(folder_, level.name.c_str(), AT_REMOVEDIR));
  }

  void enter(int next) { ::close(std::exchange(folder_, next)); }

  int folder_;
  std::vector<Level> above_;
  bool at_top_and_empty_ = false;
};

}  // namespace

bool remove_tree(const std::string& path) {
  const int top = ::open(path.c_str(), kFolder);
  if (top < 0) return is_gone(::unlink(path.c_str()));
  return Walk(top).empty() && is_gone(::rmdir(path.c_str()));
}

}  // namespace sluice
