// What a picture is drawn on: an SVG text, or Cairo for PNG (sim/png).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim {

struct Color {
  uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Color&, const Color&) = default;
};
struct Point {
  double x = 0, y = 0;
};
enum class Align { kLeft, kMiddle, kRight };

class Canvas {
 public:
  Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  virtual ~Canvas() = default;
  virtual void rectangle(Point corner, Point size, Color color) = 0;
  virtual void area(const std::vector<Point>& outline, Color color) = 0;
  virtual void line(const std::vector<Point>& points, Color color) = 0;
  virtual void text(Point at, std::string_view words, Align align) = 0;
};

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(double width, double height);
  void rectangle(Point corner, Point size, Color color) override;
  void area(const std::vector<Point>& outline, Color color) override;
  void line(const std::vector<Point>& points, Color color) override;
  void text(Point at, std::string_view words, Align align) override;
  [[nodiscard]] std::string finished() const { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

}  // namespace sluice::sim
