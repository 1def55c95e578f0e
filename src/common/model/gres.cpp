#include "common/model/gres.hpp"

#include <algorithm>
#include <numeric>

#include "common/base/bounded.hpp"
#include "common/base/contains.hpp"
#include "common/base/text.hpp"

namespace sluice {
namespace {

constexpr std::string_view kGpu = "gpu";

// "2", "4K": a binary suffix as gres.conf and --gres take it.
std::optional<uint64_t> item_count(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTP";
  if (text.empty()) return std::nullopt;
  const size_t unit =
      kUnits.find(static_cast<char>(text.back() >= 'a' ? text.back() - 'a' + 'A' : text.back()));
  const uint32_t shift = unit == kUnits.npos ? 0 : static_cast<uint32_t>(10 * (unit + 1));
  if (shift != 0) text.remove_suffix(1);
  const auto number = to_number<uint64_t>(text);
  if (!number || *number > UINT32_MAX) return std::nullopt;
  return bounded_product(*number, uint64_t{1} << shift);
}

std::optional<GresItem> one_item(std::string_view text) {
  if (text.starts_with("gres/") || text.starts_with("gres:")) text.remove_prefix(5);
  text = text.substr(0, text.find('('));
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '=', ':');
  std::vector<std::string> parts = split(plain, ':');
  const bool no_consume = std::erase(parts, "no_consume") > 0 && !parts.empty();
  if (parts.empty() || parts.size() > 3 || std::ranges::any_of(parts, &std::string::empty))
    return std::nullopt;
  GresItem item;
  item.name = parts[0];
  item.no_consume = no_consume;
  if (parts.size() == 1) return item;
  const auto count = item_count(parts.back());
  if (!count && parts.size() == 3) return std::nullopt;
  if (count) item.count = *count;
  if (!count || parts.size() == 3) item.type = parts[1];
  return item;
}

// Commas inside brackets separate nothing: "gpu:2(S:0,1),fan".
std::vector<std::string> item_texts(std::string_view text) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0) items.emplace_back();
    else if (c != ' ') items.back() += c;
  }
  std::erase_if(items, [](const std::string& item) { return item.empty(); });
  return items;
}

GresShare* find_share(GresShares& shares, const SharedText& name, const SharedText& type) {
  const auto at = std::ranges::find_if(
      shares, [&](const GresShare& share) { return share.name == name && share.type == type; });
  return at == shares.end() ? nullptr : &*at;
}

// The devices of one name with their numbers.
struct Found {
  const GresDevices* devices = nullptr;
  size_t first = 0;  // number of its first unit
};
std::vector<Found> devices_of(const std::vector<GresDevices>& found, std::string_view name) {
  std::vector<Found> out;
  size_t next = 0;
  for (const GresDevices& devices : found) {
    if (devices.name != name) continue;
    out.push_back({&devices, next});
    next += devices.files.size();
  }
  return out;
}

GresKind& kind_of(GresInventory& inventory, std::string_view name, std::string_view type) {
  for (GresKind& kind : inventory.kinds) {
    if (kind.name == name && kind.type == type) return kind;
  }
  GresKind& kind = inventory.kinds.emplace_back();
  kind.name = name;
  kind.type = type;
  return kind;
}

// "-1,16,16,16": what is no number is no connection.
std::vector<int32_t> links_of(const GresDevices& devices) {
  std::vector<int32_t> out;
  for (const std::string& number : split_list(devices.links))
    out.push_back(to_number<int32_t>(number).value_or(0));
  return out;
}

void add_near(GresInventory& inventory, std::string_view name, const std::vector<Found>& found) {
  if (std::ranges::any_of(inventory.near, [&](const auto& near) { return near.name == name; }))
    return;
  const auto told = [](const Found& f) {
    return !f.devices->cores.empty() || !f.devices->links.empty();
  };
  if (std::ranges::none_of(found, told)) return;
  GresInventory::Near near;
  near.name = name;
  for (const Found& f : found) {
    const Bitmap cores = Bitmap::from_text(f.devices->cores).value_or(Bitmap());
    near.cores.insert(near.cores.end(), f.devices->files.size(), cores);
    near.links.insert(near.links.end(), f.devices->files.size(), links_of(*f.devices));
  }
  inventory.near.push_back(std::move(near));
}

