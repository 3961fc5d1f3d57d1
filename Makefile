# Each target does all of its own set-up on Debian bookworm.
#   make build   the program at build/bin/deepvoro, the Python package in build/python
#   make demo    few-shot accuracy on the built-in sketches
#   make paper   the paper's studies on the built-in sketches, on pairs of digits and on other stores: make paper STORES="a b"
#   make test    every test: optimised, then the C++ tests in Debug builds with sanitizers
#   make test-clang  the C++ tests, compiled by clang
#   make test-aarch64  the C++ tests compiled for aarch64 and run by qemu, and the same scores as on this processor (minutes)
#   make test-cluster  --shard under mpirun with 1 to 4 processes, under a Slurm of this machine, and a hundred killed workers (minutes; as root)
#   make lint    clang-format and clang-tidy, over what changed since they last found it clean
#   make coverage    how many lines the C++ tests reach
#   make fuzz    feeds the readers of files with damaged ones; all harnesses in turn, MINUTES=10 in all
#   make kill-campaign   ends commands at every call to the file system and runs them again (half an hour)
#   make faults      plants small faults one at a time and tells which ones the tests miss (hours)
#   make bench   the benchmark table, this program against NumPy on the same data
#   make bench-pictures   decode plus resize against Pillow
#   make bench-extract  networks on the CPU against PyTorch
#   make bench-classifier   predictions against scikit-learn
#   make bench-answers  accuracy, probabilities and unknown pictures on collections of pictures, against scikit-learn (hours)
#   make bench-serve    how quickly deepvoro serve answers one client and a thousand
#   make test-serve-kills   kill -9 a hundred times while deepvoro serve is taught (minutes)
#   make docs    the reference of the C++ library, build/docs/html/index.html
#   make deb     a Debian package in build/, with program, library, headers, Python package and documents
#   make test-deb   installs that package in a bare Debian and uses it (as root)
#   make wheel   the Python package as a wheel in build/wheel
#   make pictures   the pictures in docs/pictures: the paper's first figure, the demo's report, and the page of serve
#   make pipeline-quickdraw     from drawings to a table: train a network, extract features, tune, evaluate
#   make pipeline-doublemnist   from digits to features in the plane, and accuracies
.PHONY: build demo paper test test-release test-debug test-asan test-tsan test-clang test-aarch64 test-cluster lint coverage faults fuzz kill-campaign bench bench-pictures bench-extract \
        bench-classifier bench-answers bench-serve test-serve-kills docs deb test-deb wheel pictures pipeline-quickdraw pipeline-doublemnist packages-program packages-build packages-test packages-clang packages-aarch64 packages-cluster packages-fuzz packages-lint \
        packages-coverage packages-bench packages-bench-extract packages-bench-answers packages-bench-serve packages-pipeline packages-docs packages-deb packages-wheel clean

PROGRAM_PACKAGES := g++ cmake ninja-build pkg-config git libfmt-dev nlohmann-json3-dev libssl-dev \
                    libhdf5-dev libeigen3-dev libzip-dev libarchive-dev libcli11-dev libjpeg62-turbo-dev libpng-dev \
                    libwebp-dev libtiff-dev libgif-dev libheif-dev
BUILD_PACKAGES := $(PROGRAM_PACKAGES) libboost-dev libutf8proc-dev esbuild libtorch-dev pybind11-dev python3-dev python3-numpy
TEST_PACKAGES := $(BUILD_PACKAGES) libgtest-dev python3 python3-pytest \
                 python3-h5py python3-scipy python3-sklearn python3-joblib python3-pandas python3-matplotlib \
                 python3-pil python3-torch python3-pip python3-setuptools python3-wheel libopenblas0-pthread \
                 doxygen groff-base binutils libheif-examples chromium-headless-shell node-typescript libopenmpi-dev openmpi-bin
LINT_PACKAGES := $(PROGRAM_PACKAGES) libboost-dev libutf8proc-dev pybind11-dev python3-dev clang-format clang-tidy python3
COVERAGE_PACKAGES := $(TEST_PACKAGES) gcovr
BENCH_PACKAGES := $(BUILD_PACKAGES) python3 python3-numpy python3-sklearn python3-pil \
                  libopenblas0-pthread
