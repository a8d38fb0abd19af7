#!/usr/bin/env bash
# Start and size of the five functions as they go to Lambda: builds them with
# the profile `lambda` for this machine, prints a table, and fails over 20 ms
# from exec to the first poll (median) or 4 MB of archive.
#
#   EVERLOG_LAMBDA_DIR  binaries that are built already: NAME or NAME/bootstrap
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${EVERLOG_LAMBDA_DIR:-}" ]; then
    # Only these packages: the features of the others would grow them.
    cargo build --locked --profile lambda -p everlog-append -p everlog-prepare \
        -p everlog-settle -p everlog-timer-sweep -p everlog-outbox-dispatch
    target=$(cargo metadata --format-version 1 --locked --no-deps |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
    EVERLOG_LAMBDA_DIR=$target/lambda
fi
export EVERLOG_LAMBDA_DIR
cargo test --locked --workspace --features everlog-runtime-tests/cold-start \
    --test cold_start -- --nocapture
