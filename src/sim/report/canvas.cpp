#include "sim/report/canvas.hpp"

#include <fmt/format.h>

namespace sluice::sim {
namespace {

std::string hex(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

std::string path(const std::vector<Point>& points) {
  std::string out;
  for (const Point& point : points)
    out += fmt::format("{}{:.1f},{:.1f}", out.empty() ? "" : " ", point.x, point.y);
  return out;
}

std::string escaped(std::string_view words) {
  std::string out;
  for (const char c : words) {
    if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else out += c;
  }
  return out;
}

}  // namespace

SvgCanvas::SvgCanvas(double width, double height)
    : text_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                        "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" "
                        "font-size=\"12\">\n",
                        width, height)) {}

void SvgCanvas::rectangle(Point corner, Point size, Color color) {
  text_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "fill=\"{}\"/>\n",
      corner.x, corner.y, size.x, size.y, hex(color));
}

void SvgCanvas::area(const std::vector<Point>& outline, Color color) {
  text_ += fmt::format("<polygon points=\"{}\" fill=\"{}\"/>\n", path(outline), hex(color));
}

void SvgCanvas::line(const std::vector<Point>& points, Color color) {
  text_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", path(points),
                       hex(color));
}

void SvgCanvas::text(Point at, std::string_view words, Align align) {
  const char* anchor = align == Align::kLeft ? "start" : align == Align::kRight ? "end" : "middle";
  text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at.x, at.y,
                       anchor, escaped(words));
}

}  // namespace sluice::sim
