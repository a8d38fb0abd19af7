#!/usr/bin/env bash
# DynamoDB Local, Amazon's own, on a port of this machine.
#
#   localstack/dynamodb-local.sh start [--port N] [--ready-file F] [--data DIR]
#   localstack/dynamodb-local.sh fetch     only puts it into the cache
#
# `start` stays in the foreground. Once the server answers it prints what
# clients want (for `.` or `source`), and writes the same to F if asked.
# Without --data all is in memory; with it, tables survive in DIR.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=localstack/tools.sh
. "$here/tools.sh"

fetch() {
    once "$dynamodb_local" fetch_dynamodb_local
}

start() {
    start_arguments "$@"
    [ ${#command[@]} -eq 0 ] || fail "start takes no command"
    java_works
    fetch
    run_dir
    local store=(-inMemory)
    [ -z "$data" ] || { mkdir -p "$data"; store=(-dbPath "$data"); }
    cd "$tools/$dynamodb_local"
    serve "$port" 90 java -Djava.library.path=./DynamoDBLocal_lib -jar DynamoDBLocal.jar \
        -port "$port" -sharedDb "${store[@]}"
    ready "$ready_to" "export EVERLOG_SERVER_PID=$server" \
        "export AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:$port" \
        "export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test"
    stay
}

case ${1:-} in
    start) shift; start "$@" ;;
    fetch) fetch ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
