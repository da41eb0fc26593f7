#!/usr/bin/env bash
# A signal ends every command soon, with exit status 130, whatever the command is doing, and nothing
# half written stays behind.
# tests/run.sh: takes 14 s
. "$(dirname "$0")/lib.sh"
export TILESCOPE_RECORDS=$dir/records.db XDG_CACHE_HOME=$dir/cache
limit_ms=1500                             # a second, and what a busy machine adds

now_ms() { echo $((${EPOCHREALTIME/[^0-9]/} / 1000)); }

# ends SIGNAL AFTER_S ARGS...: the command still runs after AFTER_S; then it gets the signal.
ends() {
    local sig=$1 after=$2 child rc start took
    shift 2
    "$TILESCOPE" "$@" <&0 > "$dir/out" 2>&1 &
    child=$!
    sleep "$after"
    if ! kill -"$sig" $child 2> /dev/null; then
        wait $child
        flunk "still runs after $after s: tilescope $*" "exit $?"$'\n'"$(head -n 5 "$dir/out")"
        return
    fi
    start=$(now_ms)
    wait $child
    rc=$?
    took=$(($(now_ms) - start))
    if [ $rc != 130 ] || [ $took -gt $limit_ms ]; then
        flunk "$sig ends tilescope $*" "exit $rc after $took ms"$'\n'"$(tail -n 5 "$dir/out")"
    else
        pass "$sig ends tilescope $*"
    fi
}

# Long work: measuring, comparing, searching, learning, simulating, the reference, a machine model.
big='gmm m=2048 k=2048 n=2048'
ends INT 0.7 run "$gmm" --time 60 --meters clock
ends TERM 0.7 run "$big" --meters none
ends HUP 0.7 run "$big" --meters sim --sim-budget 1000000000000
ends TERM 0.7 bench "$gmm" "$gmm" --time 60
ends TERM 1 tune "$gmm" --budget 5000
ends INT 1 tune "$gmm" --budget 5000 --strategy ppo
ends TERM 1 study alt.fig1.c2d
ends TERM 0.7 machine --measure
ends TERM 0.7 expert 'c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1' --search 8 --time 20
printf 'pretrain: 1\nbudget: 200\nworkloads:\n- gmm m=64 n=64 k=64\n' > "$dir/list.yaml"
ends TERM 1 pretrain "$dir/list.yaml" -o "$dir/agents.weights"

# What never answers: a reader of FIFOs and of standard input, a writer, a compiler, a locked file.
mkfifo "$dir/fifo"
exec 7<> "$dir/fifo"                      # it can be opened, and nothing comes
for args in "run $dir/fifo" "show $dir/fifo" "run s --steps $dir/fifo" "import $dir/fifo" \
            "records import $dir/fifo" "study $dir/fifo" "expert $dir/fifo"; do
    read -ra words <<< "${args/ s / $dir/s.yaml }"
    [ -e "$dir/s.yaml" ] || printf 'tilescope: 1\noperator: %s\n' "$gmm" > "$dir/s.yaml"
    ends TERM 0.3 "${words[@]}"
done
exec 7>&-
ends INT 0.3 show "$dir/fifo"             # cannot even be opened
sleep 20 > "$dir/fifo" &                  # keeps it open, says nothing
writer=$!
ends TERM 0.3 records import - < "$dir/fifo"
kill $writer
ends TERM 0.3 export "$gmm" -o "$dir/fifo"
cat > "$dir/deaf-cc" <<END
#!/bin/sh
case "\$*" in *version*) exec gcc "\$@" ;; esac
trap "" TERM INT HUP
echo \$\$ > "$dir/pid"
while :; do sleep 0.1; done
END
chmod +x "$dir/deaf-cc"
ends TERM 0.7 run 'gmm m=25 k=17 n=33' --meters none --compiler "$dir/deaf-cc"
sleep 0.2
# Who has ended and was not waited for yet (by an init that is slow to) is gone as well.
case $(sed 's/.*) //' "/proc/$(cat "$dir/pid")/stat" 2> /dev/null) in
'' | Z*) gone=yes ;;
*) gone=no ;;
esac
same 'the compiler is gone' yes "$gone"

# The records: an import of 300,000 lines, which takes seconds.
awk 'NR == 1 { print }
     NR == 2 { at = index($0, "\"trial\": 1,")
               head = substr($0, 1, at - 1)
               tail = substr($0, at + 11)
               for (i = 1; i <= 300000; i++) print head "\"trial\": " i "," tail }' \
    tests/fuzz/corpus/records/run.jsonl > "$dir/many.jsonl"
export TILESCOPE_RECORDS=$dir/many.db
ends TERM 0.5 records import "$dir/many.jsonl"
t 0 '0 records, sound' records check

same 'nothing is left half written' '' "$(find "$dir" -name '*.tilescope-*')"
finish
