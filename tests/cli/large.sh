#!/usr/bin/env bash
# Graphs of more tensors than can be measured: refused before anything is compiled.
. "$(dirname "$0")/lib.sh"
export TILESCOPE_RECORDS=$dir/records.db

# A convolution and N element-wise nodes, as a session.
graph() {
    echo 'tilescope: 1'
    echo 'operator: |'
    echo '  x = input n=1 i=8 h=6 w=6'
    echo '  x0 = c2d(x) o=8 k=3'
    for i in $(seq "$1"); do echo "  x$i = relu(x$((i - 1)))"; done
}
graph 200 > "$dir/200.yaml"
graph 300 > "$dir/300.yaml"
graph 3900 > "$dir/3900.yaml"
cat > "$dir/cc" <<END
#!/bin/sh
case "\$*" in *-shared*|*-c*) echo "\$*" >> "$dir/compiled" ;; esac
exec gcc "\$@"
END
chmod +x "$dir/cc"
cat > "$dir/study.yaml" <<END
study: 1
id: large
title: too large
cases:
- {id: a}
variants:
- {id: plain, session: 300.yaml}
metrics:
- {id: latency, unit: ms, value: latency_ms.min}
END

says='more than 256 cannot'
# refused EXIT ARGS...: and no kernel was compiled, in less than 2 s of computing.
refused() {
    local want=$1 before after
    shift
    rm -f "$dir/compiled"
    before=$(cpu)
    t "$want" "$says" "$@" --compiler "$dir/cc"
    after=$(cpu)
    [ ! -e "$dir/compiled" ] && pass 'nothing was compiled' \
        || flunk 'nothing was compiled' "$(cat "$dir/compiled")"
    [ $((after - before)) -le 200 ] && pass 'at once' \
        || flunk 'at once' "$((after - before)) hundredths of a second"
}
# Hundredths of a second that ended children of this shell have computed.
cpu() { awk '{ print $16 + $17 }' "/proc/$$/stat"; }

printf 'int main(void) { return 0; }\n' > "$dir/probe.c"
"$dir/cc" -c "$dir/probe.c" -o "$dir/probe.o"
[ -s "$dir/compiled" ] && pass 'the compiler notes what it compiles' \
    || flunk 'the compiler notes what it compiles'
refused 3 run "$dir/300.yaml"
refused 3 run "$dir/3900.yaml"
refused 1 bench "$dir/300.yaml" "$dir/3900.yaml"
refused 2 bench "$dir/200.yaml" "$dir/200.yaml"      # each alone is not too large
refused 0 study "$dir/study.yaml"
finish
