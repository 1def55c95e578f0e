#include "cli/sacct/job_words.hpp"

#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/names/step_names.hpp"

namespace sluice::cli {
namespace {

// More in one request the daemon would have to compare with each job.
constexpr size_t kMostNamedJobs = 100'000;

// One of the list.
Status add_job(const std::string& word, std::vector<protocol::HistoryJobName>& jobs) {
  protocol::HistoryJobName name;
  std::string_view text = word;
  const size_t dot = text.find('.');
  const std::string_view job_text = text.substr(0, dot);
  const size_t mark = job_text.find_first_of("_+");
  const std::string number(job_text.substr(0, mark));
  const auto job = to_number<uint32_t>(number);
  if (!job || *job == kNoJob) return failure("Bad job/step specified: " + word);
  name.job = *job;
  if (dot != text.npos) {
    const auto step = parse_step_number(text.substr(dot + 1));
    if (!step) return failure("Bad step specified: " + number);
    name.step = *step;
  }
  if (mark != job_text.npos && job_text[mark] == '_') {
    const auto tasks = IndexSet::parse_tasks(job_text.substr(mark + 1));
    if (!tasks || tasks->empty() || tasks->size() + jobs.size() > kMostNamedJobs)
      return failure("Bad job array element specified: " + number);
    tasks->for_each([&](uint32_t task) {
      name.task = task;
      jobs.push_back(name);
    });
    return {};
  }
  if (mark != job_text.npos) {
    const auto offset = to_number<uint32_t>(job_text.substr(mark + 1));
    if (!offset) return failure("Bad hetjob offset specified: " + number);
    name.offset = *offset;
  }
  jobs.push_back(name);
  return {};
}

// Commas between brackets are of a list of tasks.
std::vector<std::string> job_words(const std::string& list) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) words.emplace_back();
    else words.back() += c;
  }
  std::erase(words, "");
  return words;
}

}  // namespace

Status add_job_names(const std::string& list, std::vector<protocol::HistoryJobName>& jobs) {
  for (const std::string& word : job_words(list))
    if (auto ok = add_job(word, jobs); !ok) return ok;
  return {};
}

}  // namespace sluice::cli
