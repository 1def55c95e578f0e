// The files of proto/ are in step with the structs, and libprotobuf reads our bytes by them.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "common/protocol/ctld.hpp"
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
