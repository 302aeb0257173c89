# Job control in a script: what it prints has no numbers.
set -m
sleep 1000 &
first=$!
sleep 1001 | sleep 1002 &
second=$!
jobs -r | sed 's/^/running: /'
kill -STOP %1
until jobs -s | grep -q .; do sleep 0.01; done
jobs | sed 's/^/after a stop: /'
bg %1 >/dev/null
jobs | sed 's/^/after bg: /'
kill %1
wait $first
echo "killed: $?"
kill %2
wait $second
echo "pipeline: $?"
(exit 7) &
wait $!
echo "wait: $?"
trap 'echo a child has ended' CHLD
true &
wait
trap - CHLD
bash -c 'set -m; sleep 1003 & kill -TSTP %1; until jobs -s | grep -q .; do sleep 0.01; done; jobs; kill -9 %1; while kill -0 $!; do :; done; echo gone' 2>/dev/null
trap 'echo got USR1' USR1
kill -USR1 $$
[ "$(ps -o pgid= -p $$)" -eq "$(ps -o pgid= -p $BASHPID)" ] && echo "one group"
sh -c 'echo parent is the script: $(( PPID == '$$' ))'
exec 3< <(echo from a substitution)
cat <&3
cat <<'END' | while read -r line; do echo "read $line"; done
a
b
END
timeout 0.1 sleep 1000
echo "timeout: $?"
coproc cat
echo through a coprocess >&"${COPROC[1]}"
read -r line <&"${COPROC[0]}"
echo "$line"
kill "$COPROC_PID"
exit 9
