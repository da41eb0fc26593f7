#!/usr/bin/env bash
# `make trust`: are wrong kernels refused, and right ones verified?
#
# Twenty-odd compilers that miscompile (tests/miscompile.sh) on operators where it matters, and
# kernels that are right but sum in other orders, over many scales: all nine families under random
# schedules, sums of up to a million terms, outputs over twelve decades.  Prints a table; exit code
# 1 when a wrong kernel was timed or a right one was not verified.
#
#     tests/conformance/trust.sh [SEED]     (of the random schedules)
set -u
cd "$(dirname "$0")/../.." || exit 1
seed=${1:-1}
build=${BUILD_DIR:-build/release}
tilescope=$PWD/$build/tilescope
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state HOME=$work TILESCOPE_RECORDS=
unset CC
failures=0

gmm='gmm m=64 n=64 k=64'
conv='c2d n=1 i=8 h=14 w=14 o=16 k=3 p=1'
powers='x = input n=4096; a = mul(x, x); b = mul(a, a); c = mul(b, b); d = mul(c, c); e = mul(d, d)'
softmax='x = input n=64 m=64; y = softmax(x) axis=1'
sum='x = input n=64 m=4608; y = reduce_sum(x) axes=1'

# "OUTCOME|VERIFIED|TIMED|REASON|PART OF THE BOUND"; 0.5 s are a thousand calls.
verdict() {                               # ARGS of run...
    "$tilescope" run "$@" --meters clock --time 0.5 --json 2> "$work/err" > "$work/out"
    awk '/"outcome":/ { o = $0 } /"reason":/ && !r { r = $0 } /"error_of_bound":/ && !b { b = $2 }
        /"verified":/ && !v { v = $2 } /"latency_ms":/ && !l { l = $2 }
        END {
            gsub(/.*: "|",?$/, "", o); gsub(/.*": "?|"?,$/, "", r); gsub(/,/, "", b)
            print o "|" (v ~ /true/) "|" (l !~ /null/) "|" r "|" b
        }' "$work/out"
}

row() {                                   # WHAT OPERATOR VERDICT WANTED("refused"|"verified")
    local outcome verified timed reason bound good=ok
    IFS='|' read -r outcome verified timed reason bound <<< "$3"
    if [ "$4" = refused ]; then
        [ "$outcome" != ok ] && [ "$verified$timed" = 00 ] || good=BAD
    else
        [ "$outcome$verified$timed" = ok11 ] || good=BAD
        reason="${bound%,} of the bound"
    fi
    [ $good = ok ] || failures=$((failures + 1))
    printf '%-4s %-16s %-34.34s %-13s %s\n' "$good" "$1" "$2" "${outcome:-no answer}" \
        "${reason:0:70}"
}

# How many elements the result of an operator of this file has.
result_of() {
    case $1 in
    "$conv") echo $((16 * 14 * 14)) ;;
    "$sum") echo 64 ;;
    *) echo 4096 ;;
    esac
}

wrong() {                                 # NAME OPERATOR...
    local name=$1 operator
    shift
    for operator; do
        export TILESCOPE_CFLAGS=-DRESULT_N=$(result_of "$operator")
        tests/miscompile.sh make "$name" "$work/$name"
        row "$name" "$operator" "$(verdict "$operator" --compiler "$work/$name/gcc")" refused
    done
}

echo "Wrong kernels, by compilers that miscompile"
for late in lazy lazy-late lazy-in-turns lazy-when-right memo corrupt corrupt-late race input \
    input-unlocked; do
    wrong $late "$gmm" "$conv"
done
wrong minus "$gmm" "$conv" "$sum"
wrong half "$gmm" "$conv" "$sum"
wrong half-result "$gmm" "$conv" "$sum" "$softmax"
wrong uninitialised "$gmm" "$conv" "$sum"
wrong drop-first "$gmm" "$conv" "$sum" "$softmax"
wrong drop-last "$gmm" "$conv" "$sum" "$softmax"
wrong swap "$gmm"
wrong next-element "$gmm" "$conv" "$softmax"
wrong zero-small "$conv" "$powers"
wrong skip-row "$gmm" "$conv" "$sum"
wrong scale "$gmm" "$conv" "$powers" "$softmax"

unset TILESCOPE_CFLAGS
echo
echo "Right kernels"
right() {                                 # WHAT OPERATOR [STEPS]
    printf '%s\n' "${3:-}" | tr ';' '\n' > "$work/steps"
    row "$1" "$2" "$(verdict "$2" --steps "$work/steps")" verified
}
for fine in none unsteady busy fast; do
    tests/miscompile.sh make $fine "$work/$fine"
    row "$fine" "$gmm" "$(verdict "$gmm" --compiler "$work/$fine/gcc")" verified
    row "$fine" "$powers" "$(verdict "$powers" --compiler "$work/$fine/gcc")" verified
done
right 'powers' "$powers"
right 'powers' "$powers" 'loop split e N 16;loop vectorize e N.1'
for n in 100 10000 1000000; do
    for data in 'x = input n=8 m=%d; y = reduce_sum(x) axes=1' \
        'x = input n=8 m=%d; z = abs(x); y = reduce_sum(z) axes=1' \
        'x = input n=8 m=1; z = expand(x) shape=8,%d; y = reduce_sum(z) axes=1' \
        'x = input n=8 m=%d; z = exp(x); y = reduce_mean(z) axes=1'; do
        # shellcheck disable=SC2059
        right "sum of $n" "$(printf "$data" $n)"
    done
done
right 'sum, in lanes' "$sum" 'loop rfactor y RM 16'
right 'long product' 'gmm m=16 n=16 k=100000'
right 'long product' 'gmm m=16 n=16 k=100000' 'loop split C K 100;loop reorder C K.1 M N K.0'

# Every family under random layouts and schedules, as long as it takes for fifty that compile.
"$build/tests/trust" "$seed" > "$work/random" || failures=$((failures + 1))
cat "$work/random"

echo
[ $failures = 0 ] && echo "every wrong kernel was refused, every right one verified" ||
    echo "$failures failures"
exit $((failures > 0))
