#!/usr/bin/env bash
# Imports go down only, between rooms and between the folders of a room, and no files import each
# other in a circle.  Each outside library has one door.  Elements have a type.
set -u
cd "$(dirname "$0")/.." || exit 1

# Lower folders first.  A folder may import from itself and from those before it.
order="kernels/base kernels/ir kernels/ops kernels/onnx kernels/layout kernels/nest
       kernels/program+kernels/gen kernels/module
       profile/cuda profile/sim profile/host profile/build profile/counters profile/vendor
       profile/child profile/measure profile/machine
       explorer/history explorer/expert explorer/space explorer/model explorer/agent explorer/tune
       sessions/file sessions/records sessions/report sessions/tuning sessions/study sessions/export
       app/ui app/model app/views app/cli app"

sources() { find app sessions explorer profile kernels -name '*.[ch]' -o -name '*.def' | sort; }

# "FILE IMPORTED" for every import of a file of ours.
imports() {
    sources | xargs awk -F'"' '/^#[ ]*include[ ]+"/ { print FILENAME, $2 }'
}

# Every import that goes up or sideways.  kernels/program and kernels/gen do not see each other.
upward() {
    imports | awk -v order="$order" '
        BEGIN {
            n = split(order, level)
            for (i = 1; i <= n; i++) {
                m = split(level[i], folder, "+")
                for (k = 1; k <= m; k++) rank[folder[k]] = i
            }
        }
        # a/b/c/d.h -> a/b: plugins and event sets belong to the folder that they lie in.
        function room(path,    part, n) {
            n = split(path, part, "/")
            return n > 2 ? part[1] "/" part[2] : part[1]
        }
        {
            from = room($1)
            to = room($2)
            if (!(from in rank) || !(to in rank))
                print $1 ": " $2 ": not in a folder that tests/layers.sh knows"
            else if (from != to && rank[from] <= rank[to])
                print $1 ": includes " $2
        }'
}

# A unit is a header with the files that implement it: x.h, x.c, x_impl.h, x_part.c, or for a file
# without a header of its name the first header of its folder that it includes.  What is left when
# units that import nothing of what is left, or are imported by nothing of it, are taken away, are
# circles.
circles() {
    imports | awk '
        function stem(path) { sub(/\.[a-z]+$/, "", path); return path }
        { from[NR] = $1; to[NR] = $2; if ($2 ~ /\.h$/) header[stem($2)] = 1
          if (!($1 in first) && $1 ~ /\.c$/ && folder($1) == folder($2)) first[$1] = $2 }
        function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
        function unit(path,    s, t) {
            s = stem(path)
            if (path ~ /\.c$/ && !(s in header) && path in first) s = stem(first[path])
            t = s
            if (sub(/_impl$/, "", t) && t in header) s = t
            return s
        }
        END {
            for (i = 1; i <= NR; i++) {
                a = unit(from[i])
                b = unit(to[i])
                if (a != b && !((a, b) in edge)) { edge[a, b] = 1; out[a]++; in_[b]++ }
                node[a]
                node[b]
            }
            do {
                again = 0
                for (u in node)
                    if (out[u] < 1 || in_[u] < 1) {
                        for (v in node) {
                            if ((v, u) in edge) { out[v]--; delete edge[v, u] }
                            if ((u, v) in edge) { in_[v]--; delete edge[u, v] }
                        }
                        delete node[u]
                        again = 1
                    }
            } while (again)
            for (u in node) for (v in node) if ((u, v) in edge) reach[u, v] = 1
            for (k in node) for (u in node) if ((u, k) in reach)
                for (v in node) if ((k, v) in reach) reach[u, v] = 1
            for (e in edge) {
                split(e, ab, SUBSEP)
                if ((ab[2], ab[1]) in reach) print ab[1] " imports " ab[2] | "sort"
            }
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

# Elements have a type (kernels/ir/type.h): only the table, the vendor plugins, the networks of
# the tuner and products of matrices know one by name.
floats() {
    sources \
        | grep -vE '^kernels/(ir/type|base/mat)|/plugins/|^explorer/(agent|model|tune)/' \
        | xargs grep -nE 'sizeof\(float\)|(^|[^_[:alnum:]])float \*+ *[_[:alpha:]]' \
        | grep -vE ':[0-9]+: *(/?\*|//)'
}

# A struct tag has one definition.  Each vendor plugin defines its own vendor_handle.
tags() {
    sources | xargs awk '
        /^(static |const |typedef )*struct [a-z_0-9]+ [{]/ {
            match($0, /struct [a-z_0-9]+/)
            tag = substr($0, RSTART, RLENGTH)
            if (tag in first && tag != "struct vendor_handle")
                print FILENAME ": " tag " is also defined in " first[tag]
            first[tag] = FILENAME
        }'
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

echo "1..10"
check "imports go down only" "$(upward)"
check "no files import each other in a circle" "$(circles)"
check "one file includes curses" "$(doors '(ncursesw/)?n?curses\.h' app)"
check "one file includes yaml.h" "$(doors 'yaml\.h' sessions)"
check "one file includes papi.h" "$(doors 'papi\.h' profile)"
check "one file includes the protobuf code" "$(doors 'onnx\.pb-c\.h' kernels/onnx)"
check "one file includes sqlite3.h" "$(doors 'sqlite3\.h' sessions)"
check "only app/ calls exit()" "$(exits)"
check "elements have a type" "$(floats)"
check "no struct tag is defined twice" "$(tags)"
exit $status
