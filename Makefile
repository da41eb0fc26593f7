# tilescope.  Two commands do everything on a fresh Debian: `make run` and `make test`.
#   make            build the program              make run        install what is missing, build,
#   make test       every test (< 5 min)                           open the demo session
#   make test-long  and those that take long       make test-all   and clang, sanitizers, fuzz targets,
#                                                                  conformance, monkey, ... (an hour)
#   make asan       tests under ASan + UBSan       make valgrind   some unit tests under memcheck
#   make fuzz       fuzz targets, FUZZ_RUNS executions or FUZZ_SECONDS each (FUZZ_ONLY=yaml: one)
#   make conformance  ONNX's own test cases (package libonnx-testdata)
#   make bench        every operator class against oneDNN and OpenBLAS (10 minutes; bench-quick: 2)
#   make gpu-check    what needs a GPU: build/gpu-check.md (9 minutes; skips what is missing)
#   make bench-networks   networks against onnxruntime and OpenVINO (PEERS, MODELS, NETWORKS)
#   make bench-search     searches without experts against the best schedules known (SEARCH; hours)
#   make bench-tui    a thousand keys on the screen, idle and while tuning (KEYS, MODELS)
#   make bench-engine what applying a step costs       make bench-batch  compiling and measuring many
#   make mutants      random changes of the sources: do the suites see them?  MUTANTS="N SEED FOLDER..."
#   make test-cuda    random and broken CUDA kernels with shared memory (10 minutes; CUDA_SEED)
#   make hunt         random operators under random schedules, HUNT="SECONDS [SEED]"
#   make bench-sim    L1 misses and speed of the simulator against cachegrind (valgrind; 3 minutes)
#   make monkey       random keys on the screen, MONKEY="KEYS SEED"; CONFIG=asan, CONFIG=tsan
#   make trust        miscompiling compilers are refused, right kernels verified: a table
#   make appendix1    the 46 operator configurations of alt.fig9, verified
#   make clang      build with clang, no warnings  make layers     imports go down only
#   make width      no line over 100 columns       make lines      lines per folder
#   make install    to PREFIX (/usr/local)         make golden-update   accept what is printed now
#   make deps       install the Debian packages    make clean      remove build/
# Variables: CC=clang, CONFIG=asan (its own build folder), EXTRA=-Werror, V=1 (whole commands),
#            PREFIX=/usr/local, DESTDIR=.

# What a Debian needs to build and test; nothing else is used.
PACKAGES := build-essential clang libomp-dev pkg-config binutils libncurses-dev libyaml-dev \
            libjansson-dev libprotobuf-c-dev protobuf-c-compiler libonnx-dev \
            libcmocka-dev libvterm-dev libisl-dev tmux valgrind libdnnl-dev libopenblas-dev \
            libpapi-dev libsqlite3-dev libxgboost-dev libzip-dev gnuplot-nox

ifeq ($(origin CC),default)
CC      := gcc
endif
CONFIG  ?= release
PREFIX  ?= /usr/local
B       := build/$(CONFIG)
STRICT  := -std=c17 -pedantic -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes \
           -Wmissing-prototypes -Wswitch-enum -Wvla -Wno-sign-conversion
ifneq ($(findstring clang,$(CC)),)
STRICT  += -Wno-string-concatenation        # a literal of two lines among literals of one is fine
endif
OPT     := -O2 -g
ifeq ($(CONFIG),asan)
OPT     := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
           -fno-omit-frame-pointer
endif
ifeq ($(CONFIG),fuzz)
OPT     := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
           -fno-omit-frame-pointer
endif
ifeq ($(CONFIG),tsan)
OPT     := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
endif
PKGS    := ncursesw yaml-0.1 jansson libprotobuf-c libzip sqlite3
CFLAGS  += $(STRICT) $(OPT) -fopenmp -D_GNU_SOURCE -I. $(EXTRA)
LDLIBS  := -lm -ldl -lpthread
UI_LIBS  = $(shell pkg-config --libs $(PKGS))
UI_CFLAGS = $(shell pkg-config --cflags $(PKGS))
# Without isl, its test says so and skips.
ISL     := $(shell pkg-config --exists isl 2> /dev/null && echo -lisl)
CFLAGS  += $(ISL:-lisl=-DTS_ISL)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

