#include "ctld/engine/gather.hpp"

#include <iterator>
#include <utility>

namespace sluice::engine {
namespace {

std::vector<protocol::StepEnded>& reports_of(state::EndSteps& command) { return command.ended; }
std::vector<protocol::JobCleaned>& reports_of(state::JobsCleaned& command) {
  return command.cleaned;
}

// Posts of one kind of report, as few as may be.
template <class Command>
class Gathered {
 public:
  // False: the post is of another kind.
  bool add(Post& post, size_t most) {
    auto* command = std::get_if<Command>(&post.command);
    if (command == nullptr) return false;
    if (posts_.empty() || !join(reports_of(*command), most)) {
      posts_.push_back({std::move(post), {}});
    } else {
      posts_.back().others.push_back(std::move(post.done));
    }
    return true;
  }
  void move_to(std::vector<Post>& out) {
    for (Gathering& one : posts_) {
      if (!one.others.empty()) {
        one.others.push_back(std::move(one.post.done));
        one.post.done = [all = std::move(one.others)](const Result<state::Reply>& reply,
                                                      const state::ClusterSnapshot& state) {
          for (const Done& done : all) {
            if (done) done(reply, state);
          }
        };
      }
      out.push_back(std::move(one.post));
    }
    posts_.clear();
  }

 private:
  struct Gathering {
    Post post;
    std::vector<Done> others;  // of the reports that joined
  };

  bool join(auto& more, size_t most) {
    auto& all = reports_of(std::get<Command>(posts_.back().post.command));
    if (all.size() + more.size() > most) return false;
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
    return true;
  }

  std::vector<Gathering> posts_;
};

}  // namespace

bool is_report(const state::Command& command) {
  return std::holds_alternative<state::EndSteps>(command) ||
         std::holds_alternative<state::JobsCleaned>(command);
}

std::vector<Post> gather_reports(std::vector<Post> posts, size_t most) {
  std::vector<Post> out;
  out.reserve(posts.size());
  Gathered<state::EndSteps> ended;
  Gathered<state::JobsCleaned> cleaned;
  const auto close = [&] {
    ended.move_to(out);  // first: that a node is clean says nothing before the job's end is known
    cleaned.move_to(out);
  };
  for (Post& post : posts) {
    if (ended.add(post, most) || cleaned.add(post, most)) continue;
    close();
    out.push_back(std::move(post));
  }
  close();
  return out;
}

}  // namespace sluice::engine
