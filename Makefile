# Each target does all of its own set-up on Debian bookworm.
#   make build   the program at build/bin/deepvoro, the Python package in build/python
#   make demo    few-shot accuracy on the built-in sketches
#   make test    every test
#   make bench   the benchmark table, this program against NumPy on the same data
#   make bench-images   JPEG decode plus resize against Pillow
.PHONY: build demo test bench bench-images packages-build packages-test packages-bench clean

BUILD_PACKAGES := g++ cmake ninja-build pkg-config git libfmt-dev nlohmann-json3-dev libssl-dev \
                  libhdf5-dev libzip-dev libcli11-dev libjpeg62-turbo-dev libpng-dev pybind11-dev python3-dev python3-numpy
TEST_PACKAGES := $(BUILD_PACKAGES) libgtest-dev clang-format clang-tidy python3 python3-pytest \
                 python3-h5py python3-scipy python3-sklearn python3-joblib python3-pandas python3-matplotlib \
                 python3-pil python3-pip python3-setuptools python3-wheel libopenblas0-pthread
BENCH_PACKAGES := $(BUILD_PACKAGES) python3 python3-numpy python3-sklearn python3-pil \
                  libopenblas0-pthread
JOBS := $(shell nproc)

build: packages-build
	cmake --preset release -DDEEPVORO_TESTS=OFF
	cmake --build build -j $(JOBS)

demo: build
	@scripts/demo.sh

test: packages-test
	cmake --preset release -DDEEPVORO_TESTS=ON
	cmake --build build -j $(JOBS)
	ctest --test-dir build --output-on-failure -j $(JOBS)
	cmake --preset asan
	cmake --build build-asan -j $(JOBS) --target deepvoro_tests
	build-asan/bin/deepvoro_tests --gtest_brief=1

bench: packages-bench
	cmake --preset release -DDEEPVORO_BENCH=ON
	cmake --build build -j $(JOBS)
	/usr/bin/python3 bench/bench.py
	/usr/bin/python3 bench/heads.py

bench-images: packages-bench
	cmake --preset release -DDEEPVORO_BENCH=ON
	cmake --build build -j $(JOBS) --target deepvoro_image_bench
	/usr/bin/python3 bench/images.py

packages-build:
	@scripts/install_packages.sh $(BUILD_PACKAGES)
packages-test:
	@scripts/install_packages.sh $(TEST_PACKAGES)
packages-bench:
	@scripts/install_packages.sh $(BENCH_PACKAGES)

clean:
	rm -rf build build-dev build-asan build-tsan
