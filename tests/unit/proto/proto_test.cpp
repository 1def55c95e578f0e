// The files of proto/ are in step with the structs, and libprotobuf reads our bytes by them.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "common/protocol/ctld.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/node_query.hpp"
#include "common/protocol/protocol_version.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/tools/schema_files.hpp"
#include "unit/wire/fill.hpp"

namespace sluice {
namespace {

namespace pb = google::protobuf;

std::string read_file(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class Schemas : public testing::Test {
 protected:
  Schemas() {
    pb::FileDescriptorSet files;
    EXPECT_TRUE(files.ParseFromString(read_file(PROTO_DESCRIPTORS)));
    for (const pb::FileDescriptorProto& file : files.file()) {
      EXPECT_NE(pool_.BuildFile(file), nullptr) << file.name();
    }
  }

  // The message of this type ("sluice.journal.v1.Event"), parsed by libprotobuf.
  std::unique_ptr<pb::Message> parse(const std::string& type, const std::string& bytes) {
    const pb::Descriptor* descriptor = pool_.FindMessageTypeByName(type);
    if (descriptor == nullptr) return nullptr;
    std::unique_ptr<pb::Message> message(factory_.GetPrototype(descriptor)->New());
    EXPECT_TRUE(message->ParseFromString(bytes)) << type;
    return message;
  }

  // What libprotobuf parses and writes again means the same to us.
  template <class T>
  void expect_same(const std::string& type, const T& value) {
    SCOPED_TRACE(type);
    const std::string bytes = wire::encode(value);
    const std::unique_ptr<pb::Message> message = parse(type, bytes);
    ASSERT_NE(message, nullptr);
    expect_nothing_unknown(*message);
    const Result<T> back = wire::decode<T>(message->SerializeAsString());
    ASSERT_TRUE(back);
    EXPECT_EQ(wire::encode(*back), bytes);
  }

  static void expect_nothing_unknown(const pb::Message& message) {
    const pb::Reflection* reflection = message.GetReflection();
    EXPECT_TRUE(reflection->GetUnknownFields(message).empty()) << message.GetTypeName();
    std::vector<const pb::FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const pb::FieldDescriptor* field : fields) {
      if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) expect_nothing_unknown(reflection->GetMessage(message, field));
      for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i) {
        expect_nothing_unknown(reflection->GetRepeatedMessage(message, field, i));
      }
    }
  }

  // Those of the package sluice.v1 that a program sends by themselves.
  std::set<std::string> wire_messages() {
    std::set<std::string> names;
    for (const auto& [name, decoder] : message_decoders()) {
      if (pool_.FindMessageTypeByName("sluice.v1." + name) != nullptr) names.insert(name);
    }
    return names;
  }

  static const pb::FieldDescriptor* field(const pb::Message& message, const char* name) {
    return message.GetDescriptor()->FindFieldByName(name);
  }

 private:
  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory factory_;
};

TEST_F(Schemas, AreInStepWithTheStructs) {
  for (const auto& [name, text] : schema_files()) {
    EXPECT_TRUE(read_file("proto/" + name) == text)
        << "proto/" << name << " is old: run build/dev/tools/sluice_schema proto, look at the "
        << "difference (a number or default must never change), and commit it";
  }
}

TEST_F(Schemas, HoldEveryStructOfTheProtocol) {
  std::string all;
  for (const auto& [name, text] : schema_files()) all += text;
  const std::regex opening("(?:^|\n)struct (\\w+) \\{");
  for (const auto& entry : std::filesystem::directory_iterator("src/common/protocol")) {
    const std::string text = read_file(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), opening), end; at != end; ++at) {
      EXPECT_NE(all.find("message " + (*at)[1].str() + " {"), std::string::npos)
          << (*at)[1] << " of " << entry.path() << " is missing in src/ctld/tools/schema_files.cpp";
    }
  }
}

TEST_F(Schemas, NoMessageStandsTwice) {
  std::map<std::string, std::string> places;  // of its text
  for (const auto& [name, text] : schema_files()) {
    for (size_t at = text.find("\nmessage "); at != std::string::npos;) {
      const size_t next = text.find("\nmessage ", at + 1);
      const std::string message = text.substr(at, next == std::string::npos ? next : next - at);
      const auto [place, fresh] = places.emplace(message, name);
      EXPECT_TRUE(fresh) << message << "stands in " << place->second << " and " << name;
      at = next;
    }
  }
  EXPECT_FALSE(places.empty());
}

TEST_F(Schemas, EveryEventParsesAlike) {
  for (const state::Event& event : test::all_alternatives<state::Event>()) {
    expect_same("sluice.journal.v1.Event", event);
  }
  journal::JournalFrame frame;
  frame.format = journal::kEventFormat;
  frame.events = test::all_alternatives<state::Event>();
  expect_same("sluice.journal.v1.JournalFrame", frame);
  EXPECT_EQ(journal::encode_frame(1, kNoTime, frame.events).bytes, wire::encode(frame));
  expect_same("sluice.journal.v1.StateImage", test::filled<state::StateImage>());
}

TEST_F(Schemas, MessagesOfCommandsParseAlike) {
  using namespace protocol;  // NOLINT(google-build-using-namespace)
  expect_same("sluice.v1.SubmitJobRequest", test::filled<SubmitJobRequest>());
  expect_same("sluice.v1.JobChunk", test::filled<JobChunk>());
  expect_same("sluice.v1.QueryNodesReply", test::filled<QueryNodesReply>());
  expect_same("sluice.v1.UpdatePartitionRequest", test::filled<UpdatePartitionRequest>());
}

