#include "ctld/fit/features.hpp"

#include <algorithm>
#include <cctype>

namespace sluice::fit {
namespace {

using Branches = std::vector<std::vector<std::string>>;

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
    out_.any_of = out_.counts.empty() ? std::move(branches) : Branches{};
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
    out_.counts.push_back({what, count});
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

bool satisfies(const std::vector<std::string>& branch,
               const std::vector<std::string>& node_features,
               const std::vector<std::string>* changeable) {
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
  };
  return std::ranges::all_of(branch, [&](const std::string& wanted) {
    return has(node_features, wanted) || (changeable != nullptr && has(*changeable, wanted));
  });
}

bool satisfies_any(const FeatureExpression& expression,
                   const std::vector<std::string>& node_features,
                   const std::vector<std::string>* changeable) {
  if (expression.any_of.empty()) return true;
  return std::ranges::any_of(expression.any_of, [&](const auto& branch) {
    return satisfies(branch, node_features, changeable);
  });
}

}  // namespace sluice::fit
