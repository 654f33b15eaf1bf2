#!/bin/sh
# A scheduler with the page /distkern and worker processes on this machine.
#
#   cluster/local.sh [WORKERS] [MEMORY_OF_A_WORKER] [PORT] [DASHBOARD_PORT]
#
# Everything listens on the loopback interface only. Ctrl-C stops all of it.
set -eu
workers=${1:-2}
memory=${2:-1GiB}
port=${3:-8786}
dashboard=${4:-8787}
here=$(cd "$(dirname "$0")" && pwd)
export DASK_CONFIG="${DASK_CONFIG:-$here/distkern.yaml}"

dask scheduler --host 127.0.0.1 --port "$port" --dashboard-address "127.0.0.1:$dashboard" \
    --preload distkern.dashboard.preload &
scheduler=$!
dask worker "tcp://127.0.0.1:$port" --host 127.0.0.1 --no-dashboard \
    --nworkers "$workers" --nthreads 1 --memory-limit "$memory" &
pool=$!
stop() {
    trap - INT TERM EXIT
    kill -INT "$pool" "$scheduler" 2>/dev/null || true
    wait
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
echo "train with: distkern train --scheduler tcp://127.0.0.1:$port ..."
echo "watch:      http://127.0.0.1:$dashboard/distkern"
wait "$scheduler"