# Debian's npm has hundreds of dependencies: not where there is one already.
PIPELINE_PACKAGES := $(BUILD_PACKAGES) python3 python3-numpy $(if $(shell command -v npm),,npm)
EXTRACT_PACKAGES := $(BENCH_PACKAGES) libtorch-dev python3-torch
ANSWERS_PACKAGES := $(BENCH_PACKAGES) $(PIPELINE_PACKAGES)
DOCS_PACKAGES := doxygen
DEB_PACKAGES := $(BUILD_PACKAGES) $(DOCS_PACKAGES) dpkg-dev file
WHEEL_PACKAGES := $(BUILD_PACKAGES) python3-pip python3-setuptools python3-wheel
JOBS := $(shell nproc)

build: packages-build
	cmake --preset release -DDEEPVORO_TESTS=OFF -DDEEPVORO_BACKBONE=ON
	cmake --build build -j $(JOBS)

demo: packages-program
	cmake --preset release -DDEEPVORO_TESTS=OFF -DDEEPVORO_SERVE=OFF
	cmake --build build -j $(JOBS) --target deepvoro_program
	@scripts/demo.sh

paper: packages-pipeline build
	@scripts/paper.sh $(STORES)

# The sanitizers' builds are Debug builds, at -O0 with assertions; test-debug is one without them.
test: test-release test-asan test-tsan

# Benchmarks are compiled with the tests, or nobody would notice that they no longer compile.
test-release: packages-test
	cmake --preset release -DDEEPVORO_TESTS=ON -DDEEPVORO_BACKBONE=ON -DDEEPVORO_BENCH=ON
	cmake --build build -j $(JOBS)
	ctest --test-dir build --output-on-failure -j $(JOBS)

# The C++ tests alone: Python's start the program thousands of times.
test-debug test-asan test-tsan: test-%: packages-test
	cmake --preset $*
	cmake --build build-$* -j $(JOBS) --target deepvoro_tests
	scripts/run_in_shards.sh $(JOBS) build-$*/bin/deepvoro_tests

test-clang: packages-test packages-clang
	cmake --preset clang
	cmake --build build-clang -j $(JOBS)
	scripts/run_in_shards.sh $(JOBS) build-clang/bin/deepvoro_tests

# Without LibTorch and the server, and without two tests that fail under qemu, which exits when a process with threads forks and ignores limits of memory.
AARCH64_LIBRARIES = libstdc++-12-dev libgtest-dev $(filter %-dev,$(PROGRAM_PACKAGES))
AARCH64_RUN = qemu-aarch64 -L build-aarch64/sysroot/root
test-aarch64: packages-aarch64
	scripts/aarch64_sysroot.sh build-aarch64/sysroot $(AARCH64_LIBRARIES)
	cmake --preset aarch64
	cmake --build build-aarch64 -j $(JOBS) --target deepvoro_tests deepvoro_program
	scripts/run_in_shards.sh $(JOBS) $(AARCH64_RUN) build-aarch64/bin/deepvoro_tests --gtest_filter=-ParallelFor.WorksInAForkedProcess:ChildProcess.HasLittleMemory
	cmake --preset release -DDEEPVORO_TESTS=OFF -DDEEPVORO_SERVE=OFF
	cmake --build build -j $(JOBS) --target deepvoro_program
	/usr/bin/python3 tests/aarch64/same_bits.py build/bin/deepvoro $(AARCH64_RUN) build-aarch64/bin/deepvoro

test-cluster: packages-cluster
	cmake --preset release -DDEEPVORO_TESTS=ON -DDEEPVORO_BACKBONE=ON -DDEEPVORO_CLUSTER=ON
	cmake --build build -j $(JOBS) --target deepvoro_program deepvoro_backbone deepvoro_cluster
	cd tests/python && DEEPVORO_BIN=$(CURDIR)/build/bin/deepvoro DEEPVORO_ALL_RANKS=1 /usr/bin/python3 -m pytest -q -p no:cacheprovider \
	  test_mpi.py cluster_slurm.py cluster_kills.py

lint: packages-lint
	cmake --preset lint
	/usr/bin/python3 scripts/lint.py build-lint

coverage: packages-coverage
	cmake --preset coverage
	cmake --build build-coverage -j $(JOBS) --target deepvoro_tests
	scripts/run_in_shards.sh $(JOBS) build-coverage/bin/deepvoro_tests
	cd build-coverage && gcovr --root .. --filter ../src/ --filter ../include/ --exclude '../src/(cli|python)/' --print-summary .

