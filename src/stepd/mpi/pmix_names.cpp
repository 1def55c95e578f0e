#include "stepd/mpi/pmix_names.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/wire/codec.hpp"
#include "stepd/mpi/pmix_info.hpp"

namespace sluice::stepd {

using protocol::MpiMessage;
using protocol::MpiMessageKind;
using protocol::PublishedName;

namespace {

// The rank and the value of what pack_published() made; the value is to be destructed.
std::optional<pmix_rank_t> unpack_published(const PmixLibrary& library, std::string bytes,
                                            pmix_value_t& value) {
  const size_t colon = bytes.find(':');
  const auto rank = to_number<pmix_rank_t>(std::string_view(bytes).substr(0, colon));
  if (!rank || colon == std::string::npos) return std::nullopt;
  pmix_data_buffer_t buffer{};
  buffer.base_ptr = bytes.data() + colon + 1;
  buffer.unpack_ptr = buffer.base_ptr;
  buffer.bytes_used = buffer.bytes_allocated = bytes.size() - colon - 1;
  buffer.pack_ptr = buffer.base_ptr + buffer.bytes_used;
  int32_t count = 1;
  if (library.data_unpack(nullptr, &buffer, &value, &count, PMIX_VALUE) != PMIX_SUCCESS)
    return std::nullopt;
  return rank;
}

// Gives libpmix what was found; it copies it.
void give(const PmixLibrary& library, const std::string& job_namespace, pmix_status_t status,
          const std::vector<PublishedName>& found, pmix_lookup_cbfunc_t done, void* context) {
  std::vector<pmix_pdata_t> data;
  for (const PublishedName& each : found) {
    pmix_pdata_t item{};
    const auto rank = unpack_published(library, each.value, item.value);
    if (!rank) continue;
    copy_name(item.proc.nspace, job_namespace, sizeof item.proc.nspace);
    item.proc.rank = *rank;
    copy_name(item.key, each.name, sizeof item.key);
    data.push_back(item);
  }
  if (data.empty() && status == PMIX_SUCCESS) status = PMIX_ERR_NOT_FOUND;
  done(status, data.data(), data.size(), context);
  for (pmix_pdata_t& item : data) library.value_destruct(&item.value);
}

}  // namespace

std::string pack_published(const PmixLibrary& library, pmix_rank_t rank,
                           const pmix_value_t& value) {
  pmix_data_buffer_t buffer{};
  pmix_value_t shallow = value;  // is not changed
  const pmix_status_t status = library.data_pack(nullptr, &buffer, &shallow, 1, PMIX_VALUE);
  std::string out;
  if (status == PMIX_SUCCESS)
    out = fmt::format("{}:{}", rank, std::string_view(buffer.base_ptr, buffer.bytes_used));
  ::free(buffer.base_ptr);
  return out;
}

void PmixNames::ask(const RequestPtr& request, MpiMessage message, std::string key) {
  message.name = fmt::format("names.{}", ++last_question_);
  ++request->left;
  questions_[message.name] = {request, std::move(key), message.kind == MpiMessageKind::kLookup};
  host_.share(message);
}

void PmixNames::finish(Request& request) {
  request.timer.cancel();
  if (auto done = std::exchange(request.done, nullptr)) done(request);
}

void PmixNames::publish(const std::vector<PublishedName>& names, pmix_op_cbfunc_t done,
                        void* context) {
  if (alone_) return done(PMIX_ERR_LOST_CONNECTION, context);
  if (names.empty()) return done(PMIX_SUCCESS, context);
  const auto request = std::make_shared<Request>(host_.io);
  request->done = [done, context](Request& over) { done(over.status, context); };
  for (const PublishedName& each : names) {
    MpiMessage message;
    message.kind = MpiMessageKind::kPublish;
    message.data = wire::encode(each);
    ask(request, std::move(message), each.name);
  }
}

void PmixNames::unpublish(const std::vector<std::string>& keys, pmix_op_cbfunc_t done,
                          void* context) {
  if (alone_) return done(PMIX_ERR_LOST_CONNECTION, context);
  if (keys.empty()) return done(PMIX_SUCCESS, context);
  const auto request = std::make_shared<Request>(host_.io);
  request->done = [done, context](Request& over) { done(over.status, context); };
  for (const std::string& key : keys) {
    MpiMessage message;
    message.kind = MpiMessageKind::kUnpublish;
    message.data = key;
    ask(request, std::move(message), key);
  }
}

void PmixNames::look_up(const PmixLibrary& library, const std::vector<std::string>& keys,
                        const Wish& wish, pmix_lookup_cbfunc_t done, void* context) {
  if (alone_ || keys.empty())
    return done(alone_ ? PMIX_ERR_LOST_CONNECTION : PMIX_ERR_NOT_FOUND, nullptr, 0, context);
  const auto request = std::make_shared<Request>(host_.io);
  request->done = [this, &library, done, context](Request& over) {
    give(library, namespace_, over.status, over.found, done, context);
  };
  if (wish.wait && wish.timeout_s > 0) {
    request->timer.expires_after(std::chrono::seconds(wish.timeout_s));
    request->timer.async_wait([request](const boost::system::error_code& error) {
      if (error) return;
      request->status = PMIX_ERR_TIMEOUT;
      finish(*request);
    });
  }
  for (const std::string& key : keys) {
    MpiMessage message;
    message.kind = MpiMessageKind::kLookup;
    message.data = key;
    message.status = wish.wait ? protocol::kWaitForName : 0;
    ask(request, std::move(message), key);
  }
}

bool PmixNames::answered(const MpiMessage& message) {
  auto question = questions_.extract(message.name);
  if (!question) return false;
  const auto& [request, key, look_up] = question.mapped();
  if (look_up && message.status == 0) {
    request->found.push_back({key, message.data});
  } else if (!look_up && message.status != 0) {
    request->status =
        message.status == protocol::kNameTaken ? PMIX_ERR_DUPLICATE_KEY : PMIX_ERR_NOT_FOUND;
  }
  if (--request->left == 0) finish(*request);
  return true;
}

void PmixNames::alone() {
  alone_ = true;
  for (const auto& [name, question] : std::exchange(questions_, {})) {
    question.request->status = PMIX_ERR_LOST_CONNECTION;
    finish(*question.request);
  }
}

}  // namespace sluice::stepd
