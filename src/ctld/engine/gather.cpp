#include "ctld/engine/gather.hpp"

#include <iterator>
#include <utility>

namespace sluice::engine {
namespace {

std::vector<protocol::StepEnded>* reports_of(state::EndSteps& command) { return &command.ended; }
std::vector<protocol::JobCleaned>* reports_of(state::JobsCleaned& command) { return &command.cleaned; }

// False: they are no reports of this kind, or too many for one frame.
template <class Command>
bool merge(Post& into, Post& post, size_t most) {
  auto* first = std::get_if<Command>(&into.command);
  auto* second = std::get_if<Command>(&post.command);
  if (first == nullptr || second == nullptr) return false;
  auto& all = *reports_of(*first);
  auto& more = *reports_of(*second);
  if (all.size() + more.size() > most) return false;
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return true;
}

}  // namespace

std::vector<Post> gather_reports(std::vector<Post> posts, size_t most) {
  std::vector<Post> gathered;
  gathered.reserve(posts.size());
  std::vector<Done> waiting;  // of the reports that went into the last post
  const auto close = [&] {
    if (waiting.empty()) return;
    waiting.push_back(std::move(gathered.back().done));
    gathered.back().done = [all = std::move(waiting)](const Result<state::Reply>& reply,
                                                      const state::ClusterSnapshot& state) {
      for (const Done& done : all) {
        if (done) done(reply, state);
      }
    };
    waiting.clear();
  };
  for (Post& post : posts) {
    if (!gathered.empty() && (merge<state::EndSteps>(gathered.back(), post, most) ||
                              merge<state::JobsCleaned>(gathered.back(), post, most))) {
      waiting.push_back(std::move(post.done));
      continue;
    }
    close();
    gathered.push_back(std::move(post));
  }
  close();
  return gathered;
}

}  // namespace sluice::engine
