#include "sim/png.hpp"

#include <memory>

#include <cairo.h>

#include "common/os/replace_file.hpp"
#include "sim/report/chart.hpp"

namespace sluice::sim {
namespace {

constexpr int kScale = 2;  // pixels of a unit of the drawing

class CairoCanvas final : public Canvas {
 public:
  explicit CairoCanvas(cairo_t* context) : context_(context) {
    cairo_scale(context_, kScale, kScale);
    cairo_set_line_width(context_, 1);
    cairo_select_font_face(context_, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(context_, 12);
  }
  void rectangle(Point corner, Point size, Color color) override {
    paint(color);
    cairo_rectangle(context_, corner.x, corner.y, size.x, size.y);
    cairo_fill(context_);
  }
  void area(const std::vector<Point>& outline, Color color) override {
    follow(outline, color);
    cairo_fill(context_);
  }
  void line(const std::vector<Point>& points, Color color) override {
    follow(points, color);
    cairo_stroke(context_);
  }
  void text(Point at, std::string_view words, Align align) override {
    const std::string copy(words);
    cairo_text_extents_t extents{};
    cairo_text_extents(context_, copy.c_str(), &extents);
    const double part = align == Align::kLeft ? 0 : align == Align::kMiddle ? 0.5 : 1;
    paint({});
    cairo_move_to(context_, at.x - extents.x_advance * part, at.y);
    cairo_show_text(context_, copy.c_str());
  }

 private:
  void paint(Color color) {
    constexpr double kWhole = 255;
    cairo_set_source_rgb(context_, color.red / kWhole, color.green / kWhole, color.blue / kWhole);
  }
  void follow(const std::vector<Point>& points, Color color) {
    paint(color);
    cairo_new_path(context_);
    for (const Point& point : points) cairo_line_to(context_, point.x, point.y);
  }

  cairo_t* context_;
};

cairo_status_t append(void* into, const unsigned char* bytes, unsigned size) {
  static_cast<std::string*>(into)->append(reinterpret_cast<const char*>(bytes), size);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

Status write_png(const SimResult& result, const std::string& path) {
  const std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, kScale * static_cast<int>(kChartWidth),
                                 kScale * static_cast<int>(kChartHeight)),
      cairo_surface_destroy);
  const std::unique_ptr<cairo_t, void (*)(cairo_t*)> context(cairo_create(surface.get()),
                                                             cairo_destroy);
  CairoCanvas canvas(context.get());
  draw_chart(result, canvas);
  std::string bytes;
  const cairo_status_t status = cairo_surface_write_to_png_stream(surface.get(), append, &bytes);
  if (status != CAIRO_STATUS_SUCCESS) return failure(path + ": " + cairo_status_to_string(status));
  return replace_file(path, bytes, {.mode = 0644});
}

}  // namespace sluice::sim