// Up to `most` of an item of Gres=; the devices' own types count where the item has none.
void add_item(GresInventory& inventory, const GresItem& item,
              const std::vector<GresDevices>& found) {
  const std::vector<Found> all = devices_of(found, item.name);
  const bool typed =
      std::ranges::any_of(all, [&](const Found& f) { return f.devices->type == item.type.view(); });
  uint64_t left = item.count;
  for (const Found& f : all) {
    const GresDevices& devices = *f.devices;
    if (!item.type.empty() && devices.type != item.type.view() && (typed || !devices.type.empty()))
      continue;
    const uint64_t taken = std::min(left, devices.count);
    if (taken == 0) continue;
    GresKind& kind =
        kind_of(inventory, item.name, item.type.empty() ? devices.type : item.type.view());
    kind.count += taken;
    kind.no_consume = kind.no_consume || item.no_consume;
    left -= taken;
    if (!devices.files.empty() && !is_shared_gres(item.name)) {
      kind.units.set_range(f.first, f.first + std::min<size_t>(taken, devices.files.size()));
    }
  }
  if (left > 0) {  // not registered, or not yet
    GresKind& kind = kind_of(inventory, item.name, item.type);
    kind.count += left;
    kind.no_consume = kind.no_consume || item.no_consume;
  }
  if (!is_shared_gres(item.name)) add_near(inventory, item.name, all);
}

// Parts of GPUs: those of lines with files go to these, the others evenly to all.
void deal_parts(GresInventory& inventory, const std::vector<GresDevices>& found) {
  const std::vector<Found> gpus = devices_of(found, kGpu);
  Bitmap units;
  for (const GresKind& kind : inventory.kinds) {
    if (kind.name == kGpu) units |= kind.units;
  }
  for (GresKind& kind : inventory.kinds) {
    if (!is_shared_gres(kind.name) || units.none()) continue;
    std::vector<uint32_t> by_unit(units.find_last() + 1);
    uint64_t left = kind.count;
    for (const GresDevices& line : found) {
      if (line.name != kind.name.view() || line.files.empty()) continue;
      const uint64_t each = line.count / line.files.size();
      for (const Found& gpu : gpus) {
        for (size_t i = 0; i < gpu.devices->files.size(); ++i) {
          const size_t unit = gpu.first + i;
          if (!units.test(unit) ||
              std::ranges::find(line.files, gpu.devices->files[i]) == line.files.end())
            continue;
          const uint64_t taken = std::min(left, each);
          by_unit[unit] += static_cast<uint32_t>(taken);
          left -= taken;
        }
      }
    }
    if (left == kind.count) {
      size_t later = units.count();
      units.for_each([&](size_t unit) {
        const uint64_t taken = (left + later - 1) / later;
        --later;
        by_unit[unit] = static_cast<uint32_t>(taken);
        left -= taken;
      });
    }
    kind.count -= left;
    for (size_t unit = 0; unit < by_unit.size(); ++unit) {
      if (by_unit[unit] == 0) continue;
      kind.units.set(unit);
      kind.parts.push_back(by_unit[unit]);
    }
  }
}

// Flags=one_sharing or all_sharing of gres.conf; without either, parts for MPS are of one GPU and
// shards of any.
bool serves_by_one_unit(const std::vector<GresDevices>& found, std::string_view name) {
  const auto has = [&](std::string_view flag) {
    return std::ranges::any_of(found, [&](const GresDevices& devices) {
      return devices.name == name && contains(devices.flags, flag);
    });
  };
  return has("one_sharing") || (name == "mps" && !has("all_sharing"));
}

// The parts of a share by unit, for sums.
std::vector<uint32_t> parts_by_unit(const GresShare& share, size_t size) {
  std::vector<uint32_t> out(size);
  size_t at = 0;
  share.units.for_each([&](size_t unit) {
    if (unit < size && at < share.parts.size()) out[unit] = share.parts[at];
    ++at;
  });
  return out;
}

void set_parts(GresShare& share, const std::vector<uint32_t>& by_unit) {
  share.units.clear();
  share.parts.clear();
  for (size_t unit = 0; unit < by_unit.size(); ++unit) {
    if (by_unit[unit] == 0) continue;
    share.units.set(unit);
    share.parts.push_back(by_unit[unit]);
  }
}

void change_parts(GresShare& sum, const GresShare& other, bool more) {
  Bitmap both = sum.units;
  both |= other.units;
  const size_t size = both.none() ? 0 : both.find_last() + 1;
  std::vector<uint32_t> parts = parts_by_unit(sum, size);
  const std::vector<uint32_t> theirs = parts_by_unit(other, size);
  for (size_t unit = 0; unit < size; ++unit) {
    parts[unit] =
        more ? parts[unit] + theirs[unit] : parts[unit] - std::min(parts[unit], theirs[unit]);
  }
  set_parts(sum, parts);
}