comma   := ,
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '%-5s %s\n' $(1) $@)

ROOMS   := kernels profile explorer sessions
LIB_SRC := $(shell find $(ROOMS) -name '*.c' -not -path '*/plugins/*' 2>/dev/null)
# Vendor baselines: a shared object per library that is there.
PLUGINS := $(if $(wildcard /usr/include/oneapi/dnnl/dnnl.h),$(B)/tilescope-onednn.so) \
           $(if $(shell pkg-config --exists openblas 2> /dev/null && echo yes),$(B)/tilescope-openblas.so)
APP_SRC := $(filter-out app/main.c app/runner_main.c,$(shell find app -name "*.c"))
ONNX_PROTO := /usr/include/onnx/onnx.proto
ONNX_C  := $(B)/onnx/onnx.pb-c.c
EVENTS  := $(sort $(wildcard profile/counters/events/*.txt))
EVENTS_C := $(B)/profile/counters/events/builtin.c
TEMPLATES := $(sort $(wildcard sessions/export/library/*.in))
TEMPLATES_C := $(B)/sessions/export/library/templates.c
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(ONNX_C:.c=.o) $(EVENTS_C:.c=.o) $(TEMPLATES_C:.c=.o)
APP_OBJ := $(APP_SRC:%.c=$(B)/%.o)
TESTS   := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
TEST_LIB := $(patsubst %.c,$(B)/%.o,\
              $(filter-out $(wildcard tests/unit/test_*.c),$(wildcard tests/unit/*.c)))
# The bodies of the fuzz targets are replayed by a unit test as well.
FUZZ    := yaml command spec notation onnx records study expert weights machine cgen
FUZZ_LIB := $(patsubst %.c,$(B)/%.o,$(wildcard tests/fuzz/fuzz_*.c))
TEST_LIB += $(FUZZ_LIB)
FUZZ_LIB += $(patsubst %,$(B)/tests/unit/%.o,run_program interp expr_parse expr_verify graph_print \
              reference_slow)
DEMO    := sessions/examples/r18-conv1-nhwo.yaml

.PHONY: all run tests test test-long test-all test-cuda gpu-check asan monkey trust conformance \
        appendix1 hunt mutants bench bench-quick bench-engine bench-tui bench-batch bench-sim \
        bench-networks bench-search fuzz fuzzers clang valgrind layers width lines pictures \
        golden-update install deps clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:

all: $(B)/tilescope $(B)/tilescope-runner $(PLUGINS)
tests: $(TESTS)

$(B)/tilescope: $(B)/app/main.o $(APP_OBJ) $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) $(LDLIBS)
# The child that loads and runs kernels: small, no curses, no YAML.
$(B)/tilescope-runner: $(B)/app/runner_main.o $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) -rdynamic $^ -o $@ $(LDLIBS)
PLUGIN_DIR := profile/vendor/plugins
$(B)/tilescope-onednn.so: $(B)/$(PLUGIN_DIR)/onednn.o $(B)/$(PLUGIN_DIR)/onednn_desc.o
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) -shared $^ -o $@ -ldnnl
$(B)/tilescope-openblas.so: $(B)/$(PLUGIN_DIR)/openblas.o
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) -shared $^ -o $@ $(shell pkg-config --libs openblas)
$(B)/$(PLUGIN_DIR)/%.o: CFLAGS += -fPIC $(shell pkg-config --cflags openblas 2> /dev/null)
$(B)/libtilescope.a: $(LIB_OBJ)
$(B)/libapp.a: $(APP_OBJ)
$(B)/lib%.a:
	$(call say,ar)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(B)/%.o: %.c $(B)/flags
	$(call say,cc)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(UI_CFLAGS) -MMD -MP -c $< -o $@
# Without debug information a test is a quarter as large, and linked in two thirds of the time;
# sanitizers need it for their messages.  For a debugger: make TEST_LINK=
TEST_LINK = $(if $(findstring -fsanitize,$(OPT)),,-Wl,--strip-debug)
$(B)/tests/%: $(B)/tests/unit/%.o $(TEST_LIB) $(B)/libapp.a $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $(TEST_LINK) $^ -o $@ $(UI_LIBS) -lcmocka -lvterm $(ISL) -lutil $(LDLIBS)
# It listens to what the agents are told.
$(B)/tests/test_tune_moves: LDLIBS += -Wl,--wrap=agents_loop_walk_end \
    -Wl,--wrap=agents_loop_episode_end \
    -Wl,--wrap=agents_loop_step_end,--wrap=agents_layout_reward
# It makes these calls fail.
FAULTS  := open fopen read write fsync rename unlink mkdtemp opendir realpath \
           ftruncate flock mmap memfd_create socketpair pipe2 posix_spawn posix_spawnp \
           poll send recv waitpid
$(B)/tests/test_faults: LDLIBS += $(FAULTS:%=-Wl$(comma)--wrap=%)
# NVIDIA's headers, which only this test sees, include one of C++.
$(B)/tests/unit/test_nvidia_headers.o: UI_CFLAGS += -isystem tests/unit/nvidia
# The ONNX format: its header is seen by one file (and the tests that build models).
$(ONNX_C): $(ONNX_PROTO)
	$(call say,proto)
	@mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(@D) -I$(dir $(ONNX_PROTO)) $(notdir $(ONNX_PROTO))
$(ONNX_C:.c=.o): $(ONNX_C) $(B)/flags
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 -w $(OPT) -I$(@D) $(UI_CFLAGS) -c $< -o $@
ONNX_USERS := $(B)/kernels/onnx/onnx_read.o $(B)/tests/unit/test_onnx.o \
              $(B)/tests/unit/onnx_build.o
$(ONNX_USERS): $(ONNX_C)
$(ONNX_USERS): UI_CFLAGS += -I$(B)/onnx
$(B)/conformance: $(B)/tests/conformance/conformance.o $(TEST_LIB) $(B)/libapp.a \
                  $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) -lcmocka -lvterm $(ISL) -lutil $(LDLIBS)
# The event sets that ship, and the texts of exported libraries, as tables of texts.
# A folder changes when a file goes.
EMBED   := kernels/base/embed.awk
$(EVENTS_C): $(EVENTS) profile/counters/events $(EMBED)
	$(call say,embed)
	@mkdir -p $(@D)
	$(Q)awk -v header=profile/counters/eventset.h -v type=builtin_set -f $(EMBED) $(EVENTS) > $@
$(TEMPLATES_C): $(TEMPLATES) sessions/export/library $(EMBED)
	$(call say,embed)
	@mkdir -p $(@D)
	$(Q)awk -v header=sessions/export/template.h -v type=export_template -f $(EMBED) \
	    $(TEMPLATES) > $@
$(EVENTS_C:.c=.o): $(EVENTS_C) profile/counters/eventset.h $(B)/flags
$(TEMPLATES_C:.c=.o): $(TEMPLATES_C) sessions/export/template.h $(B)/flags
$(EVENTS_C:.c=.o) $(TEMPLATES_C:.c=.o):
	$(call say,cc)
	$(Q)$(CC) $(CFLAGS) -Wno-overlength-strings -c $< -o $@
# Changes when the compiler or a flag does, so that objects of two kinds never meet.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS)' > $@
-include $(shell find $(B) -name '*.d' 2>/dev/null)

# Each of these builds in a second make, after the packages are there.
run: deps
	@$(MAKE) --no-print-directory all
	@$(B)/tilescope $(DEMO)
test: deps
	@$(MAKE) --no-print-directory all tests
	@tests/run.sh $(B)
test-long: deps
	@$(MAKE) --no-print-directory all tests
	@TEST_LONG=1 NARROW_RANDOM=36 SHARED_RANDOM=60 CUDA_EXPERTS=1 TEST_TIMEOUT=900 tests/run.sh $(B)
# Everything that can fail, the quick ones first.
test-all: test-long
	@$(MAKE) --no-print-directory clang asan conformance test-cuda hunt valgrind
	@$(MAKE) --no-print-directory CONFIG=asan MONKEY="5000 $(shell date +%s)" monkey
	@$(MAKE) --no-print-directory FUZZ_SECONDS=20 fuzz
asan: deps
	@$(MAKE) --no-print-directory CONFIG=asan all tests
	@tests/run.sh build/asan
clang: deps
	@$(MAKE) --no-print-directory CC=clang CONFIG=clang EXTRA=-Werror all tests
FUZZ_RUNS ?= 20000
FUZZ_SECONDS ?= 60
FUZZ_ONLY ?= $(FUZZ)
fuzz: deps
	@$(MAKE) --no-print-directory CC=clang CONFIG=fuzz fuzzers
	@tests/fuzz/run.sh build/fuzz $(FUZZ_RUNS) $(FUZZ_SECONDS) $(FUZZ_ONLY)
fuzzers: $(FUZZ:%=$(B)/fuzz/%)
$(B)/fuzz/%.o: tests/fuzz/main.c $(B)/flags
	$(call say,cc)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -DFUZZ_TARGET=fuzz_$* -c $< -o $@
$(B)/fuzz/command: $(B)/tests/fuzz/mutate_command.o $(B)/tests/fuzz/mutate_lines.o
$(B)/fuzz/cgen: $(B)/tests/fuzz/mutate_cgen.o $(B)/tests/fuzz/mutate_lines.o
$(B)/fuzz/onnx: $(B)/tests/fuzz/mutate_onnx.o
$(B)/fuzz/%: $(B)/fuzz/%.o $(FUZZ_LIB) $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $^ -o $@ $(UI_LIBS) $(LDLIBS)
# What a step costs the engine (no kernel is run).
$(B)/bench-engine: $(B)/tests/bench/engine.o $(B)/libtilescope.a
	$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) $(LDLIBS)
# The cost model on random schedules of two convolutions; MODEL="-n 200 -s 1 -f FILE".
$(B)/bench-model: $(B)/tests/bench/model.o $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) $(LDLIBS)
bench-model: all
	@$(MAKE) --no-print-directory $(B)/bench-model
	@TILESCOPE_HOME=. TILESCOPE_RUNNER=$(B)/tilescope-runner $(B)/bench-model $(MODEL)
bench-sim: all
	@TILESCOPE=$(B)/tilescope tests/bench/sim.sh
	@TILESCOPE=$(B)/tilescope KERNELS=tests/bench/unscheduled.txt SPEED=0 REPEAT=1 tests/bench/sim.sh
# The best shipped schedule of every class against oneDNN and OpenBLAS; BENCH="-c dep": one class.
bench bench-quick: all
	@$(MAKE) --no-print-directory $(B)/bench-kernels
	@TILESCOPE_HOME=. TILESCOPE_RUNNER=$(B)/tilescope-runner $(B)/bench-kernels \
	    $(if $(filter bench-quick,$@),-q -n 4 -t 0.15) $(BENCH) -o build \
	    tests/bench/cases.txt tests/conformance/appendix1.txt
$(B)/bench-kernels: $(B)/tests/bench/kernels.o $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) $(LDLIBS)
# Compiling several kernels a call, and candidates a second; BENCH="-n 128 'gmm m=64 n=64 k=64'".
bench-batch: all
	@$(MAKE) --no-print-directory $(B)/bench-batch
	@TILESCOPE_HOME=. TILESCOPE_RUNNER=$(B)/tilescope-runner $(B)/bench-batch $(BENCH)
$(B)/bench-batch: $(B)/tests/bench/batch.o $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) $(LDLIBS)
# All that needs a GPU, in one report; it skips with a reason what is missing (under 9 minutes).
gpu-check: all
	@tests/bench/gpu_check.sh $(B) build/gpu-check.md
# Whole networks against onnxruntime and OpenVINO, which PEERS, a Python of yours, must have:
# make bench-networks PEERS=venv/bin/python MODELS="resnet18.onnx ..." NETWORKS="--threads 1,2"
PEERS  ?= python3
MODELS ?= sessions/examples/resnet8.onnx
bench-networks: all
	@$(PEERS) tests/bench/networks.py $(B)/tilescope $(MODELS) $(NETWORKS)
# Searches without experts on the configurations of alt.fig9; the results stay in build/search, and
# the same command goes on: make bench-search SEARCH="--only 'C2D-*,GMM-1' --budget 1000 --seed 2"
bench-search: all
	@python3 tests/bench/search.py $(B)/tilescope tests/conformance/appendix1.txt $(SEARCH)
# From a key to its redraw on the screen, idle and while tuning: make bench-tui MODELS=bert.onnx
KEYS ?= 1000
bench-tui: all
	@$(MAKE) --no-print-directory $(B)/tests/bench-tui
	@$(B)/tests/bench-tui $(KEYS) $(MODELS)
$(B)/tests/bench-tui: $(B)/tests/bench/tui.o $(TEST_LIB) $(B)/libapp.a $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) -lcmocka -lvterm $(ISL) -lutil $(LDLIBS)
bench-engine: $(B)/bench-engine
	@$(B)/bench-engine sessions/examples/*.yaml
# Every configuration of alt.fig9, verified under its layout template (about two minutes).
# Random schedules against the reference: make hunt HUNT="600 42" is 600 seconds from seed 42.
HUNT ?= 60
hunt: all
	@$(MAKE) --no-print-directory $(B)/hunt
	@TILESCOPE_RUNNER=$(B)/tilescope-runner $(B)/hunt $(HUNT)
$(B)/hunt: $(B)/tests/hunt/hunt.o $(B)/tests/hunt/draw.o $(TEST_LIB) $(B)/libapp.a \
           $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) -lcmocka -lvterm $(ISL) -lutil $(LDLIBS)
# Random keys until something breaks; with sanitizers: make monkey CONFIG=asan MONKEY="20000 7".
MONKEY ?= 2000
monkey: all
	@$(MAKE) --no-print-directory $(B)/tests/monkey
	@ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1 $(B)/tests/monkey $(MONKEY)
$(B)/tests/monkey: $(B)/tests/monkey.o $(TEST_LIB) $(B)/libapp.a $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) -lcmocka -lvterm $(ISL) -lutil $(LDLIBS)
# Wrong kernels and right ones, as a table (three minutes); TRUST=SEED of the random schedules.
trust: all
	@$(MAKE) --no-print-directory $(B)/tests/trust
	@TILESCOPE_RUNNER=$(PWD)/$(B)/tilescope-runner BUILD_DIR=$(B) tests/conformance/trust.sh $(TRUST)
$(B)/tests/trust: $(B)/tests/conformance/trust.o $(B)/tests/hunt/draw.o $(TEST_LIB) $(B)/libapp.a \
                  $(B)/libtilescope.a
	$(call say,link)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) -lcmocka -lvterm $(ISL) -lutil $(LDLIBS)
appendix1: all
	@tests/conformance/appendix1.sh
# Each in a copy of the sources in build/mutants; what survives lies in build/mutants/survivors.
MUTANTS ?= 20 1
mutants: deps
	@tests/mutants.sh $(MUTANTS)
# 2,000 random CUDA schedules with shared tiles, 200 broken ones (10 minutes), 200 with tensor blocks;
# 20 random points of the loop space of each operator; the larger rows of the experts' table.
CUDA_SEED ?= 1
CUDA_SUITES := test_shared test_tensor test_gpu_space test_cuda_expert
test-cuda: deps
	@$(MAKE) --no-print-directory all $(CUDA_SUITES:%=$(B)/tests/%)
	@for suite in $(CUDA_SUITES); do \
	    SHARED_RANDOM=2000 SHARED_BROKEN=200 SHARED_SEED=$(CUDA_SEED) TENSOR_RANDOM=200 GPU_SPACE=20 \
	    CUDA_EXPERTS=1 TILESCOPE_RUNNER=$(PWD)/$(B)/tilescope-runner $(B)/tests/$$suite || exit 1; \
	done
conformance: deps
	@$(MAKE) --no-print-directory $(B)/conformance
	@$(B)/conformance
pictures: $(B)/tilescope
	@$(B)/tilescope snapshot sessions/examples/resnet8.onnx --size 110x30 -o sessions/pictures/resnet8.svg
	@$(B)/tilescope snapshot sessions/examples/r18-conv1-nhwo.yaml --size 110x34 -o sessions/pictures/nest.svg
	@for view in lens compare tune; do \
	    $(B)/tilescope snapshot 'gmm m=512 k=512 n=512' --source sessions/pictures/$$view.lines \
	        --size 110x34 -o sessions/pictures/$$view.svg || exit 1; \
	done
golden-update:
	@$(MAKE) --no-print-directory all tests
	@for t in $$(grep -l golden_check tests/unit/test_*.c); do \
	    TS_UPDATE_GOLDEN=1 $(B)/tests/$$(basename $$t .c) > /dev/null 2>&1 || echo "$$t fails"; \
	done
	@git --no-pager diff --stat -- tests/golden
VALGRIND_TESTS := test_expr test_simplify test_step test_layout test_history test_session
valgrind: deps
	@$(MAKE) --no-print-directory all tests
	@for t in $(VALGRIND_TESTS); do \
	    test -x $(B)/tests/$$t || continue; \
	    echo "valgrind $$t"; \
	    TEST_SLOW=1 valgrind -q --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite \
	        $(B)/tests/$$t > $(B)/$$t.valgrind 2>&1 || { cat $(B)/$$t.valgrind; exit 1; }; \
	done

# Packages: nothing to do is quick; root installs; anybody else gets the line to type.
deps:
	@command -v dpkg-query > /dev/null || exit 0; \
	have=" $$(dpkg-query -W -f '$${db:Status-Status} $${Package}\n' $(PACKAGES) 2> /dev/null \
	    | sed -n 's/^installed //p' | tr '\n' ' ')"; \
	missing=; \
	for p in $(PACKAGES); do case "$$have" in *" $$p "*) ;; *) missing="$$missing $$p" ;; esac; done; \
	if [ -z "$$missing" ]; then \
	    exit 0; \
	elif [ "$$(id -u)" = 0 ]; then \
	    apt-get update && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing; \
	else \
	    echo "Missing packages.  Please run:"; \
	    echo "  sudo apt-get install -y --no-install-recommends$$missing"; \
	    exit 3; \
	fi

layers:
	@tests/layers.sh
width:
	@tests/width.sh
lines:
	@for d in app sessions explorer profile kernels kernels/* tests; do \
	    test -d $$d && printf '%-18s %6d lines in %3d files\n' $$d \
	        $$(find $$d -name '*.[ch]' -o -name '*.def' -o -name '*.sh' | xargs cat | wc -l) \
	        $$(find $$d -name '*.[ch]' -o -name '*.def' -o -name '*.sh' | wc -l); \
	done; true
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/tilescope/examples \
	    $(DESTDIR)$(PREFIX)/share/tilescope/studies \
	    $(DESTDIR)$(PREFIX)/share/tilescope/experts
	install $(B)/tilescope $(B)/tilescope-runner $(PLUGINS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(addprefix sessions/examples/,*.yaml *.onnx *.npz) \
	    $(DESTDIR)$(PREFIX)/share/tilescope/examples
	install -m 644 sessions/studies/*.yaml $(DESTDIR)$(PREFIX)/share/tilescope/studies
	install -m 644 sessions/experts/*.yaml $(DESTDIR)$(PREFIX)/share/tilescope/experts
	install -m 644 sessions/pretrain.yaml $(DESTDIR)$(PREFIX)/share/tilescope
clean:
	rm -rf build
help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile
