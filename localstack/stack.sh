#!/usr/bin/env bash
# The full stack on this machine, without Docker, from infra/template.yaml:
# the functions are built, ministack plays AWS (DynamoDB, SQS, Lambda with real
# `bootstrap` processes, event source mappings, EventBridge Scheduler,
# CloudFormation, IAM that refuses), and `sam deploy` makes the stack.
#
#   localstack/stack.sh run               starts it; it runs until Ctrl-C
#   localstack/stack.sh run -- COMMAND    starts it, runs COMMAND with the
#                                         environment of `env`, ends it all
#   localstack/stack.sh env               prints the environment for clients
#   localstack/stack.sh deploy            deploys again into a running stack
#
#   EVERLOG_STACK_PORT   the port (default: a free one)
#   EVERLOG_STACK_NAME   name of the stack (default: everlog)
#   EVERLOG_STACK_DIR    what the stack leaves (default: .everlog/stack)
#   EVERLOG_TOOLS        where tools are kept (default: ~/.cache/everlog-tools)
#   EVERLOG_LAMBDA_DIR   binaries that are built already: NAME/bootstrap
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
dir=${EVERLOG_STACK_DIR:-$root/.everlog/stack}
name=${EVERLOG_STACK_NAME:-everlog}
tools=${EVERLOG_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/everlog-tools}
ministack_version=1.5.33
ready=$dir/ready.env

say() { printf 'stack: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
need() { command -v "$1" >/dev/null || fail "$1 is missing: $2"; }

# A virtual environment per set of pins, made whole or not at all.
venv() {
    local at=$tools/$1; shift
    if [ ! -e "$at/ready" ]; then
        say "installing $* (once)"
        mkdir -p "$tools"
        (
            flock 9
            [ -e "$at/ready" ] && exit 0
            rm -rf "$at"
            python3 -m venv "$at"
            "$at/bin/pip" install --quiet --disable-pip-version-check "$@"
            touch "$at/ready"
        ) 9>"$at.lock" >&2
    fi
    printf '%s\n' "$at/bin"
}

tool_paths() {
    need python3 "3.10 or later, with venv"
    ministack=$(venv "ministack-$ministack_version" "ministack==$ministack_version" "aws-sam-translator==1.115.0" boto3)
    sam=$(venv sam-1.170.0 "aws-sam-cli==1.170.0" "cargo-lambda==1.9.2")
    export PATH=$sam:$PATH SAM_CLI_TELEMETRY=0
}

client_environment() {
    cat <<END
export AWS_ENDPOINT_URL=$endpoint
export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
export AWS_ACCESS_KEY_ID=test
export AWS_SECRET_ACCESS_KEY=test
export EVERLOG_TABLE=$name
export EVERLOG_STACK_PID=$pid
END
}

# The machine's processor: ministack runs the functions here.
architecture() { case $(uname -m) in aarch64|arm64) echo arm64 ;; *) echo x86_64 ;; esac; }

build() {
    export EVERLOG_ARCH=$(architecture)
    if [ -n "${EVERLOG_LAMBDA_DIR:-}" ]; then
        # Somebody built them: only lay them out as `sam build` would.
        for function in append prepare settle timer-sweep outbox-dispatch; do
            [ -x "$EVERLOG_LAMBDA_DIR/$function/bootstrap" ] || fail "no $EVERLOG_LAMBDA_DIR/$function/bootstrap"
        done
        export EVERLOG_PREBUILT=1 EVERLOG_BUILD=$EVERLOG_LAMBDA_DIR
    fi
    need cargo "see https://rustup.rs"
    need make "install make"
    sam build --template "$root/infra/template.yaml" --config-file "$root/infra/samconfig.toml" \
        --build-dir "$dir/build" --cache-dir "$dir/cache" \
        --parameter-overrides "Architecture=$EVERLOG_ARCH" >"$dir/build.log" 2>&1 ||
        { tail -30 "$dir/build.log" >&2; fail "the functions were not built: $dir/build.log"; }
}

deploy() {
    # shellcheck source=/dev/null
    . "$ready"
    # The emulator speaks plain HTTP, which the queues would refuse: the one
    # parameter that differs from a deployment to AWS.
    sam deploy --template "$dir/build/template.yaml" --stack-name "$name" --region "$AWS_REGION" \
        --resolve-s3 --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --no-confirm-changeset --no-fail-on-empty-changeset \
        --parameter-overrides "Architecture=$(architecture)" RefusePlainHttp=false ${EVERLOG_STACK_PARAMETERS:-} \
        >"$dir/deploy.log" 2>&1 ||
        { tail -30 "$dir/deploy.log" >&2; fail "the stack was not deployed: $dir/deploy.log"; }
    "$ministack/python" "$root/localstack/bridge.py" "$name"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

start() {
    mkdir -p "$dir"
    if [ -e "$ready" ] && kill -0 "$(sed -n 's/^export EVERLOG_STACK_PID=//p' "$ready")" 2>/dev/null; then
        fail "a stack runs already: $ready"
    fi
    rm -f "$ready"
    tool_paths
    build
    local port=${EVERLOG_STACK_PORT:-$(free_port)}
    endpoint=http://127.0.0.1:$port
    # A group of its own, so that its function processes end with it.
    setsid env GATEWAY_PORT="$port" BIND_HOST=127.0.0.1 AWS_ENDPOINT_URL="$endpoint" AUTH=true \
        LAMBDA_ACCOUNT_CONCURRENCY=1000 TMPDIR="$dir/tmp" \
        "$ministack/ministack" >"$dir/ministack.log" 2>&1 &
    pid=$!
    trap stop EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    for _ in $(seq 150); do
        kill -0 "$pid" 2>/dev/null || { tail -5 "$dir/ministack.log" >&2; fail "ministack ended"; }
        python3 - "$endpoint" <<'PY' && break
import sys, urllib.request
try: urllib.request.urlopen(sys.argv[1] + "/_ministack/health", timeout=2)
except OSError: sys.exit(1)
PY
        sleep 0.2
    done
    client_environment >"$ready.new"
    mv "$ready.new" "$ready"
    deploy
    say "up at $endpoint; clients: . $ready"
}

stop() {
    rm -f "$ready"
    kill -TERM -- "-$pid" 2>/dev/null || return 0
    for _ in $(seq 50); do kill -0 -- "-$pid" 2>/dev/null || return 0; sleep 0.1; done
    kill -KILL -- "-$pid" 2>/dev/null || true
}

case ${1:-} in
    run)
        mkdir -p "$dir/tmp"
        start
        shift
        if [ "${1:-}" = "--" ]; then
            shift
            # shellcheck source=/dev/null
            . "$ready"
            "$@"
        else
            wait "$pid" || true
        fi
        ;;
    env) [ -e "$ready" ] || fail "no stack runs"; cat "$ready" ;;
    deploy) [ -e "$ready" ] || fail "no stack runs"; tool_paths; build; deploy ;;
    *) sed -n '2,19s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
