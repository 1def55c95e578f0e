#include "ctld/engine/engine.hpp"

#include <utility>

#include "common/base/check.hpp"
#include "common/base/thread_name.hpp"
#include "common/log/log.hpp"
#include "ctld/engine/gather.hpp"
#include "ctld/engine/new_work.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/react.hpp"

namespace sluice::engine {
namespace {

// Of what one command of new work may change: it holds the engine and the disk for as long as that
// takes.
constexpr size_t kMostFrameOfNewWork = size_t{64} << 20;

template <class Command>
concept HasIssuer = requires(const Command& command) {
  command.who.uid;
};

uint32_t issuer(const state::Command& command) {
  return std::visit(
      []<class C>(const C& one) -> uint32_t {
        if constexpr (HasIssuer<C>) return one.who.uid;
        else return UINT32_MAX;
      },
      command);
}

}  // namespace

struct Engine::Group {
  journal::FrameGroup frames;
  std::vector<Answer> answers;
  state::Effects effects;
  std::vector<LoggedFrame> told;
};

Engine::Engine(EngineOptions options, state::ClusterState state, journal::Sequence last,
               journal::GroupCommit& commit, Publisher& publisher)
    : options_(std::move(options)),
      state_(std::move(state)),
      sequence_(last),
      ticks_(options_.tick, options_.clock()),
      commit_(commit),
      publisher_(publisher),
      job_ids_from_(std::chrono::steady_clock::now() + options_.job_ids_wait),
      job_ids_open_(options_.job_ids_wait == Duration(0)),
      inbox_(std::make_shared<Inbox>(options_.most_waiting)),
      thread_([this] { run(); }) {}

Engine::~Engine() { stop(); }

void Engine::post(Post post) {
  if (inbox_->put(post)) return;
  if (post.done) post.done(failure(ErrorCode::kRetry), publisher_.newest()->state);
}

void Engine::stop() {
  inbox_->close();
  if (thread_.joinable()) thread_.join();
}

void Engine::ask_tick() { inbox_->ask_tick(); }

void Engine::open_job_ids() {
  if (!job_ids_open_.exchange(true)) inbox_->ask_tick();
}

bool Engine::job_ids_open() const {
  return job_ids_open_ || std::chrono::steady_clock::now() >= job_ids_from_;
}

// A tick comes again by itself.
void Engine::wait_for_job_ids(Post post, Group& group) {
  if (std::holds_alternative<state::Tick>(post.command)) return;
  if (unnumbered_.size() < options_.most_waiting) return unnumbered_.push_back(std::move(post));
  group.answers.push_back({std::move(post.done), failure(ErrorCode::kRetry)});
}

void Engine::tick(Time now, Group& group) {
  const auto began = std::chrono::steady_clock::now();
  Post post{state::Tick{tick_number_++}, {}, {}};
  execute(post, now, group);
  ticks_.ran(now, std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - began));
}

void Engine::run() {
  name_thread("engine");
  while (true) {
    Inbox::Taken taken = inbox_->take(ticks_.until(options_.clock()));
    if (taken.tick_asked) ticks_.ask();
    Group group;
    const Time now = options_.clock();
    if (job_ids_open() || inbox_->is_over()) {
      job_ids_open_ = true;
      for (Post& post : std::exchange(unnumbered_, {})) execute(post, now, group);
    }
    for (Post& post : gather_reports(std::move(taken.posts))) execute(post, now, group);
    if (ticks_.is_due(now)) tick(now, group);
    if (!group.frames.frames.empty() || !group.answers.empty() || !group.effects.empty())
      commit_batch(std::move(group));
    if (inbox_->is_over()) return;
  }
}

ErrorCode Engine::refusal(const Post& post) const {
  return is_new_work(post.command) ? commit_.trouble() : ErrorCode::kOk;
}

