#!/usr/bin/env bash
# A poor environment is told as what it is: few files, processes, memory, no /proc, no PATH.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/r.db XDG_CACHE_HOME=$dir/cache CCACHE_DISABLE=1
op='gmm m=16 k=8 n=32'
run=(run "$op" --meters clock --time 0.02)
tune=(tune "$op" --budget 9 --fresh --baselines none --quiet)

# says EXIT REGEX NAME COMMAND...: like t, of any command.
says() {
    local want=$1 regex=$2 name=$3 rc
    shift 3
    out=$("$@" 2>&1)
    rc=$?
    if [ $rc = "$want" ] && grep -qE -e "$regex" <<< "$out"; then
        pass "$want $name"
    else
        flunk "exit $want, says $regex: $name" \
            "exit $rc, and it said:"$'\n'"$(head -n 12 <<< "$out")"
    fi
}
mended() { grep -qE "fix: .*$1" <<< "$out" && pass "fix: $1" || flunk "fix: $1" "$out"; }

under() { eval "ulimit $1" && shift && exec "$@"; }
# limited EXIT REGEX LIMIT ARGS...: tilescope under `ulimit LIMIT`.
limited() { says "$1" "$2" "ulimit $3: $4" under "$3" "$TILESCOPE" "${@:4}"; }

grep -q __asan_init "$TILESCOPE" && asan=yes || asan=no

# Soft limits are raised; where that is not allowed, they are told.
limited 0 'GFLOP/s' '-S -n 8' "${run[@]}"
limited 0 'GFLOP/s' '-S -s 64' "${run[@]}"
limited 0 'verified: true' '-S -s 64' "${tune[@]}"
limited 0 'verified: true' '-s 2048' "${tune[@]}"
limited 3 'the limit of the stack is below 2 MiB \[E_ENV\]' '-s 64' "${run[@]}"
mended 'raise `ulimit -s`'
limited 3 'the limit of open files is below 20 \[E_ENV\]' '-n 12' "${run[@]}"
mended 'raise `ulimit -n`'

# Files that somebody else has opened already.
crowded() {
    ulimit -n 24
    for fd in {3..22}; do eval "exec $fd< /dev/null"; done
    "$@"
}
says 3 'Too many open files' 'many files are open' crowded "$TILESCOPE" "${run[@]}"
mended 'raise `ulimit -n`'

# Memory.
if [ $asan = yes ]; then
    pass '# SKIP address sanitizer maps terabytes'
else
    limited 3 'no memory for buffers of .*Cannot allocate memory' '-v 60000' "${run[@]}"
    mended 'raise `ulimit -v`'
    rm -rf "$dir/cache"
    limited 3 'the compiler gcc ran out of memory' '-v 25000' "${run[@]}" --compiler gcc
    mended 'raise `ulimit -v`'
fi

# What a compiler writes may be too large for a limit, or for nobody's.
rm -rf "$dir/cache"
limited 3 'larger than the file size limit' '-f 4' "${run[@]}" --compiler gcc
mended 'raise `ulimit -f`'

# Nothing to be found, nowhere to write.
says 3 'neither gcc nor clang is in PATH' 'no PATH' env PATH=/nonexistent "$TILESCOPE" "${run[@]}"
says 3 'neither gcc nor clang is in PATH' 'empty PATH' env PATH= "$TILESCOPE" "${run[@]}"
mkdir "$dir/bin"
printf '#!/bin/sh\necho out of order >&2\nexit 1\n' > "$dir/bin/gcc"
chmod +x "$dir/bin/gcc"
says 3 'gcc does not work: out of order' 'a broken gcc' env PATH="$dir/bin" "$TILESCOPE" "${run[@]}"
for tool in objdump valgrind; do
    printf '#!/bin/sh\nkill -9 $$\n' > "$dir/bin/$tool"
    chmod +x "$dir/bin/$tool"
done
rm "$dir/bin/gcc"
says 3 'objdump was ended by signal 9' 'objdump is killed' \
    env PATH="$dir/bin:$PATH" "$TILESCOPE" show "$op" --what asm
printf '#!/bin/sh\nPATH=%s objdump "$@"\nyes "$(printf %%99s)" | head -c 2000000\n' "$PATH" \
    > "$dir/bin/objdump"
says 0 'the rest is missing: objdump printed more than 1 MiB' 'objdump prints too much' \
    env PATH="$dir/bin:$PATH" "$TILESCOPE" show "$op" --what asm
rm "$dir/bin/objdump"
says 0 'valgrind does not work: signal 9' 'valgrind is killed' \
    env PATH="$dir/bin:$PATH" "$TILESCOPE" meters
says 0 'GFLOP/s' 'no TMPDIR' env TMPDIR=/nonexistent "$TILESCOPE" "${run[@]}"
says 2 'cannot create the folder /dev/null' 'no cache' \
    env XDG_CACHE_HOME=/dev/null "$TILESCOPE" "${run[@]}"
mended 'set XDG_CACHE_HOME'
says 0 'GFLOP/s' 'no home' env -u XDG_CACHE_HOME HOME=/dev/null "$TILESCOPE" "${run[@]}"

# The leak checker needs a process.
[ $asan = yes ] && export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0

# nobody COMMAND...: as a user whom limits and permissions bind, when that can be had here.
open=$(mktemp -d /tmp/tilescope-test-XXXXXX)
trap 'rm -rf "$dir" "$open"' EXIT
mkdir -m 777 "$open/cache"
mkdir -p "$open/closed/tilescope/objects"
chmod 755 "$open"
nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent \
        TILESCOPE_RECORDS="$open/cache/r.db" XDG_CACHE_HOME="$open/cache" TMPDIR=/tmp "$@"
}
if ! nobody test -x "$TILESCOPE" 2> /dev/null; then
    pass '# SKIP no other user can run it here'
else
    for u in 1 2; do
        says 3 'Resource temporarily unavailable|Cannot fork' "$u processes" nobody \
            bash -c 'ulimit -u "$0"; exec "$@"' $u "$TILESCOPE" "${run[@]}"
        mended 'raise `ulimit -u`'
    done
    says 3 'cannot write .*Permission denied' 'a read-only cache' nobody \
        env XDG_CACHE_HOME="$open/closed" "$TILESCOPE" "${run[@]}"
    mended 'set XDG_CACHE_HOME'
fi

# mounted WHERE SIZE COMMAND...: with a file system of its own there.
mounted() { unshare -m bash -c 'mount -t tmpfs -o size=$1 none "$0"; shift; exec "$@"' "$@"; }
if ! mounted "$open/closed" 64k true 2> /dev/null; then
    pass '# SKIP nothing can be mounted here'
else
    # Without /proc it is found by the name that it was started by.
    unset TILESCOPE_RUNNER
    cd "$(dirname "$TILESCOPE")" || exit
    if [ $asan = yes ]; then
        pass '# SKIP address sanitizer has its options from /proc'
    else
        says 0 'GFLOP/s' 'no /proc' mounted /proc 64k "$TILESCOPE" "${run[@]}"
        says 0 'verified: true' 'no /proc, a relative name' \
            mounted /proc 64k ./tilescope "${tune[@]}"
        says 0 '/proc is not mounted, but the counting process' 'a meter that needs it' \
            mounted /proc 64k "$TILESCOPE" run "$op" --meters instructions
    fi
    says 3 'No space left on device' 'a full disk' mounted "$open/closed" 16k \
        env XDG_CACHE_HOME="$open/closed" "$TILESCOPE" "${run[@]}"
    mended 'free some space'
fi
finish
