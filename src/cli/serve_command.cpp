#include "serve_command.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "flag_text.hpp"
#include "serve/serve.hpp"

namespace deepvoro {
namespace {

constexpr const char* kServeFooter = R"(
PROJECT is a folder with a folder of pictures for each class, a new folder, or a classifier (.dv). Without it, a folder of
the user's own is served, which begins with a few sketches. The page is at the address that is printed; the API is described
at /api/openapi.json and in docs/SERVE.md. Pictures that are taught become files of the folder, and classifier.dv in it is
what 'deepvoro fit' would make of them. Nothing leaves this machine.

Others cannot reach the server unless --listen says so, which needs --token-file: whoever knows the token can change
everything. They open the page by the address with /?token= and what is in that file behind it. Stop it with Ctrl-C: requests are finished, and the classifier is saved.

Examples:
  deepvoro serve
  deepvoro serve birds --port 8080
  deepvoro serve birds.dv --read-only --listen 0.0.0.0 --token-file token)";

struct ServeCommand {
  serve::ServeOptions options;
  std::string project;
  std::string token_file;
  std::int64_t port = 8080;

  void run() {
    constexpr std::int64_t last_port = 65535;
    if (port < 0 || port > last_port)
      throw usage_error(fmt::format(
          "`port` is {}, but ports go from 1 to {}, and 0 is any that is free", port, last_port));
    options.port = static_cast<std::uint16_t>(port);
    options.path = project;
    options.token_file = token_file;
    serve::serve(options,
                 {.listening =
                      [](const std::string& url) {
                        fmt::print("{}\n", url);
                        std::fflush(stdout);
                      },
                  .ready =
                      [](const serve::ServeEvents::Ready& ready) {
                        fmt::print(stderr, "serving {}{}, loaded in {:.1f} s; stop with Ctrl-C\n",
                                   as_text_line(ready.path.string()),
                                   ready.is_new ? ", a new, empty project" : "", ready.seconds);
                      },
                  .problem =
                      [](const std::string& problem) {
                        fmt::print(stderr, "warning: {}\n", with_flags(as_text_line(problem)));
                      }});
  }
};

}  // namespace

void add_serve_command(CLI::App& program) {
  auto command = std::make_shared<ServeCommand>();
  serve::ServeOptions& options = command->options;
  CLI::App* app = program.add_subcommand("serve", "teach and ask in the browser or by HTTP");
  app->footer(kServeFooter);
  app->add_option("PROJECT", command->project, "a folder, or a classifier [the user's sketches]");
  app->add_option("--port", command->port, "port to listen at, up to 65535; 0 is any that is free")
      ->capture_default_str();
  app->add_option("--listen", options.listen, "address to listen at")->capture_default_str();
  app->add_option("--token-file", command->token_file,
                  "file of the token for changes, which is not printed then; made where it is not "
                  "there [a new token]");
  app->add_option("--host", options.hosts, "further name that this machine goes by; repeatable")
      ->allow_extra_args(false);
  app->add_flag("--read-only", options.read_only, "nothing can be changed");
  app->add_option("--backbone", options.backbone,
                  "name or file of a model [photographs: resnet50; drawings: quickdraw-conv4]");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