// Units of a name that are held by others than those who may share them with `kind`.
Bitmap taken_units(const GresKind& kind, const GresShares& used) {
  Bitmap taken;
  const bool shared = is_shared_gres(kind.name);
  for (const GresShare& share : used) {
    const bool parts_of_gpu = kind.name == kGpu && is_shared_gres(share.name);
    const bool gpu_of_parts =
        shared && (share.name == kGpu || (is_shared_gres(share.name) && share.name != kind.name));
    if (parts_of_gpu || gpu_of_parts || (!shared && share.name == kind.name)) taken |= share.units;
  }
  return taken;
}

}  // namespace

std::optional<std::vector<GresItem>> gres_items(std::string_view text) {
  constexpr size_t kMostBytes = size_t{64} << 10, kMostItems = 512;  // each is compared with each
  std::vector<GresItem> items;
  if (text.size() > kMostBytes) return std::nullopt;
  for (const std::string& piece : item_texts(text)) {
    // --tres-per-task names licenses, too
    if (iequals(piece, "none") || piece.starts_with("license/")) continue;
    auto item = one_item(piece);
    if (!item || items.size() == kMostItems) return std::nullopt;
    items.push_back(std::move(*item));
  }
  return items;
}

bool is_shared_gres(std::string_view name) { return name == "shard" || name == "mps"; }

bool names_gpu(std::string_view list) {
  const auto items = gres_items(list);
  return items &&
         std::ranges::any_of(*items, [](const GresItem& item) { return item.name == kGpu; });
}

const Bitmap* GresInventory::near_cores(std::string_view name, size_t unit) const {
  if (is_shared_gres(name)) name = kGpu;
  for (const Near& each : near) {
    if (each.name != name) continue;
    return unit < each.cores.size() && each.cores[unit].any() ? &each.cores[unit] : nullptr;
  }
  return nullptr;
}

int32_t GresInventory::link(std::string_view name, size_t unit, size_t other) const {
  for (const Near& each : near) {
    if (each.name != name) continue;
    const bool told = unit < each.links.size() && other < each.links[unit].size();
    return told ? std::max(0, each.links[unit][other]) : 0;
  }
  return 0;
}

bool GresInventory::has_links(std::string_view name) const {
  return std::ranges::any_of(near, [&](const Near& each) {
    return each.name == name &&
           std::ranges::any_of(each.links, [](const auto& links) { return !links.empty(); });
  });
}

std::shared_ptr<const GresInventory> make_inventory(std::string_view configured,
                                                    const std::vector<GresDevices>& found) {
  const auto items = gres_items(configured);
  if (!items || items->empty()) return nullptr;
  auto inventory = std::make_shared<GresInventory>();
  for (const GresItem& item : *items) add_item(*inventory, item, found);
  deal_parts(*inventory, found);
  for (GresKind& kind : inventory->kinds) {
    if (is_shared_gres(kind.name)) kind.one_unit = serves_by_one_unit(found, kind.name);
  }
  return inventory;
}

uint64_t count_devices(const std::vector<GresDevices>& found, std::string_view name,
                       std::string_view type) {
  uint64_t sum = 0;
  for (const GresDevices& devices : found) {
    if (devices.name == name && (type.empty() || devices.type.empty() || devices.type == type))
      sum += devices.count;
  }
  return sum;
}

GresFree free_of(const GresKind& kind, const GresShares& used) {
  GresFree out;
  if (kind.no_consume && kind.parts.empty()) {
    out.units = kind.units;
    out.count = kind.count;
    return out;
  }
  if (kind.units.none()) {
    out.count = kind.count - std::min(kind.count, count_of(used, kind.name, kind.type));
    return out;
  }
  out.units = kind.units;
  out.units.and_not(taken_units(kind, used));
  if (kind.parts.empty()) {
    out.count = out.units.count();
    return out;
  }
  GresShare left{kind.name, kind.type, kind.count, kind.units, kind.parts};
  for (const GresShare& share : used) {
    if (share.name == kind.name) change_parts(left, share, false);
  }
  Bitmap gone = left.units;
  gone.and_not(out.units);
  std::vector<uint32_t> parts = parts_by_unit(left, kind.units.find_last() + 1);
  gone.for_each([&](size_t unit) { parts[unit] = 0; });
  set_parts(left, parts);
  out.units = left.units;
  out.parts = left.parts;
  out.count = std::accumulate(out.parts.begin(), out.parts.end(), uint64_t{0});
  return out;
}

void add_shares(GresShares& sum, const GresShares& more) {
  for (const GresShare& share : more) {
    GresShare* mine = find_share(sum, share.name, share.type);
    if (mine == nullptr) {
      sum.push_back(share);
      continue;
    }
    mine->count += share.count;
    if (!share.parts.empty()) change_parts(*mine, share, true);
    else mine->units |= share.units;
  }
}

