#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "http_client.hpp"
#include "serve/api.hpp"
#include "serve/scratch_folder.hpp"
#include "serve/server.hpp"
#include "test_project.hpp"
#include "test_store.hpp"

namespace deepvoro::serve {
namespace {

using nlohmann::json;
using test::HttpAnswer;
using test::HttpClient;

const std::string kToken = "0123456789abcdef";

// A server in this process, with a project of a network that tells colours.
class ServeTest : public testing::Test {
 protected:
  void start(Api::Options options = {}, const ServerLimits& limits = {}) {
    options.gate.token = kToken;
    const bool read_only = options.read_only;
    api_ = std::make_unique<Api>(options);
    server_ = std::make_unique<Server>("127.0.0.1", 0, api_->application(), limits);
    thread_ = std::thread([this] { server_->run(); });
    api_->set_project(test::open_test_project(folder_ / "project", read_only));
  }
  void stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }
  void TearDown() override { stop(); }

  [[nodiscard]] static std::string request(const std::string& line, const std::string& body = {},
                                           const std::string& fields = {}) {
    return line + " HTTP/1.1\r\nHost: localhost\r\nX-Deepvoro-Token: " + kToken +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body;
  }
  HttpAnswer ask(const std::string& bytes) {
    HttpClient client(server_->port());
    client.send(bytes);
    return client.receive();
  }
  void teach_colours() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      ASSERT_EQ(ask(request("POST /api/classes/red/pictures", test::coloured_png(0, i))).status,
                200);
      ASSERT_EQ(ask(request("POST /api/classes/green/pictures", test::coloured_png(1, i))).status,
                200);
    }
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

TEST_F(ServeTest, TeachesAndAnswers) {
  start();
  EXPECT_EQ(ask(request("POST /api/predict", test::coloured_png(0, 9))).status, 400);
  teach_colours();
  const HttpAnswer answer = ask(request("POST /api/predict", test::coloured_png(1, 9)));
  ASSERT_EQ(answer.status, 200);
  const json body = json::parse(answer.body);
  EXPECT_EQ(body["answers"][0]["class"], "green");
  EXPECT_EQ(body["answers"][0]["why"]["nearest"][0]["class"], "green");
  const json classes = json::parse(ask(request("GET /api/classes")).body);
  EXPECT_EQ(classes["classes"],
            json::parse(R"([{"name":"green","pictures":3},{"name":"red","pictures":3}])"));
  const json check = json::parse(ask(request("GET /api/check")).body);
  EXPECT_EQ(check["of"], 6);
  EXPECT_EQ(check["right"], 6);
  const json map = json::parse(ask(request("GET /api/map")).body);
  EXPECT_EQ(map["points"].size(), 6U);
  std::size_t elements = 0;
  for (const json& run : map["cells"]["runs"]) elements += run[1].get<std::size_t>();
  EXPECT_EQ(elements,
            map["cells"]["width"].get<std::size_t>() * map["cells"]["height"].get<std::size_t>());
}

TEST_F(ServeTest, RefusesPagesOfOtherSites) {
  start();
  const auto with = [&](const std::string& method, const std::string& fields) {
    return ask(method + " HTTP/1.1\r\n" + fields + "\r\n").status;
  };
  const std::string token = "X-Deepvoro-Token: " + kToken + "\r\n";
  const std::string undo = "POST /api/undo";
  EXPECT_EQ(with("GET /api/classes", "Host: localhost:80\r\n"), 200);
  EXPECT_EQ(with("GET /api/classes", "Host: 127.0.0.1\r\n"), 200);
  EXPECT_EQ(with("GET /api/classes", "Host: [::1]:8080\r\n"), 200);
  EXPECT_EQ(with("GET /api/classes", "Host: attacker.example\r\n"), 403);
  EXPECT_EQ(with("GET /api/classes", "Host: localhost.attacker.example\r\n"), 403);
  EXPECT_EQ(with("GET /api/classes", "Host: 192.168.0.1\r\n"), 403);
  EXPECT_EQ(with("GET /api/classes", ""), 403);
  EXPECT_EQ(with("GET /api/classes", "Host: localhost\r\nOrigin: http://attacker.example\r\n"),
            403);
  EXPECT_EQ(with("GET /api/classes", "Host: localhost\r\nOrigin: null\r\n"), 403);
  EXPECT_EQ(with("GET /api/classes", "Host: localhost\r\nOrigin: http://localhost\r\n"), 200);
  EXPECT_EQ(with(undo, "Host: localhost\r\n"), 403);
  EXPECT_EQ(with(undo, "Host: localhost\r\nX-Deepvoro-Token: 0123456789abcdee\r\n"), 403);
  EXPECT_EQ(with(undo, "Host: localhost\r\nX-Deepvoro-Token: 0\r\n"), 403);
  EXPECT_EQ(with(undo, "Host: localhost\r\nCookie: deepvoro-token=" + kToken + "\r\n"), 403);
  EXPECT_EQ(with(undo, "Host: localhost\r\nOrigin: http://evil.example\r\n" + token), 403);
  EXPECT_EQ(with(undo, "Host: localhost\r\n" + token), 400);  // nothing to undo
  const HttpAnswer answer =
      ask("OPTIONS /api/undo HTTP/1.1\r\nHost: localhost\r\n" + token + "\r\n");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos);
  EXPECT_NE(answer.head.find("Content-Security-Policy: default-src 'self'"), std::string::npos);
}

