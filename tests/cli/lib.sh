# shellcheck shell=bash
# For the scripts beside this file: each case runs tilescope once and checks exit code and output.
set -u
: "${TILESCOPE:=$PWD/build/release/tilescope}"
# Prose is wrapped to the terminal: here each line in one piece.
shopt -u checkwinsize
export TILESCOPE NO_COLOR=1 LC_ALL=C.UTF-8 COLUMNS=1000
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
gmm='gmm m=24 k=16 n=32'
n=0
failed=0

# pass TEXT / flunk TEXT [WHY]
pass() { n=$((n + 1)); echo "ok $n - $1"; }
flunk() {
    n=$((n + 1)); failed=1
    echo "not ok $n - $1"
    [ -z "${2:-}" ] || awk '{ print "# " $0 }' <<< "$2"
}

# t EXIT REGEX ARGS...: REGEX (grep -E, "" = anything) over stdout and stderr together.
# What was printed stays in $out; standard input is the caller's.
t() {
    local want=$1 regex=$2 rc
    shift 2
    out=$("$TILESCOPE" "$@" 2>&1)
    rc=$?
    if [ $rc != "$want" ]; then
        flunk "exit $want: tilescope $*" "exit $rc, and it said:"$'\n'"$(head -n 12 <<< "$out")"
    elif ! grep -qE -e "$regex" <<< "$out"; then
        flunk "says $regex: tilescope $*" "$(head -n 12 <<< "$out")"
    else
        pass "$want tilescope $*"
    fi
}

# same NAME EXPECTED GOT
same() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        flunk "$1" "$(diff <(echo "$2") <(echo "$3"))"
    fi
}

finish() { echo "1..$n"; exit $failed; }
