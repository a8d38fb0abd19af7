#!/usr/bin/env bash
# The full stack on this machine, without Docker, from infra/template.yaml:
# the functions are built, ministack plays AWS (DynamoDB, SQS, Lambda with real
# `bootstrap` processes, event source mappings, EventBridge Scheduler,
# CloudFormation, IAM that refuses), and `sam deploy` makes the stack.
#
#   localstack/stack.sh run [--port N] [--ready-file F] [-- COMMAND...]
#   localstack/stack.sh env        what clients want, of the stack that runs
#   localstack/stack.sh deploy     deploys again into it
#   localstack/stack.sh fetch      only puts the tools into the cache
#
# `run` stays in the foreground. Once the stack is there it prints what clients
# want (for `.` or `source`). With a COMMAND it runs that, with the environment
# for clients, and ends with it.
#
#   EVERLOG_STACK_NAME        name of the stack (default: everlog)
#   EVERLOG_STACK_DIR         what it leaves: builds and logs (default: .everlog/stack)
#   EVERLOG_STACK_PARAMETERS  more parameters of the template, as sam takes them
#   EVERLOG_LAMBDA_DIR        binaries that are built already, NAME/bootstrap
#   EVERLOG_TOOLS             where tools are kept (default: ~/.cache/everlog-tools)
#
# Needs Python 3.10 with venv, make; cargo unless the binaries are there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
# shellcheck source=localstack/tools.sh
. "$here/tools.sh"

name=${EVERLOG_STACK_NAME:-everlog}
state=${EVERLOG_STACK_DIR:-$root/.everlog/stack}
running=$state/ready.env
ministack=ministack-1.5.33
sam=sam-1.170.0

pip_into() {
    local at=$1
    shift
    need python3 "install Python 3.10 or later, with venv"
    python3 -m venv "$at" || fail "python3 has no venv (apt-get install python3-venv)"
    "$at/bin/pip" install --quiet --disable-pip-version-check "$@" || fail "pip could not install $*"
}
fetch_ministack() { pip_into "$1" ministack==1.5.33 aws-sam-translator==1.115.0 boto3 pyyaml; }
fetch_sam() { pip_into "$1" aws-sam-cli==1.170.0 cargo-lambda==1.9.2; }
fetch() {
    once "$ministack" fetch_ministack
    once "$sam" fetch_sam
    export PATH=$tools/$sam/bin:$PATH SAM_CLI_TELEMETRY=0
}

# This machine's processor: the functions run here.
architecture() { case $(uname -m) in aarch64 | arm64) echo arm64 ;; *) echo x86_64 ;; esac; }

# logged NAME COMMAND...: runs it, and shows the end of what it said if it fails.
logged() {
    local log=$state/$1.log
    shift
    "$@" >"$log" 2>&1 || { tail -30 "$log" >&2; fail "failed: $* (whole in $log)"; }
}

build() {
    need make "install make"
    EVERLOG_ARCH=$(architecture)
    export EVERLOG_ARCH
    if [ -n "${EVERLOG_LAMBDA_DIR:-}" ]; then
        export EVERLOG_PREBUILT=1 EVERLOG_BUILD=$EVERLOG_LAMBDA_DIR
    else
        need cargo "see https://rustup.rs"
        say "building the functions (minutes, the first time)"
    fi
    logged build sam build --template "$root/infra/template.yaml" --config-file "$root/infra/samconfig.toml" \
        --build-dir "$state/build" --cache-dir "$state/cache" --parameter-overrides "Architecture=$EVERLOG_ARCH"
}

# The emulator speaks plain HTTP, which the queues would refuse: the one
# parameter that differs from a deployment to AWS.
deploy() {
    # shellcheck source=/dev/null
    . "$running"
    # shellcheck disable=SC2086 # several parameters
    logged deploy sam deploy --template "$state/build/template.yaml" --stack-name "$name" --region "$AWS_REGION" \
        --resolve-s3 --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --no-confirm-changeset \
        --no-fail-on-empty-changeset --parameter-overrides "Architecture=$(architecture)" RefusePlainHttp=false \
        ${EVERLOG_STACK_PARAMETERS:-}
    logged bridge "$tools/$ministack/bin/python" "$here/bridge.py" "$name"
}

run() {
    start_arguments "$@"
    mkdir -p "$state"
    exec 7>"$state/lock"
    flock -n 7 || fail "a stack runs already in $state"
    fetch
    build
    run_dir
    trap 'cp "$dir/server.log" "$state/ministack.log" 2>/dev/null; rm -f "$running"; end' EXIT
    mkdir "$dir/tmp"
    local endpoint=http://127.0.0.1:$port
    serve "$port" 60 env GATEWAY_PORT="$port" BIND_HOST=127.0.0.1 AWS_ENDPOINT_URL="$endpoint" AUTH=true \
        TMPDIR="$dir/tmp" "$tools/$ministack/bin/ministack"
    local environment=(
        "export AWS_ENDPOINT_URL=$endpoint"
        "export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1"
        "export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test"
        "export EVERLOG_TABLE=$name"
    )
    printf '%s\n' "${environment[@]}" >"$running"
    deploy
    say "the stack is up; its log: $dir/server.log"
    ready "$ready_to" "${environment[@]}"
    [ ${#command[@]} -gt 0 ] || stay
    # shellcheck source=/dev/null
    . "$running"
    "${command[@]}"
}

what=${1:-}
[ $# -eq 0 ] || shift
case $what in
    run) run "$@" ;;
    env | deploy)
        [ -e "$running" ] || fail "no stack runs: localstack/stack.sh run"
        if [ "$what" = env ]; then cat "$running"; else fetch && build && deploy; fi
        ;;
    fetch) fetch ;;
    *) sed -n '2,24s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
