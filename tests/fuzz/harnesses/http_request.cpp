#include <boost/asio/buffer.hpp>
#include <filesystem>

#include "cpp/colour_network.hpp"
#include "deepvoro/picture/view.hpp"
#include "fuzz/harness.hpp"
#include "project/project.hpp"
#include "serve/api.hpp"
#include "serve/parsed_request.hpp"

namespace deepvoro::fuzz {
namespace {

using boost::system::error_code;

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
const std::string kHttpView = "s16_r0_f0";

// Two classes of two pictures, in memory alone.
std::shared_ptr<Project> small_project() {
  ProjectContents contents(std::nullopt);
  for (int i = 0; i < 4; ++i) {
    const std::string id = std::string(15, '0') + std::to_string(i);
    const auto value = static_cast<float>(i);
    contents.know({id,
                   {i < 2 ? "red" : "green", id + ".png"},
                   static_cast<std::uint64_t>(i),
                   std::make_shared<const PictureFeatures>(
                       PictureFeatures{{10 * value, 40 - 10 * value, value, 1}})});
  }
  ClassifierOptions options;
  options.views = {kHttpView};
  return std::make_shared<Project>(
      Project::Parts{.contents = std::move(contents),
                     .options = std::move(options),
                     .fitted = nullptr,
                     .classifier_file = "classifier.dv",
                     .queue = std::make_shared<EmbeddingQueue>(
                         [] { return std::make_unique<test::ColourNetwork>(); },
                         std::vector<View>{view_named(kHttpView)}, EmbeddingQueue::Limits{}),
                     .read_only = true});  // of its file; requests may change it
}

// Every input meets the same project.
class FuzzedApi {
 public:
  FuzzedApi()
      : api_({.gate = {.token = "0123456789abcdef"},
              .most_body_bytes = kMostBytes,
              .most_archive_bytes = kMostBytes}),
        application_(api_.application()) {
    begin_again();
  }

  [[nodiscard]] const serve::Application& application() const { return application_; }

  void begin_again() {
    if (project_ && project_->snapshot()->revision == 1) return;
    project_ = small_project();
    api_.set_project(project_);
  }

 private:
  serve::Api api_;
  serve::Application application_;
  std::shared_ptr<Project> project_;
};

// As a session reads it; false where it is refused or not whole.
bool read_request(serve::ParsedRequest& request, Bytes bytes,
                  const serve::Application& application) {
  boost::asio::const_buffer rest(bytes.data(), bytes.size());
  const auto put = [&] {
    if (rest.size() == 0) return false;
    error_code error;
    rest += request.parser().put(rest, error);
    if (error) (void)request.refusal_of(error);
    return !error;
  };
  while (!request.parser().is_header_done())
    if (!put()) return false;
  if (request.take_head(application)) return false;
  (void)request.waits_to_continue();
  (void)request.body_bytes();
  request.parser().eager(true);
  while (!request.parser().is_done())
    if (!put()) return false;
  return true;
}

const Harness http_request_harness("http_request", [](Bytes bytes) {
  static FuzzedApi api;
  const serve::Application& application = api.application();
  serve::ParsedRequest request(serve::ServerLimits().header_bytes);
  if (!read_request(request, bytes, application)) return;
  const serve::Response response = application.answer(request.take());
  application.answered(response, 0);
  if (!response.file.empty()) std::filesystem::remove(response.file);
  if (response.status == 500) throw std::runtime_error(response.body);
  api.begin_again();
});

}  // namespace
}  // namespace deepvoro::fuzz
