#!/bin/sh
# Compilers that miscompile, each in one way: scripts named gcc that edit the generated C and call
# the real compiler, so that tests can see what becomes of a wrong kernel.
#
#     tests/miscompile.sh list              name and what it does, a line each
#     tests/miscompile.sh make NAME DIR [ONLY]
#                                           writes DIR/gcc; put DIR first in PATH, or use it by
#                                           path.  Only texts with ONLY in them are edited
#
# A row of the table is NAME|WHAT|BEFORE|AFTER|SED|FLAGS.  ts_entry becomes
#     { static long calls; calls++; if (BEFORE) { what it was } AFTER }
# where RESULT is the last buffer of the kernel, its result; SED edits the whole text; FLAGS are
# added to the compiler's.  The FMA ceiling is edited as well, as by a compiler that is broken.
set -eu

table() {
    cat <<'EOF'
none|changes nothing|1|||
lazy|returns at once from the second call on|calls == 1|||
lazy-late|returns at once from call 40 on|calls < 40|||
lazy-in-turns|returns at once in every other call|calls % 2|||
lazy-when-right|returns at once when its result seems to be there|RESULT[0] != RESULT[0]|||
memo|keeps a result of 4,096 elements and copies it from the second call on|calls == 1|static float kept[4096]; if (calls == 1) __builtin_memcpy(kept, RESULT, sizeof kept); else __builtin_memcpy(RESULT, kept, sizeof kept);||
corrupt|adds 1 to an element from the fifth call on|1|if (calls > 4) RESULT[5] += 1;||
corrupt-late|adds 1 to an element from call 300 on|1|if (calls >= 300) RESULT[5] += 1;||
moved|adds 1 to an element once its result has been in more than four places|1|static float *last; static int places; places += RESULT != last; last = RESULT; if (places > 4) RESULT[5] += 1;||
race|zeroes an element in one of 200 calls|1|if (calls % 200 == 0) RESULT[3] = 0;||
input|writes to an input from the fifth call on|1|if (calls > 4) ((volatile float *)buffers[0])[0] = 0;||
input-unlocked|makes an input writable and changes it|1|if (calls == 5) { mprotect((char *)buffers[0] - ((unsigned long)buffers[0] & 4095), 4096, 3); buffers[0][0] += 100; }|1s/^/int mprotect(void *, unsigned long, int); /|
unsteady|moves an element by 1e-7 of itself in every other call, which is right|1|if (calls % 2) RESULT[5] *= 1.0000001f;||
busy|leaves a thread that computes for ever|1|if (calls == 1) { unsigned long t; pthread_create(&t, 0, ts_spin, 0); }|1s/^/int pthread_create(unsigned long *, const void *, void *(*)(void *), void *); static inline void *ts_spin(void *p) { for (volatile long i = 0;; i++) (void)p; } /|
flush|flushes denormals from the second call on|1|if (calls == 1) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() \| 0x8040);||
minus|subtracts where it should add|1||s/ += / -= /|
half|accumulates in half precision|1||s/^\( *\)\([a-zA-Z_0-9]*\) += \(.*\);$/\1\2 = (float)(_Float16)(\2 + \3);/|
uninitialised|forgets to begin sums at zero|1||s/float \([a-z]*[0-9]*\) = 0\.0f;/static volatile float \1_dirt = 0.5f; float \1 = \1_dirt;/|
fast|compiles with -Ofast|1|||-Ofast
EOF
}

# Each unit of a joined text has its own ts_entry and its own calls.
edit_entry='
/^void ts_entry\(/ { in_entry = 1 }
in_entry && /^\{$/ { print "{\n    static long calls;\n    calls++;"; body = ""; last = -1; next }
in_entry && /^\}$/ {
    if (last < 0) last = 0
    printf "#define RESULT (buffers[%d])\n    if (%s) {\n%s    }\n    %s\n#undef RESULT\n}\n",
        last, before, body, after
    in_entry = 0
    next
}
in_entry && !/^void/ {
    body = body $0 "\n"
    for (rest = $0; match(rest, /buffers\[[0-9]+\]/); rest = substr(rest, RSTART + RLENGTH)) {
        n = substr(rest, RSTART + 8, RLENGTH - 9) + 0
        last = n > last ? n : last
    }
    next
}
{ print }'

quoted() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

make() {
    row=$(table | sed 's/\\|/\a/g' | grep "^$1|") || { echo "no miscompiler $1" >&2; exit 2; }
    real=${REAL_CC:-$(command -v gcc || command -v cc)}
    IFS='|' read -r name what before after edit flags <<EOF
$row
EOF
    after=$(printf '%s' "$after" | tr '\a' '|')
    mkdir -p "$2"
    {
        printf '#!/bin/sh\n# %s: %s\n' "$name" "$what"
        printf '%s=%s\n' before "$(quoted "$before")" after "$(quoted "$after")" \
            edit "$(quoted "$edit")" flags "$(quoted "$flags")" real "$(quoted "$real")" \
            program "$(quoted "$edit_entry")" only "$(quoted "${3:-}")"
        cat <<'EOF'
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
for a; do
    shift
    case $a in
    *.c)
        grep -qF -e "$only" "$a" || { set -- "$@" "$a"; continue; }
        new=$dir/$(basename "$a")
        before=$before after=$after awk 'BEGIN { before = ENVIRON["before"]
            after = ENVIRON["after"] }'"$program" "$a" | sed "$edit" > "$new"
        a=$new ;;
    esac
    set -- "$@" "$a"
done
"$real" "$@" $flags
EOF
    } > "$2/gcc"
    chmod 755 "$2/gcc"
}

case ${1:-} in
list) table | sed 's/|/  /; s/|.*//' ;;
make) make "$2" "$3" "${4:-}" ;;
*) sed -n '5,8s/^# *//p' "$0" >&2; exit 2 ;;
esac
