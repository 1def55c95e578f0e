// Records of jobs as they are sent to who asks: about how long they are, and the long ones cut. A
// chunk of a stream has to fit a message, whatever texts users gave to their jobs.
#pragma once

#include "common/protocol/job_query.hpp"

namespace sluice::ctld {

inline constexpr size_t kMostRecordBytes = size_t{1} << 20;

// About as many bytes as it takes encoded; not less by much.
[[nodiscard]] size_t record_bytes(const protocol::JobRecord& record);

// Cuts the texts of a record that takes more than kMostRecordBytes, those of its steps too: who
// looks at a queue has no use for a megabyte of one job's arguments. Returns its bytes afterwards.
size_t cut_long_texts(protocol::JobRecord& record);

}  // namespace sluice::ctld
