// Generic resources (GRES): devices such as GPUs, or things that are only counted. What a node has,
// what of it jobs and steps hold, and the texts of both.
//
// A unit is one device file; the units of a name are numbered through on a node, in the order in
// which its agent registered them, whatever their type. Shared resources (shard, mps) are parts of
// GPUs: their units are those of "gpu", and each unit serves either whole or in parts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/describe.hpp"
#include "common/base/shared_text.hpp"

namespace sluice {

// Devices of one name and type as a node registers them.
struct GresDevices {
  std::string name;
  std::string type;                // empty: none
  uint64_t count = 0;              // of units; of parts where the resource is shared
  std::vector<std::string> files;  // one a unit; empty: they are only counted
  std::string cores;               // cores that are near, "0-7"; empty: all
  std::string links;               // by unit, "-1,16,16,16": how well it is connected to each other
  std::vector<std::string> flags;  // of gres.conf, lower case
  friend bool operator==(const GresDevices&, const GresDevices&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &GresDevices::name);
    field(2, "type", &GresDevices::type);
    field(3, "count", &GresDevices::count);
    field(4, "files", &GresDevices::files);
    field(5, "cores", &GresDevices::cores);
    field(6, "links", &GresDevices::links);
    field(7, "flags", &GresDevices::flags);
  }
};

// What is held of one name and type on a node.
struct GresShare {
  SharedText name;
  SharedText type;  // of the devices; empty: they have none
  uint64_t count = 0;
  Bitmap units;  // which ones; none where they are only counted
  // of a shared resource: how many of each unit, in the order of `units`
  std::vector<uint32_t> parts;
  bool no_consume = false;  // nobody has less of it for that
  friend bool operator==(const GresShare&, const GresShare&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &GresShare::name);
    field(2, "type", &GresShare::type);
    field(3, "count", &GresShare::count);
    field(4, "units", &GresShare::units);
    field(5, "parts", &GresShare::parts);
    field(6, "no_consume", &GresShare::no_consume);
  }
};
using GresShares = std::vector<GresShare>;  // at most one a name and type

// A wish, or an item of Gres= in slurm.conf.
struct GresItem {
  SharedText name;
  SharedText type;  // empty: any
  uint64_t count = 1;
  bool no_consume = false;  // of Gres= in slurm.conf
  friend bool operator==(const GresItem&, const GresItem&) = default;
};
// Items of "gpu:a100:2,fan", each with or without "gres/" in front; what is in brackets behind an
// item is passed over. nullopt: malformed.
[[nodiscard]] std::optional<std::vector<GresItem>> gres_items(std::string_view text);
[[nodiscard]] bool is_shared_gres(std::string_view name);  // shard, mps
[[nodiscard]] bool names_gpu(std::string_view list);       // an item of it is of GPUs

// What a node has of one name and type, for jobs to be placed.
struct GresKind {
  SharedText name;
  SharedText type;
  uint64_t count = 0;
  Bitmap units;                 // none: only counted
  std::vector<uint32_t> parts;  // of a shared resource: what each unit gives
  bool no_consume = false;      // any number of jobs may have all of it
  bool one_unit = false;        // of a shared resource: a job has parts of one unit of a node only
};
struct GresInventory {
  struct Near {
    SharedText name;
    std::vector<Bitmap> cores;  // by unit; none set: all cores are near
    // by unit: how well it is connected to each other one; empty: not told
    std::vector<std::vector<int32_t>> links;
  };
  std::vector<GresKind> kinds;  // in the order of Gres=
  std::vector<Near> near;       // for names whose units are near some cores

  // Cores near a unit; null: all.
  [[nodiscard]] const Bitmap* near_cores(std::string_view name, size_t unit) const;
  // How well two units are connected; 0: not at all, or not told.
  [[nodiscard]] int32_t link(std::string_view name, size_t unit, size_t other) const;
  [[nodiscard]] bool has_links(std::string_view name) const;
};
// What jobs may use: as much as `configured` (Gres= of the node) says, with the devices that the
// node registered. Null when that is nothing.
[[nodiscard]] std::shared_ptr<const GresInventory> make_inventory(
    std::string_view configured, const std::vector<GresDevices>& found);
// How many there are in all of a name; of a type of it, where `type` is not empty.
[[nodiscard]] uint64_t count_devices(const std::vector<GresDevices>& found, std::string_view name,
                                     std::string_view type);

// What is free of a kind while `used` is held by others.
struct GresFree {
  uint64_t count = 0;
  Bitmap units;                 // with anything left
  std::vector<uint32_t> parts;  // of a shared resource, in the order of `units`
};
[[nodiscard]] GresFree free_of(const GresKind& kind, const GresShares& used);

void add_shares(GresShares& sum, const GresShares& more);
// nothing is left of what becomes none
void remove_shares(GresShares& sum, const GresShares& less);
[[nodiscard]] bool same_shares(const GresShares& a, const GresShares& b);  // in any order
// So many of a name, and of a type of it where `type` is not empty, out of what is free; fewer when
// there are no more.
[[nodiscard]] GresShares take_shares(const GresShares& free, std::string_view name,
                                     std::string_view type, uint64_t count);
[[nodiscard]] uint64_t count_of(const GresShares& shares, std::string_view name,
                                std::string_view type = {});
// Everything that a node has.
[[nodiscard]] GresShares all_of(const GresInventory& inventory);
// Whether the inventory has all of `wanted` free.
[[nodiscard]] bool has_free(const GresInventory& inventory, const GresShares& used,
                            const GresShares& wanted);

// "gpu:a100:2,fan:1", and with the units: "gpu:a100:2(IDX:0-1),fan:1(CNT:1)".
[[nodiscard]] std::string gres_text(const GresShares& shares, bool with_units);
// GresUsed: each kind of the node, also unused ones: "gpu:a100:1(IDX:0),fan:0".
[[nodiscard]] std::string used_gres_text(const GresInventory& inventory, const GresShares& used);

}  // namespace sluice