// A value other than its default; what is a list in text (nodes, tasks) is one.
void fill_scalar(pb::Message& message, const pb::FieldDescriptor* field) {
  const pb::Reflection* reflection = message.GetReflection();
  const auto put = [&](auto set, auto add, auto value) {
    if (!field->is_repeated()) return set(&message, field, value);
    for (int i = 0; i < 2; ++i) add(&message, field, value);
  };
#define SLUICE_PUT(Type, value)                        \
  put([&](auto... a) { reflection->Set##Type(a...); }, \
      [&](auto... a) { reflection->Add##Type(a...); }, value)
  const int number = 100 + field->number() % 100;
  switch (field->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_BOOL: return SLUICE_PUT(Bool, !field->default_value_bool());
    case pb::FieldDescriptor::CPPTYPE_DOUBLE: return SLUICE_PUT(Double, number + 0.25);
    case pb::FieldDescriptor::CPPTYPE_STRING: return SLUICE_PUT(String, std::string("1-3,7"));
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      const pb::EnumDescriptor* values = field->enum_type();
      const int last = values->value_count() - 1;
      const bool is_default = values->value(last) == field->default_value_enum();
      return SLUICE_PUT(Enum, values->value(is_default ? 0 : last));
    }
    case pb::FieldDescriptor::CPPTYPE_INT32: return SLUICE_PUT(Int32, -number);
    case pb::FieldDescriptor::CPPTYPE_INT64: return SLUICE_PUT(Int64, -int64_t{number});
    case pb::FieldDescriptor::CPPTYPE_UINT32: return SLUICE_PUT(UInt32, uint32_t(number));
    case pb::FieldDescriptor::CPPTYPE_UINT64: return SLUICE_PUT(UInt64, uint64_t(number));
    default: FAIL() << field->full_name();
  }
#undef SLUICE_PUT
}

// Every field, three messages deep.
void fill_message(pb::Message& message, int depth = 0) {
  const pb::Reflection* reflection = message.GetReflection();
  const pb::Descriptor* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const pb::FieldDescriptor* field = type->field(i);
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) fill_scalar(message, field);
    else if (depth == 3) continue;
    else if (field->is_repeated())
      fill_message(*reflection->AddMessage(&message, field), depth + 1);
    else fill_message(*reflection->MutableMessage(&message, field), depth + 1);
  }
}

// What differs; a part that is not sent and one that holds nothing are the same.
std::string difference(const pb::Message& a, const pb::Message& b) {
  pb::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(pb::util::MessageDifferencer::EQUIVALENT);
  std::string text;
  differencer.ReportDifferencesToString(&text);
  return differencer.Compare(a, b) ? "" : text;
}

const std::filesystem::path kCorpus = "tests/corpus/wire";

TEST_F(Schemas, WhatLibprotobufWritesIsReadWhole) {
  const std::set<std::string> names = wire_messages();
  EXPECT_GT(names.size(), 100);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto message = parse("sluice.v1." + name, {});
    ASSERT_NE(message, nullptr);
    fill_message(*message);
    const auto ours = message_decoders().at(name)(message->SerializeAsString());
    ASSERT_TRUE(ours);
    const auto back = parse("sluice.v1." + name, *ours);
    EXPECT_EQ(difference(*message, *back), "");
  }
}

// Messages as each landed version of the protocol wrote them, in a folder of its number.
TEST_F(Schemas, MessagesOfEarlierVersionsAreReadWhole) {
  const auto decoders = message_decoders();
  size_t read = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(kCorpus)) {
    if (!file.is_regular_file()) continue;
    SCOPED_TRACE(file.path());
    const auto decoder = decoders.find(file.path().filename());
    ASSERT_NE(decoder, decoders.end()) << "a message that was sent once must stay readable";
    const std::string bytes = read_file(file.path());
    const auto again = decoder->second(bytes);
    ASSERT_TRUE(again);
    const std::string type = "sluice.v1." + decoder->first;
    EXPECT_EQ(difference(*parse(type, bytes), *parse(type, *again)), "");
    ++read;
  }
  EXPECT_GT(read, 100U);
}

// Run by hand when a version is about to land:  unit_proto --gtest_also_run_disabled_tests
// --gtest_filter='*Corpus*'
TEST_F(Schemas, DISABLED_WriteCorpus) {
  const auto folder = kCorpus / std::to_string(protocol::kProtocolVersion);
  std::filesystem::create_directories(folder);
  for (const std::string& name : wire_messages()) {
    const auto message = parse("sluice.v1." + name, {});
    fill_message(*message);
    std::ofstream(folder / name, std::ios::binary) << message->SerializeAsString();
  }
}

TEST_F(Schemas, ValuesMeanTheSame) {
  state::JobCompleting event;
  event.job = 4'000'000'000;
  event.exit_status = -15;
  event.description = "\xff";
  event.time = from_seconds(1'800'000'000);
  const auto message = parse("sluice.journal.v1.JobCompleting", wire::encode(event));
  ASSERT_NE(message, nullptr);
  const pb::Reflection* reflection = message->GetReflection();
  EXPECT_EQ(reflection->GetUInt32(*message, field(*message, "job")), 4'000'000'000);
  EXPECT_EQ(reflection->GetInt32(*message, field(*message, "exit_status")), -15);
  EXPECT_EQ(reflection->GetString(*message, field(*message, "description")), "\xff");
  EXPECT_EQ(reflection->GetInt64(*message, field(*message, "time")), 1'800'000'000'000'000);
  // not sent, and the schema knows the default
  EXPECT_FALSE(reflection->HasField(*message, field(*message, "cancelled_by")));
  EXPECT_EQ(reflection->GetUInt32(*message, field(*message, "cancelled_by")), UINT32_MAX);
}

}  // namespace
}  // namespace sluice
