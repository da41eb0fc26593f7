#!/usr/bin/env bash
# Imports go down only: app > sessions > explorer > profile > kernels, and inside kernels
# base < ir < ops < onnx < layout < nest < { program, gen }.  Each outside library has one door.
set -u
cd "$(dirname "$0")/.." || exit 1

sources() { find app sessions explorer profile kernels -name '*.[ch]' -o -name '*.def' | sort; }

# "FILE:LINE: includes PATH" for every import that goes up or sideways.
upward() {
    sources | xargs awk '
        BEGIN {
            n = split("base ir ops onnx layout nest", low, " ")
            for (i = 1; i <= n; i++) rank["kernels/" low[i]] = i
            rank["kernels/program"] = rank["kernels/gen"] = n + 1
            split("profile explorer sessions app", high, " ")
            for (i = 1; i <= 4; i++) rank[high[i]] = 10 + i
        }
        function room(path,    part) {
            split(path, part, "/")
            return part[1] == "kernels" ? "kernels/" part[2] : part[1]
        }
        /^#[ ]*include[ ]+"/ {
            split($0, quoted, "\"")
            from = room(FILENAME)
            to = room(quoted[2])
            if (!(to in rank))
                print FILENAME ":" FNR ": " quoted[2] " does not start with a room"
            else if (from != to && rank[from] <= rank[to])
                print FILENAME ":" FNR ": includes " quoted[2]
        }'
}

# The files that include a library, when they are more than one or not where they belong.
doors() {
    local header=$1 room=$2 files
    files=$(sources | xargs grep -lE "^#[ ]*include[ ]+<($header)>")
    [ "$(wc -w <<< "$files")" -le 1 ] && [ -z "$(grep -v "^$room/" <<< "$files")" ] && return
    echo "$files"
}

# exit() belongs to app/; a child between fork and exec ends with _exit().
exits() {
    find sessions explorer profile kernels -name '*.[ch]' | sort \
        | xargs grep -nE '(^|[^_[:alnum:]"])exit[ ]*\(' \
        | grep -vE ':[0-9]+:[ ]*(/?\*|//)|"[^"]*exit'
}

n=0
status=0
check() {
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' <<< "$2"
        status=1
    fi
}

echo "1..7"
check "imports go down only" "$(upward)"
check "one file includes curses" "$(doors '(ncursesw/)?n?curses\.h' app)"
check "one file includes yaml.h" "$(doors 'yaml\.h' sessions)"
check "one file includes papi.h" "$(doors 'papi\.h' profile)"
check "one file includes the protobuf code" "$(doors 'onnx\.pb-c\.h' kernels/onnx)"
check "one file includes sqlite3.h" "$(doors 'sqlite3\.h' sessions)"
check "only app/ calls exit()" "$(exits)"
exit $status