void remove_shares(GresShares& sum, const GresShares& less) {
  for (const GresShare& share : less) {
    GresShare* mine = find_share(sum, share.name, share.type);
    if (mine == nullptr) continue;
    mine->count -= std::min(mine->count, share.count);
    if (!share.parts.empty()) change_parts(*mine, share, false);
    else mine->units.and_not(share.units);
  }
  std::erase_if(sum, [](const GresShare& share) { return share.count == 0; });
}

bool same_shares(const GresShares& a, const GresShares& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const GresShare& share) {
           return std::ranges::find(b, share) != b.end();
         });
}

GresShares take_shares(const GresShares& free, std::string_view name, std::string_view type,
                       uint64_t count) {
  GresShares out;
  for (const GresShare& share : free) {
    if (share.name != name || (!type.empty() && share.type != type)) continue;
    GresShare part = share;
    part.count = std::min(count, share.count);
    if (part.count == 0) continue;
    count -= part.count;
    if (!part.parts.empty()) {
      uint64_t left = part.count;
      std::vector<uint32_t> by_unit = parts_by_unit(part, part.units.find_last() + 1);
      for (uint32_t& parts : by_unit) {
        parts = static_cast<uint32_t>(std::min<uint64_t>(parts, left));
        left -= parts;
      }
      set_parts(part, by_unit);
    } else if (part.units.any()) {
      part.units = share.units.take_first(part.count);
    }
    out.push_back(std::move(part));
  }
  return out;
}

uint64_t count_of(const GresShares& shares, std::string_view name, std::string_view type) {
  uint64_t sum = 0;
  for (const GresShare& share : shares) {
    if (share.name == name && (type.empty() || share.type == type)) sum += share.count;
  }
  return sum;
}

GresShares all_of(const GresInventory& inventory) {
  GresShares shares;
  for (const GresKind& kind : inventory.kinds) {
    if (kind.count == 0 || is_shared_gres(kind.name)) continue;
    shares.push_back({kind.name,
                      kind.type,
                      kind.units.none() ? kind.count : kind.units.count(),
                      kind.units,
                      {},
                      kind.no_consume});
  }
  return shares;
}

bool has_free(const GresInventory& inventory, const GresShares& used, const GresShares& wanted) {
  return std::ranges::all_of(wanted, [&](const GresShare& share) {
    for (const GresKind& kind : inventory.kinds) {
      if (kind.name != share.name || kind.type != share.type) continue;
      const GresFree free = free_of(kind, used);
      if (free.count < share.count || !free.units.contains(share.units)) return false;
      if (share.parts.empty()) return true;
      const std::vector<uint32_t> have =
          parts_by_unit({{}, {}, 0, free.units, free.parts}, share.units.find_last() + 1);
      const std::vector<uint32_t> want = parts_by_unit(share, have.size());
      return std::equal(have.begin(), have.end(), want.begin(), std::greater_equal<>());
    }
    return false;
  });
}

namespace {

std::string share_text(const GresShare& share, bool with_units) {
  std::string out = share.name.str();
  if (!share.type.empty()) out.append(":").append(share.type.view());
  if (with_units && share.units.none()) return out + "(CNT:" + std::to_string(share.count) + ")";
  out.append(":").append(std::to_string(share.count));
  if (!with_units) return out;
  if (!share.parts.empty()) {  // the parts of each unit in brackets
    std::string parts;
    for (const uint32_t part : share.parts)
      parts.append(parts.empty() ? "" : ",").append(std::to_string(part));
    return out + "(IDX:" + share.units.to_text() + "(" + parts + "))";
  }
  return out + "(IDX:" + share.units.to_text() + ")";
}

}  // namespace

std::string gres_text(const GresShares& shares, bool with_units) {
  std::vector<std::string> out;
  for (const GresShare& share : shares) out.push_back(share_text(share, with_units));
  return join(out, ",");
}

std::string used_gres_text(const GresInventory& inventory, const GresShares& used) {
  std::vector<std::string> out;
  for (const GresKind& kind : inventory.kinds) {
    GresShare share{kind.name, kind.type, 0, {}, {}};
    for (const GresShare& held : used) {
      if (held.name == kind.name && held.type == kind.type && !held.no_consume) share = held;
    }
    if (kind.units.any() && share.count == 0) {
      out.push_back(share_text(share, false) + "(IDX:N/A)");
    } else {
      out.push_back(share_text(share, kind.units.any()));
    }
  }
  return join(out, ",");
}

}  // namespace sluice
