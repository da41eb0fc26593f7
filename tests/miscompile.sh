#!/bin/sh
# Compilers that miscompile, each in one way: scripts named gcc that edit the generated C and call
# the real compiler, so that tests can see what becomes of a wrong kernel.
#
#     tests/miscompile.sh list              name and what it does, a line each
#     tests/miscompile.sh make NAME DIR [ONLY]
#                                           writes DIR/gcc; put DIR first in PATH, or use it by
#                                           path.  Only texts with ONLY in them are edited
#
# The table is miscompile.def.
set -eu

table() {
    grep -v '^#' "${0%.sh}.def"
}

# Each unit of a joined text has its own ts_entry_N and its own calls.
edit_entry='
/^void ts_entry(_[0-9]+)?\(/ { in_entry = 1 }
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
    edit=$(printf '%s' "$edit" | tr '\a' '|')
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
