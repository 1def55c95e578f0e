#include "ctld/fit/features.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace sluice::fit {
namespace {

using Branches = std::vector<Alternatives::Branch>;

// Recursive descent over: expression = term (("&" | "|") term)*, term = (name | "(" expression ")")
// ["*" count] |
// "[" expression "]". Nothing is counted inside parentheses. Brackets hold no others, and what "&"
// joins in them is counted.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<FeatureExpression> parse() {
    Branches branches = expression(0);
    if (!ok_ || at_ != text_.size()) {
      return failure(ErrorCode::kInvalidFeature, "Invalid feature specification");
    }
    if (out_.counts.empty()) out_.any_of = Alternatives(std::move(branches));
    return std::move(out_);
  }

 private:
  static constexpr int kMaxDepth = 20;
  static constexpr size_t kMaxBranches = 256;
  // of all branches together: a few bytes of text can be many
  static constexpr size_t kMaxNames = 4096;

  Branches expression(int depth, bool bracketed = false) {
    size_t counted = out_.counts.size();
    Branches left = term(depth);
    bool all_counted = out_.counts.size() > counted, joined = false;
    while (ok_ && at_ < text_.size() &&
           (text_[at_] == '&' || text_[at_] == '|' || text_[at_] == ',')) {
      const char joint = text_[at_++];
      counted = out_.counts.size();
      Branches right = term(depth);
      all_counted = all_counted && out_.counts.size() > counted;
      joined = joined || joint != '|';
      left = joint == '|' ? either(std::move(left), std::move(right))
                          : both(std::move(left), std::move(right));
    }
    if (bracketed && joined && !all_counted) return fail();
    return left;
  }

  Branches term(int depth) {
    if (depth > kMaxDepth || at_ >= text_.size()) return fail();
    const char c = text_[at_];
    if (c == '(') return group(depth);
    if (c == '[') return brackets(depth);
    const size_t start = at_;
    while (at_ < text_.size() &&
           std::string_view("&|()[]*,").find(text_[at_]) == std::string_view::npos)
      ++at_;
    if (at_ == start) return fail();
    Branches name = {{std::string(text_.substr(start, at_ - start))}};
    if (at_ < text_.size() && text_[at_] == '*') count_of(name);
    return name;
  }

  Branches enclosed(int depth, char end) {
    ++at_;
    Branches inner = expression(depth + 1, end == ']');
    if (at_ >= text_.size() || text_[at_] != end) return fail();
    ++at_;
    return inner;
  }

  Branches brackets(int depth) {
    if (in_brackets_) return fail();
    out_.one_branch_for_all = in_brackets_ = true;
    Branches inner = enclosed(depth, ']');
    in_brackets_ = false;
    return inner;
  }

  Branches group(int depth) {
    const size_t counted = out_.counts.size();
    Branches inner = enclosed(depth, ')');
    if (!ok_ || out_.counts.size() != counted) return fail();
    if (at_ < text_.size() && text_[at_] == '*') count_of(inner);
    return inner;
  }

  void count_of(const Branches& what) {
    uint32_t count = 0;
    const size_t start = ++at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) &&
           count < 1'000'000) {
      count = count * 10 + static_cast<uint32_t>(text_[at_++] - '0');
    }
    if (at_ == start || count == 0) ok_ = false;
    out_.counts.push_back({Alternatives(what), count});
  }

  Branches either(Branches left, Branches right) {
    for (auto& branch : right) left.push_back(std::move(branch));
    if (left.size() > kMaxBranches) return fail();
    return left;
  }
  Branches both(Branches left, Branches right) {
    if (left.size() * right.size() > kMaxBranches) return fail();
    if (count_names(left) * right.size() + count_names(right) * left.size() > kMaxNames)
      return fail();
    if (right.size() == 1) {  // a&a&a…: nothing is copied again and again
      for (auto& branch : left)
        branch.insert(branch.end(), right.front().begin(), right.front().end());
      return left;
    }
    Branches out;
    for (const auto& l : left) {
      for (const auto& r : right) {
        out.push_back(l);
        out.back().insert(out.back().end(), r.begin(), r.end());
      }
    }
    return out;
  }
  static size_t count_names(const Branches& branches) {
    size_t count = 0;
    for (const auto& branch : branches) count += branch.size();
    return count;
  }
  Branches fail() {
    ok_ = false;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  bool ok_ = true;
  bool in_brackets_ = false;
  FeatureExpression out_;
};

}  // namespace

Result<FeatureExpression> parse_features(std::string_view text) {
  if (text.empty()) return FeatureExpression{};
  return Parser(text).parse();
}

Alternatives::Alternatives(std::vector<Branch> branches) {
  if (branches.empty()) return;
  auto made = std::make_shared<Made>();
  std::set<std::vector<std::string>> known;
  for (Branch& branch : branches) {
    std::set<std::string> names;
    std::erase_if(branch, [&](const std::string& name) { return !names.insert(name).second; });
    made->names.insert(made->names.end(), names.begin(), names.end());
    if (known.emplace(names.begin(), names.end()).second)
      made->branches.push_back(std::move(branch));
  }
  std::ranges::sort(made->names);
  made->names.erase(std::unique(made->names.begin(), made->names.end()), made->names.end());
  for (const Branch& branch : made->branches) {
    Bitmap& bits = made->bits.emplace_back();
    for (const std::string& name : branch)
      bits.set(
          static_cast<size_t>(std::ranges::lower_bound(made->names, name) - made->names.begin()));
  }
  made_ = std::move(made);
}

const std::vector<Alternatives::Branch>& Alternatives::branches() const {
  static const std::vector<Branch> none;
  return made_ == nullptr ? none : made_->branches;
}

Bitmap Alternatives::names_of(const std::vector<std::string>& node_features,
                              const std::vector<std::string>* changeable) const {
  Bitmap found;
  if (made_ == nullptr) return found;
  const auto add = [&](const std::vector<std::string>& features) {
    for (const std::string& name : features) {
      const auto at = std::ranges::lower_bound(made_->names, name);
      if (at != made_->names.end() && *at == name)
        found.set(static_cast<size_t>(at - made_->names.begin()));
    }
  };
  add(node_features);
  if (changeable != nullptr) add(*changeable);
  return found;
}

bool Alternatives::is_met(size_t branch, const Bitmap& names) const {
  return names.contains(made_->bits[branch]);
}

bool Alternatives::any_is_met(const Bitmap& names) const {
  return made_ != nullptr &&
         std::ranges::any_of(made_->bits, [&](const Bitmap& bits) { return names.contains(bits); });
}

bool satisfies_any(const FeatureExpression& expression,
                   const std::vector<std::string>& node_features,
                   const std::vector<std::string>* changeable) {
  return expression.any_of.empty() ||
         expression.any_of.any_is_met(expression.any_of.names_of(node_features, changeable));
}

}  // namespace sluice::fit
