// The codec of the large structs is compiled once, in instances.cpp: they are part of many
// messages, and every file that sends one would compile it again. Include this instead of codec.hpp
// where messages are sent; a struct that is missing here only costs build time.
#pragma once

#include "common/wire/codec.hpp"

namespace sluice {
struct Allocation;
struct ArrayInfo;
struct ClusterConfig;
struct Job;
struct JobSpec;
struct JobUpdate;
struct Node;
struct NodeAllocation;
struct NodeConfig;
struct NodeHardware;
struct PartitionConfig;
struct SchedulerHints;
struct Step;
struct StepLayout;
struct StepSpec;
struct TYPE;
}  // namespace sluice

#define SLUICE_CODEC_INSTANCES(PREFIX)           \
  SLUICE_CODEC_INSTANCE(PREFIX, Allocation)      \
  SLUICE_CODEC_INSTANCE(PREFIX, ArrayInfo)       \
  SLUICE_CODEC_INSTANCE(PREFIX, ClusterConfig)   \
  SLUICE_CODEC_INSTANCE(PREFIX, Job)             \
  SLUICE_CODEC_INSTANCE(PREFIX, SchedulerHints)  \
  SLUICE_CODEC_INSTANCE(PREFIX, JobSpec)         \
  SLUICE_CODEC_INSTANCE(PREFIX, JobUpdate)       \
  SLUICE_CODEC_INSTANCE(PREFIX, Node)            \
  SLUICE_CODEC_INSTANCE(PREFIX, NodeAllocation)  \
  SLUICE_CODEC_INSTANCE(PREFIX, NodeConfig)      \
  SLUICE_CODEC_INSTANCE(PREFIX, NodeHardware)    \
  SLUICE_CODEC_INSTANCE(PREFIX, PartitionConfig) \
  SLUICE_CODEC_INSTANCE(PREFIX, Step)            \
  SLUICE_CODEC_INSTANCE(PREFIX, StepLayout)      \
  SLUICE_CODEC_INSTANCE(PREFIX, StepSpec)

// (the prefix is `extern` or nothing)  NOLINTBEGIN(bugprone-macro-parentheses)
#define SLUICE_CODEC_INSTANCE(PREFIX, TYPE)                                                  \
  PREFIX template void sluice::wire::detail::put_message(std::string&, const sluice::TYPE&); \
  PREFIX template void sluice::wire::detail::get_message(sluice::wire::detail::Reader&,      \
                                                         sluice::TYPE&);
// NOLINTEND(bugprone-macro-parentheses)

SLUICE_CODEC_INSTANCES(extern)
