#!/usr/bin/env bash
# LocalStack without Docker: DynamoDB (DynamoDB Local behind it) and SQS on one
# port of this machine. No token: 4.14.0 is the last release that wants none.
#
#   localstack/localstack.sh start [--port N] [--ready-file F]
#   localstack/localstack.sh run   [--port N] [--ready-file F] [-- COMMAND...]
#   localstack/localstack.sh fetch     only puts it into the cache
#
# Both stay in the foreground. Once the server answers they print what clients
# want (for `.` or `source`), and write the same to F if asked. `run` also makes
# a fleet: table and queues, and the five functions in a process beside
# LocalStack. With a COMMAND it runs that, with the environment for clients, and
# ends with it.
#
#   EVERLOG_STACK_NAME   name of table and queues (default: everlog)
#   EVERLOG_COMMAND      an `everlog` that is built already (default: built here)
#   EVERLOG_TOOLS        where tools are kept (default: ~/.cache/everlog-tools)
#
# Needs Python 3.13, a JDK (javac, jar), npm; `run` needs cargo.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
# shellcheck source=localstack/tools.sh
. "$here/tools.sh"

venv=localstack-4.14.0
layout=localstack-layout-1

# LocalStack 4.14.0 runs on Python 3.13 alone. A pyenv shim is on PATH also
# where it runs nothing, so each candidate is tried.
python313() {
    local candidate
    for candidate in python3.13 "$HOME"/.pyenv/versions/3.13*/bin/python3.13 \
        "${PYENV_ROOT:-/nowhere}"/versions/3.13*/bin/python3.13; do
        if "$candidate" -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    fail "Python 3.13 with venv is missing (apt-get install python3.13-venv, or pyenv install 3.13)"
}

fetch_localstack() {
    local python
    python=$(python313)
    "$python" -m venv "$1"
    # Later cbor2, pyOpenSSL and cryptography break this release.
    "$1/bin/pip" install --quiet --disable-pip-version-check "localstack-core[runtime]==4.14.0" \
        "cbor2<5.8" "pyOpenSSL==25.3.0" "cryptography<47" service-identity ||
        fail "pip could not install localstack-core 4.14.0"
}

# What LocalStack would download at the first use of DynamoDB, laid out as it
# would be. It starts the jar with a Java agent, for which one that does
# nothing serves.
lay_out() {
    need javac "install a JDK (apt-get install openjdk-17-jdk-headless)"
    need jar "install a JDK (apt-get install openjdk-17-jdk-headless)"
    mkdir -p "$1/dynamodb-local" "$1/java" "$1/agent"
    cp -r "$tools/$dynamodb_local" "$1/dynamodb-local/2"
    ln -s "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")" "$1/java/21"
    echo 'public class NoAgent { public static void premain(String arguments) {} }' >"$1/agent/NoAgent.java"
    echo 'Premain-Class: NoAgent' >"$1/agent/manifest"
    javac -d "$1/agent" "$1/agent/NoAgent.java" || fail "javac failed"
    jar cfm "$1/dynamodb-local/2/ddb-local-loader-0.1.jar" "$1/agent/manifest" -C "$1/agent" NoAgent.class ||
        fail "jar failed"
}

fetch() {
    java_works
    once "$venv" fetch_localstack
    once "$dynamodb_local" fetch_dynamodb_local
    once "$layout" lay_out
}

# Starts LocalStack, and sets `environment` to what clients want.
begin() {
    [ -z "$data" ] || fail "LocalStack without a token keeps nothing: no --data"
    fetch
    run_dir
    local home=$dir/var/lib/localstack
    mkdir -p "$home"/{cache,tmp,logs,state}
    ln -s "$tools/$layout" "$home/lib"
    serve "$port" 120 env FILESYSTEM_ROOT="$dir" TMPDIR="$home/tmp" GATEWAY_LISTEN="127.0.0.1:$port" \
        DYNAMODB_IN_MEMORY=1 DYNAMODB_SHARE_DB=1 EAGER_SERVICE_LOADING=0 SQS_ENDPOINT_STRATEGY=path \
        SKIP_SSL_CERT_DOWNLOAD=1 DISABLE_EVENTS=1 LS_LOG=warn OVERRIDE_IN_DOCKER=0 \
        "$tools/$venv/bin/python" -m localstack.runtime.main
    wake "$port" 60 dynamodb DynamoDB_20120810.ListTables
    wake "$port" 60 sqs AmazonSQS.ListQueues
    environment=(
        "export EVERLOG_SERVER_PID=$server"
        "export AWS_ENDPOINT_URL=http://127.0.0.1:$port"
        "export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1"
        "export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test"
    )
}

start() {
    start_arguments "$@"
    [ ${#command[@]} -eq 0 ] || fail "start takes no command; run does"
    begin
    ready "$ready_to" "${environment[@]}"
    stay
}

# The command `everlog`, built if nobody has.
everlog_command() {
    everlog=${EVERLOG_COMMAND:-}
    if [ -z "$everlog" ]; then
        need cargo "see https://rustup.rs"
        local target
        target=$(cd "$root" && cargo metadata --format-version 1 --no-deps --locked |
            sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
        (cd "$root" && cargo build --workspace --locked --quiet --bin everlog) || fail "everlog was not built"
        everlog=$target/debug/everlog
    fi
    [ -x "$everlog" ] || fail "no $everlog"
}

run() {
    start_arguments "$@"
    everlog_command
    begin
    environment+=("export EVERLOG_TABLE=${EVERLOG_STACK_NAME:-everlog}")
    # shellcheck source=/dev/null
    . <(printf '%s\n' "${environment[@]}")
    launch functions "$everlog" functions --create
    wait_for functions 60 grep -q '^serving' "$dir/functions.log"
    ready "$ready_to" "${environment[@]}"
    if [ ${#command[@]} -eq 0 ]; then stay; else "${command[@]}"; fi
}

case ${1:-} in
    start) shift; start "$@" ;;
    run) shift; run "$@" ;;
    fetch) fetch ;;
    *) sed -n '2,19s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
