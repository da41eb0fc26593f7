# tilescope.  Two commands do everything on a fresh Debian: `make run` and `make test`.
#   make            build the program              make run        install what is missing, build, open the demo session
#   make test       every test (< 5 min)           make asan       the same under ASan + UBSan
#   make clang      build with clang, no warnings  make layers     imports go down only
#   make help       the rest
CC      ?= gcc
CONFIG  ?= release
B       := build/$(CONFIG)
STRICT  := -std=c17 -pedantic -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
           -Wswitch-enum -Wvla -Wno-sign-conversion
OPT     := -O2 -g
ifeq ($(CONFIG),asan)
OPT     := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
PKGS    := ncursesw yaml-0.1 jansson
CFLAGS  += $(STRICT) $(OPT) -fopenmp -D_GNU_SOURCE -I. $(EXTRA)
LDLIBS  := -lm -ldl -lpthread -lgomp
UI_LIBS  = $(shell pkg-config --libs $(PKGS))
UI_CFLAGS = $(shell pkg-config --cflags $(PKGS))

ROOMS   := kernels profile explorer sessions
LIB_SRC := $(shell find $(ROOMS) -name '*.c' 2>/dev/null)
APP_SRC := $(filter-out app/main.c app/runner_main.c,$(wildcard app/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
APP_OBJ := $(APP_SRC:%.c=$(B)/%.o)
TESTS   := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
TEST_LIB := $(patsubst %.c,$(B)/%.o,$(filter-out $(wildcard tests/unit/test_*.c),$(wildcard tests/unit/*.c)))

.PHONY: all run test asan clang layers width lines golden-update install deps clean help
all: $(B)/tilescope $(B)/tilescope-runner

$(B)/tilescope: $(B)/app/main.o $(APP_OBJ) $(B)/libtilescope.a
	$(CC) $(CFLAGS) $^ -o $@ $(UI_LIBS) $(LDLIBS)
# The child that loads and runs kernels: small, no curses, no YAML.
$(B)/tilescope-runner: $(B)/app/runner_main.o $(B)/libtilescope.a
	$(CC) $(CFLAGS) -rdynamic $^ -o $@ $(LDLIBS)
$(B)/libtilescope.a: $(LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^
$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(UI_CFLAGS) -MMD -MP -c $< -o $@
$(B)/tests/%: tests/unit/%.c $(TEST_LIB) $(APP_OBJ) $(B)/libtilescope.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(UI_CFLAGS) -MMD -MP $^ -o $@ $(UI_LIBS) -lcmocka -lvterm -lutil $(LDLIBS)
-include $(shell find $(B) -name '*.d' 2>/dev/null)
