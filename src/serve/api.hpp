#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate.hpp"
#include "http.hpp"
#include "memory.hpp"
#include "metrics.hpp"
#include "project/project.hpp"
#include "project/project_check.hpp"
#include "project/project_map.hpp"
#include "scratch_folder.hpp"
#include "server.hpp"

namespace deepvoro::serve {

// What requests mean: questions to a project and changes of it (docs/SERVE.md). Until it is there,
// the answer is that it is loading. Safe to share between threads.
class Api {
 public:
  struct Options {
    Gate::Rules gate;
    bool read_only = false;
    std::size_t most_body_bytes = std::size_t{64} << 20U;      // of pictures
    std::size_t most_archive_bytes = std::size_t{256} << 20U;  // of a whole project
  };
  explicit Api(Options options);

  // A server that answers by this. Refers to it.
  [[nodiscard]] Application application();

  void set_project(std::shared_ptr<Project> project);
  // While there is none: how long it will still take, if that is known.
  void set_seconds_left(double seconds) { seconds_left_ = seconds; }
  // Further numbers for operators.
  void set_connections(std::function<std::size_t()> connections) {
    connections_ = std::move(connections);
  }

 private:
  using Arguments = std::vector<std::string>;  // parts of the path that stand for names
  struct Route {
    const char* method;
    const char* path;  // parts that are * stand for any text
    Lane lane;
    std::size_t most_body_bytes;
    Response (Api::*answer)(const Request& request, const Arguments& arguments);
    bool needs_project = true;
    std::vector<std::string> parameters = {};  // that may follow the path
  };
  struct Match {
    const Route* route = nullptr;
    Arguments arguments = {};
    std::string allowed = {};  // methods of the path, where none fits
  };

  [[nodiscard]] static std::string name_of(const Route& route);
  [[nodiscard]] std::optional<Response> refusal_at(const Route& route,
                                                   const RequestHead& head) const;
  [[nodiscard]] Match match(const RequestHead& head) const;
  [[nodiscard]] Admission admit(const RequestHead& head) const;
  [[nodiscard]] Response answer(const Request& request);
  [[nodiscard]] Response answer_route(const Request& request, const Match& match);
  [[nodiscard]] std::shared_ptr<Project> project() const;
  // The class that a client means: letters with accents are the same, composed or not.
  [[nodiscard]] std::string class_called(const std::string& name) const;
  [[nodiscard]] std::shared_ptr<const ProjectCheck> check_of(const ProjectSnapshot& snapshot);

  // api_page.cpp
  Response page(const Request& request, const Arguments& arguments);
  Response asset(const Request& request, const Arguments& arguments);
  Response health(const Request& request, const Arguments& arguments);
  Response metrics(const Request& request, const Arguments& arguments);
  Response openapi(const Request& request, const Arguments& arguments);
  // api_questions.cpp
  Response predict(const Request& request, const Arguments& arguments);
  // api_reading.cpp
  Response project_info(const Request& request, const Arguments& arguments);
  Response classes(const Request& request, const Arguments& arguments);
  Response pictures(const Request& request, const Arguments& arguments);
  Response picture(const Request& request, const Arguments& arguments);
  Response thumbnail(const Request& request, const Arguments& arguments);
  Response check(const Request& request, const Arguments& arguments);
  Response map(const Request& request, const Arguments& arguments);
  Response classifier(const Request& request, const Arguments& arguments);
  Response archive(const Request& request, const Arguments& arguments);
  // api_changes.cpp
  Response teach(const Request& request, const Arguments& arguments);
  Response import_archive(const Request& request, const Arguments& arguments);
  Response add_class(const Request& request, const Arguments& arguments);
  Response rename_class(const Request& request, const Arguments& arguments);
  Response remove_class(const Request& request, const Arguments& arguments);
  Response move_picture(const Request& request, const Arguments& arguments);
  Response remove_picture(const Request& request, const Arguments& arguments);
  Response undo(const Request& request, const Arguments& arguments);
  Response redo(const Request& request, const Arguments& arguments);

  Options options_;
  Gate gate_;
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> route_parts_;  // of their paths
  mutable std::mutex project_guard_;
  std::shared_ptr<Project> project_;
  std::atomic<double> seconds_left_ = -1;
  std::function<std::size_t()> connections_;
  Metrics metrics_;
  OfRevision<ProjectCheck> check_;
  OfRevision<std::string> map_;
  RecentTexts thumbnails_;
  AnsweredBefore answered_;
  ScratchFolder scratch_;
};

}  // namespace deepvoro::serve