TEST_F(ServeTest, NeedsTheTokenForEverythingWhereOthersCanReachIt) {
  start({.gate = {.is_public = true, .names = {"birds.example"}}});
  const auto get = [&](const std::string& path, const std::string& fields) {
    return ask("GET " + path + " HTTP/1.1\r\n" + fields + "\r\n");
  };
  EXPECT_EQ(get("/api/classes", "Host: 10.0.0.1\r\n").status, 403);
  EXPECT_EQ(get("/api/health", "Host: 10.0.0.1\r\n").status, 200);
  EXPECT_EQ(get("/api/classes", "Host: 10.0.0.1\r\nX-Deepvoro-Token: " + kToken + "\r\n").status,
            200);
  EXPECT_EQ(
      get("/api/classes", "Host: birds.example\r\nCookie: a=b; deepvoro-token=" + kToken + "\r\n")
          .status,
      200);
  EXPECT_EQ(
      get("/api/classes", "Host: other.example\r\nX-Deepvoro-Token: " + kToken + "\r\n").status,
      403);
  const HttpAnswer stranger = get("/", "Host: 10.0.0.1\r\n");
  EXPECT_EQ(stranger.body.find(kToken), std::string::npos);
  EXPECT_EQ(stranger.head.find("Set-Cookie"), std::string::npos);
}