fuzz: packages-test packages-fuzz
	cmake --preset release -DDEEPVORO_TESTS=OFF
	cmake --build build -j $(JOBS) --target deepvoro_program
	tests/fuzz/sanitized_libraries.sh build-fuzz
	cmake --preset fuzz
	cmake --build build-fuzz -j $(JOBS) --target fuzz_harnesses
	/usr/bin/python3 tests/fuzz/make_seeds.py build/bin/deepvoro build-fuzz/corpus
	/usr/bin/python3 tests/fuzz/run.py build-fuzz $(or $(MINUTES),10)

kill-campaign: packages-test
	cmake --preset release -DDEEPVORO_TESTS=ON -DDEEPVORO_BACKBONE=ON
	cmake --build build -j $(JOBS) --target deepvoro_program deepvoro_backbone kill_at_call
	/usr/bin/python3 tests/kills/campaign.py build/bin/deepvoro build/lib/libkill_at_call.so

faults: packages-test
	/usr/bin/python3 tests/faults/run.py

bench: packages-bench
	cmake --preset release -DDEEPVORO_BENCH=ON
	cmake --build build -j $(JOBS)
	/usr/bin/python3 bench/bench.py
	/usr/bin/python3 bench/heads.py
	/usr/bin/python3 bench/plda.py

bench-pictures: packages-bench
	cmake --preset release -DDEEPVORO_BENCH=ON
	cmake --build build -j $(JOBS) --target deepvoro_picture_bench
	/usr/bin/python3 bench/picture_speed.py

bench-serve: packages-bench-serve build
	/usr/bin/python3 bench/serve.py

# A hundred times: kill -9 while pictures are taught; every acknowledged one must be there.
test-serve-kills: packages-build build
	/usr/bin/python3 bench/serve_kills.py 100

docs: packages-docs
	@mkdir -p build/docs
	doxygen docs/Doxyfile
	@echo build/docs/html/index.html

deb: packages-deb docs build
	cd build && cpack -G DEB

test-deb: deb
	tests/package/test_deb.sh build/deepvoro_*.deb

wheel: packages-wheel build
	DEEPVORO_BUILD=build /usr/bin/python3 -m pip wheel --no-deps --no-index --no-build-isolation --wheel-dir build/wheel .

pictures: demo packages-pipeline build
	@scripts/figures/first_figure.sh docs/pictures/first-figure.svg
	@scripts/install_packages.sh chromium-headless-shell python3 python3-pytest
	/usr/bin/python3 scripts/figures/report_pictures.py build/demo/report.html docs/pictures
	/usr/bin/python3 scripts/figures/serve_pictures.py build/bin/deepvoro docs/pictures

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

# ResNet-50 is installed by the program itself, once.
bench-answers: packages-bench-answers build
	scripts/answers/collections.sh build/answers
	build/bin/deepvoro backbone list | grep -q '^resnet50 ' || build/bin/deepvoro backbone install resnet50
	PYTHONPATH=build/python /usr/bin/python3 bench/answers.py build/answers

packages-program:
	@scripts/install_packages.sh $(PROGRAM_PACKAGES)
packages-build:
	@scripts/install_packages.sh $(BUILD_PACKAGES)
packages-clang:
	@scripts/install_packages.sh clang
packages-aarch64:
	@scripts/install_packages.sh $(PROGRAM_PACKAGES) g++-aarch64-linux-gnu qemu-user
packages-cluster:
	@scripts/install_packages.sh $(TEST_PACKAGES) munge slurmctld slurmd slurm-client
packages-fuzz:
	@scripts/install_packages.sh clang libclang-rt-14-dev dpkg-dev
packages-test:
	@scripts/install_packages.sh $(TEST_PACKAGES)
packages-lint:
	@scripts/install_packages.sh $(LINT_PACKAGES)
packages-coverage:
	@scripts/install_packages.sh $(COVERAGE_PACKAGES)
packages-bench:
	@scripts/install_packages.sh $(BENCH_PACKAGES)
packages-docs:
	@scripts/install_packages.sh $(DOCS_PACKAGES)
packages-deb:
	@scripts/install_packages.sh $(DEB_PACKAGES)
packages-wheel:
	@scripts/install_packages.sh $(WHEEL_PACKAGES)
packages-pipeline:
	@scripts/install_packages.sh $(PIPELINE_PACKAGES)
packages-bench-extract:
	@scripts/install_packages.sh $(EXTRACT_PACKAGES)
packages-bench-serve:
	@scripts/install_packages.sh $(BENCH_PACKAGES) wrk
packages-bench-answers:
	@scripts/install_packages.sh $(ANSWERS_PACKAGES)

clean:
	rm -rf build build-dev build-debug build-asan build-tsan build-coverage build-clang build-fuzz build-lint
