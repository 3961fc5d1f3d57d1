# Each target does all of its own set-up on Debian bookworm.
#   make build   the program at build/bin/deepvoro, the Python package in build/python
#   make demo    few-shot accuracy on the built-in sketches
#   make test    every test
#   make bench   the benchmark table, this program against NumPy on the same data
#   make bench-images   JPEG decode plus resize against Pillow
#   make bench-extract  networks on the CPU against PyTorch
#   make bench-classifier   predictions against scikit-learn
#   make pipeline-quickdraw     from drawings to a table: train a network, extract features, tune, evaluate
#   make pipeline-doublemnist   from digits to features in the plane, and accuracies
.PHONY: build demo test bench bench-images bench-extract bench-classifier pipeline-quickdraw pipeline-doublemnist \
        packages-build packages-test packages-bench packages-bench-extract packages-pipeline clean

BUILD_PACKAGES := g++ cmake ninja-build pkg-config git libfmt-dev nlohmann-json3-dev libssl-dev \
                  libhdf5-dev libzip-dev libcli11-dev libjpeg62-turbo-dev libpng-dev zlib1g-dev libtorch-dev \
                  pybind11-dev python3-dev python3-numpy
TEST_PACKAGES := $(BUILD_PACKAGES) libgtest-dev clang-format clang-tidy python3 python3-pytest \
                 python3-h5py python3-scipy python3-sklearn python3-joblib python3-pandas python3-matplotlib \
                 python3-pil python3-torch python3-pip python3-setuptools python3-wheel libopenblas0-pthread
BENCH_PACKAGES := $(BUILD_PACKAGES) python3 python3-numpy python3-sklearn python3-pil \
                  libopenblas0-pthread
# Debian's npm has hundreds of dependencies: not where there is one already.
PIPELINE_PACKAGES := $(BUILD_PACKAGES) python3 python3-numpy $(if $(shell command -v npm),,npm)
EXTRACT_PACKAGES := $(BENCH_PACKAGES) libtorch-dev python3-torch
JOBS := $(shell nproc)

build: packages-build
	cmake --preset release -DDEEPVORO_TESTS=OFF -DDEEPVORO_BACKBONE=ON
	cmake --build build -j $(JOBS)

demo: build
	@scripts/demo.sh

test: packages-test
	cmake --preset release -DDEEPVORO_TESTS=ON -DDEEPVORO_BACKBONE=ON
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

pipeline-quickdraw: packages-pipeline build
	@scripts/quickdraw/pipeline.sh

pipeline-doublemnist: packages-pipeline build
	@scripts/doublemnist/pipeline.sh

bench-extract: packages-bench-extract
	cmake --preset release -DDEEPVORO_BENCH=ON -DDEEPVORO_BACKBONE=ON
	cmake --build build -j $(JOBS) --target deepvoro_extract_bench deepvoro_backbone
	/usr/bin/python3 bench/extract.py

bench-classifier: packages-bench
	cmake --preset release -DDEEPVORO_BENCH=ON
	cmake --build build -j $(JOBS) --target deepvoro_classifier_bench
	/usr/bin/python3 bench/classifier.py

packages-build:
	@scripts/install_packages.sh $(BUILD_PACKAGES)
packages-test:
	@scripts/install_packages.sh $(TEST_PACKAGES)
packages-bench:
	@scripts/install_packages.sh $(BENCH_PACKAGES)
packages-pipeline:
	@scripts/install_packages.sh $(PIPELINE_PACKAGES)
packages-bench-extract:
	@scripts/install_packages.sh $(EXTRACT_PACKAGES)

clean:
	rm -rf build build-dev build-asan build-tsan