TEST_F(ServeTest, KeepsItsLimits) {
  start({.most_body_bytes = 10'000}, {.header_bytes = 4096});
  HttpClient client(server_->port());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ");
  for (int i = 0; i < 1000 && client.send(std::string(4096, 'x')); ++i) {
  }
  EXPECT_EQ(client.receive().status, 431);
  client.wait_for_end();
  // Before the body is sent.
  const std::string head = "POST /api/predict HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_EQ(ask(head + "Content-Length: 10001\r\n\r\n").status, 413);
  EXPECT_EQ(ask(head + "Content-Length: 99999999999999999999\r\n\r\n").status, 400);
  EXPECT_EQ(ask(head + "Transfer-Encoding: chunked\r\n\r\n3000\r\n" + std::string(0x3000, 'x') +
                "\r\n0\r\n\r\n")
                .status,
            413);
  EXPECT_EQ(ask(head + "Transfer-Encoding: chunked\r\n\r\nnonsense\r\n").status, 400);
  EXPECT_EQ(ask("nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(ask("GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 400);
  EXPECT_EQ(ask(request("GET /api/classes")).status, 200);
}

TEST_F(ServeTest, EndsConnectionsThatAreTooSlow) {
  start({}, {.header_time = std::chrono::milliseconds(100),
             .body_time = std::chrono::milliseconds(100)});
  HttpClient silent(server_->port());
  HttpClient in_header(server_->port());
  in_header.send("GET / HTTP/1.1\r\nHost: local");
  HttpClient in_body(server_->port());
  in_body.send("POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc");
  silent.wait_for_end();
  in_header.wait_for_end();
  in_body.wait_for_end();
  // Those who are not have their answers.
  EXPECT_EQ(ask(request("GET /api/classes")).status, 200);
}

TEST_F(ServeTest, RefusesBombsAndWhatIsNoPicture) {
  start();
  teach_colours();
  for (const std::string& body :
       {test::png_header(60'000, 60'000), test::jpeg_header(65'000, 65'000), std::string("text")}) {
    EXPECT_EQ(ask(request("POST /api/predict", body)).status, 400);
    EXPECT_EQ(ask(request("POST /api/classes/red/pictures", body)).status, 400);
  }
  EXPECT_EQ(json::parse(ask(request("GET /api/classes")).body)["classes"][1]["pictures"], 3);
}

TEST_F(ServeTest, TakesSeveralPicturesAsAForm) {
  start();
  teach_colours();
  const auto part = [](const std::string& name, const std::string& bytes) {
    return "--b\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"" + name +
           "\"\r\n\r\n" + bytes + "\r\n";
  };
  const std::string type = "Content-Type: multipart/form-data; boundary=b\r\n";
  const std::string form =
      part("one.png", test::coloured_png(0, 4)) + part("two.png", "text") + "--b--\r\n";
  const json answers =
      json::parse(ask(request("POST /api/predict?why=0", form, type)).body)["answers"];
  EXPECT_EQ(answers[0]["file"], "one.png");
  EXPECT_EQ(answers[0]["class"], "red");
  EXPECT_FALSE(answers[0].contains("why"));
  EXPECT_TRUE(answers[1].contains("error"));
  const json taught = json::parse(ask(request("POST /api/classes/red/pictures", form, type)).body);
  EXPECT_EQ(taught["added"].size(), 1U);
  EXPECT_EQ(taught["refused"][0]["index"], 1);
  for (const std::string& broken :
       {std::string("--b"), std::string("--b\r\nno end"), std::string("x"), std::string("--b--")})
    EXPECT_EQ(ask(request("POST /api/predict", broken, type)).status, 400) << broken;
}

TEST_F(ServeTest, DoesAChangeOnceThatIsSentTwice) {
  start();
  const std::string same = request("POST /api/classes/red/pictures", test::coloured_png(0, 1),
                                   "X-Deepvoro-Request: abc\r\n");
  const HttpAnswer first = ask(same);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(ask(same).body, first.body);
  EXPECT_EQ(json::parse(ask(request("GET /api/classes")).body)["classes"][0]["pictures"], 1);
}

TEST_F(ServeTest, ChangesNothingWhenItIsReadOnly) {
  start();
  teach_colours();
  stop();
  api_.reset();
  start({.read_only = true});
  for (const char* line : {"POST /api/classes/red/pictures", "DELETE /api/classes/red",
                           "POST /api/undo", "POST /api/project.zip"})
    EXPECT_EQ(ask(request(line, test::coloured_png(0, 1))).status, 403) << line;
  EXPECT_EQ(ask(request("POST /api/predict", test::coloured_png(0, 1))).status, 200);
}

TEST_F(ServeTest, SendsAndTakesAWholeProject) {
  start();
  teach_colours();
  const HttpAnswer archive = ask(request("GET /api/project.zip"));
  ASSERT_EQ(archive.status, 200);
  EXPECT_EQ(ask(request("DELETE /api/classes/red")).status, 200);
  const HttpAnswer imported = ask(request("POST /api/project.zip", archive.body));
  ASSERT_EQ(imported.status, 200) << imported.body;
  EXPECT_EQ(json::parse(imported.body)["added"].size(), 3U);
  EXPECT_EQ(json::parse(imported.body)["known"].size(), 3U);
  const json classes = json::parse(ask(request("GET /api/classes")).body)["classes"];
  EXPECT_EQ(classes, json::parse(R"([{"name":"green","pictures":3},{"name":"red","pictures":3}])"));
  EXPECT_EQ(ask(request("POST /api/project.zip", "no archive")).status, 400);
}

TEST(Server, FinishesRequestsWhenItIsStopped) {
  std::promise<void> begun;
  std::promise<void> may_end;
  Server server("127.0.0.1", 0,
                {.admit = [](const RequestHead&) { return Admission{.lane = Lane::change}; },
                 .answer =
                     [&](const Request&) {
                       begun.set_value();
                       may_end.get_future().wait();
                       return Response{.body = "finished"};
                     }});
  std::thread thread([&] { server.run(); });
  HttpClient idle(server.port());
  HttpClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  begun.get_future().wait();
  server.stop();
  idle.wait_for_end();
  may_end.set_value();
  EXPECT_EQ(client.receive().body, "finished");
  client.wait_for_end();
  thread.join();
  EXPECT_THROW(HttpClient{server.port()}, std::runtime_error);
}

TEST(Server, RefusesRequestsWhenTooManyWait) {
  std::promise<void> may_end;
  const std::shared_future<void> end = may_end.get_future();
  Server server("127.0.0.1", 0,
                {.admit =
                     [](const RequestHead&) {
                       return Admission{.most_body_bytes = 100, .lane = Lane::question};
                     },
                 .answer =
                     [&](const Request&) {
                       end.wait();
                       return Response{};
                     }},
                {.all_body_bytes = 50});
  std::thread thread([&] { server.run(); });
  HttpClient first(server.port());
  first.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\n" +
             std::string(30, 'x'));
  HttpClient second(server.port());
  HttpAnswer refused;
  // Which of the two is read first is the system's choice.
  second.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\n");
  refused = second.receive();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.head.find("Retry-After"), std::string::npos);
  may_end.set_value();
  EXPECT_EQ(first.receive().status, 200);
  server.stop();
  thread.join();
}

TEST_F(ServeTest, WhatAKilledServerLeftIsRemovedByTheNextOne) {
  ASSERT_EQ(::setenv("TMPDIR", folder_.path().c_str(), 1), 0);
  const std::filesystem::path left = folder_ / "deepvoro-serve.0123456789abcdef.part";
  std::filesystem::create_directory(left);
  test::write_file(left / "file", "half a project");
  const ScratchFolder running;
  EXPECT_FALSE(std::filesystem::exists(left));
  const ScratchFolder another;
  EXPECT_TRUE(std::filesystem::exists(running.folder()));
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace deepvoro::serve