// The first one, and then ever fewer: whoever asks again and again fills no log.
void Engine::note_refusal(const state::Command& command, ErrorCode code) {
  const uint32_t uid = issuer(command);
  if (uid == UINT32_MAX) return;
  ++refused_;
  if ((refused_ & (refused_ - 1)) != 0) return;
  log::error("{} of uid {} was refused: {} ({} so far)",
             std::holds_alternative<state::SubmitJob>(command) ? "a submission" : "a command", uid,
             code == ErrorCode::kStorageFull ? "the journal's disk is full"
                                             : "the journal cannot be written now",
             refused_);
}

void Engine::execute(Post& post, Time now, Group& group) {
  if (const ErrorCode code = refusal(post); code != ErrorCode::kOk) {
    note_refusal(post.command, code);
    // Nothing happened, so the answer waits for no journal: that may not be written for hours.
    publisher_.answer({std::move(post.done), failure(code)});
    return;
  }
  Result<state::Decision> decision = state::decide(state_, post.command, now);
  if (!decision) {
    group.answers.push_back({std::move(post.done), tl::unexpected(std::move(decision.error()))});
    return;
  }
  if (!job_ids_open_ && gives_job_ids(decision->events))
    return wait_for_job_ids(std::move(post), group);
  if (!decision->events.empty()) {
    state::Events events = std::move(decision->events);
    journal::Frame frame = journal::encode_frame(sequence_ + 1, now, events);
    if (frame.bytes.size() >
        (is_new_work(post.command) ? kMostFrameOfNewWork : journal::kMostFrameBytes)) {
      log::error("a command of uid {} is refused: it would change {} MiB of the state at once",
                 issuer(post.command), frame.bytes.size() >> 20);
      publisher_.answer(
          {std::move(post.done),
           failure(ErrorCode::kBadRequest, "this changes too much at once: name fewer")});
      return;
    }
    ++sequence_;
    group.frames.frames.push_back(std::move(frame));
    apply(events, now);
    if (options_.recorder != nullptr) {
      for (std::string& record : options_.recorder->take(state_, post.blobs))
        group.frames.outgoing.push_back(std::move(record));
    }
    for (journal::Blob& blob : post.blobs) group.frames.blobs.push_back(std::move(blob));
    if (options_.on_events) options_.on_events(state_, events);
    for (state::Effect& effect : state::react(state_, events))
      group.effects.push_back(std::move(effect));
    group.told.push_back({now, issuer(post.command), std::move(events)});
  }
  for (state::Effect& effect : decision->effects) group.effects.push_back(std::move(effect));
  if (post.done) group.answers.push_back({std::move(post.done), std::move(decision->reply)});
}

void Engine::apply(const state::Events& events, Time now) {
  EventRecorder* const recorder = options_.recorder;
  for (const state::Event& event : events) {
    if (recorder != nullptr) recorder->before(state_, event, now);
    state::apply(state_, event);
    if (recorder != nullptr) recorder->after(state_, event, now);
    counts_.note(state_, event);
  }
}

void Engine::commit_batch(Group group) {
  // Shared: a std::function must be copyable.
  auto durable = std::make_shared<DurableGroup>();
  durable->published = {std::make_shared<const state::ClusterState>(state_), sequence_};
  durable->answers = std::move(group.answers);
  durable->effects = std::move(group.effects);
  durable->frames = std::move(group.told);
  inbox_->note_sealed();
  const auto note = [durable, inbox = inbox_,
                     &publisher = publisher_](const Result<journal::Sequence>& written) {
    inbox->note_written();
    if (!written) {
      // The state holds what the journal does not: this process must not answer anything any more.
      log::error("the journal cannot be written: {}", written.error().text);
      const ErrorCode code = written.error().code;
      if (code != ErrorCode::kStorageFull && code != ErrorCode::kRetry)
        check_failed(__FILE__, __LINE__, "journal");
      return;
    }
    publisher.publish(std::move(*durable));
  };
  commit_.submit(std::move(group.frames), note);
}

}  // namespace sluice::engine
