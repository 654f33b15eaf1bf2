#!/bin/sh
# A scheduler with the page /distkern and worker processes on this machine.
#
#   cluster/local.sh [WORKERS] [MEMORY_OF_A_WORKER] [PORT] [DASHBOARD_PORT]
#
# Everything listens on the loopback interface only. What ends is started again:
# workers end with their scheduler. Ctrl-C stops all of it.
set -eu
workers=${1:-2}
memory=${2:-1GiB}
port=${3:-8786}
dashboard=${4:-8787}
for number in "$workers" "$port" "$dashboard"; do
    case $number in
    '' | *[!0-9]*)
        echo "local.sh: '$number' is no number; usage: local.sh [WORKERS] [MEMORY] [PORT] [DASHBOARD_PORT]" >&2
        exit 2
        ;;
    esac
done
free='import socket, sys
with socket.socket() as asked:
    asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    asked.bind(("127.0.0.1", int(sys.argv[1])))'
for number in "$port" "$dashboard"; do
    if ! python -c "$free" "$number" 2>/dev/null; then
        echo "local.sh: port $number is taken; give others: local.sh $workers $memory PORT DASHBOARD_PORT" >&2
        exit 2
    fi
done
here=$(cd "$(dirname "$0")" && pwd)
export DASK_CONFIG="${DASK_CONFIG:-$here/distkern.yaml}"

start_scheduler() {
    dask scheduler --host 127.0.0.1 --port "$port" --dashboard-address "127.0.0.1:$dashboard" \
        --preload distkern.show.live.preload &
    scheduler=$!
}
start_pool() {
    dask worker "tcp://127.0.0.1:$port" --host 127.0.0.1 --no-dashboard \
        --nworkers "$workers" --nthreads 1 --memory-limit "$memory" &
    pool=$!
}
stop() {
    trap - INT TERM EXIT
    # what a script has in the background ignores an interrupt until it has begun, and would stay for ever
    kill -TERM "$pool" "$scheduler" 2>/dev/null || true
    left=20
    while [ "$left" -gt 0 ] && { kill -0 "$pool" 2>/dev/null || kill -0 "$scheduler" 2>/dev/null; }; do
        sleep 1
        left=$((left - 1))
    done
    # what did not end in 20 seconds would be waited for without end
    kill -KILL "$pool" "$scheduler" 2>/dev/null || true
    wait
}
start_scheduler
start_pool
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
echo "train with: distkern train --scheduler tcp://127.0.0.1:$port ..."
echo "watch:      http://127.0.0.1:$dashboard/distkern"
ends=0
since=$(date +%s)
while sleep 1; do
    if ! kill -0 "$scheduler" 2>/dev/null; then
        ended="the scheduler"
    elif ! kill -0 "$pool" 2>/dev/null; then
        ended="the workers"
    else
        continue
    fi
    now=$(date +%s)
    # what cannot even start would be started for ever
    if [ $((now - since)) -lt 60 ]; then ends=$((ends + 1)); else ends=1; fi
    since=$now
    if [ "$ends" -ge 5 ]; then
        echo "local.sh: $ended ended 5 times in a row: see above why" >&2
        exit 1
    fi
    echo "local.sh: $ended ended; started again" >&2
    if [ "$ended" = "the scheduler" ]; then
        # workers would look for their scheduler before they end
        kill -KILL "$pool" 2>/dev/null || true
        wait "$pool" || true
        start_scheduler
    fi
    start_pool
done
