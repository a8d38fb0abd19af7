#!/usr/bin/env bash
# What the scripts beside this one share; source it, don't run it.
#
# Tools are kept by version in EVERLOG_TOOLS (default: ~/.cache/everlog-tools)
# and made whole or not at all, also if two scripts want the same one at once.
# A server runs in a process group of its own. It ends with its script, however
# that ends: on Ctrl-C, by a signal, by kill -9, or when the process that
# started the script is gone.
#
# Linux: needs flock and setsid (util-linux).
# shellcheck disable=SC2034 # what is set here is used there

tools=${EVERLOG_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/everlog-tools}

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }
fail() { say "$*"; exit 1; }
need() { command -v "$1" >/dev/null || fail "$1 is missing: $2"; }

need flock "install util-linux"
need setsid "install util-linux"

# once NAME FUNCTION: sees that FUNCTION has filled the folder $tools/NAME.
once() {
    local at=$tools/$1
    [ ! -e "$at/.complete" ] || return 0
    mkdir -p "$tools"
    (
        flock 9
        [ ! -e "$at/.complete" ] || exit 0
        say "fetching $1 into $tools (once)"
        rm -rf "$at"
        mkdir -p "$at"
        "$2" "$at"
        touch "$at/.complete"
    ) 9>"$tools/$1.lock" >&2
}

# Whether something on that port of this machine speaks HTTP.
answers() {
    local line=
    { exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return 1
    printf 'GET / HTTP/1.0\r\n\r\n' >&3
    read -r -t 2 line <&3 || true
    exec 3>&-
    [[ $line == HTTP/* ]]
}

# wake PORT SECONDS SERVICE TARGET: has the server answer one request of a
# service, for servers that load a service when it is first asked for.
wake() {
    local line=
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf '%s\r\n' "POST / HTTP/1.0" "Host: 127.0.0.1:$1" "X-Amz-Target: $4" \
        "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/$3/aws4_request, SignedHeaders=host, Signature=0" \
        "Content-Type: application/x-amz-json-1.0" "Content-Length: 2" "" >&3
    printf '{}' >&3
    read -r -t "$2" line <&3 || true
    exec 3>&-
    [[ $line == HTTP/*" 200 "* ]] || fail "$3 does not answer: ${line:-nothing in $2 s}"
}

# Sets `port` to one that nobody listens on, below those that the system hands
# out, and keeps other scripts from it while this one runs.
take_port() {
    mkdir -p "$tools/ports"
    local _
    for _ in {1..50}; do
        port=$((20000 + RANDOM % 10000))
        exec 8>"$tools/ports/$port"
        flock -n 8 || continue
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 0
    done
    fail "no free port between 20000 and 29999"
}

java_works() {
    need java "install a Java runtime, 17 or later (apt-get install openjdk-17-jre-headless)"
    java -version >/dev/null 2>&1 || fail "java does not run: java -version says why"
}

# DynamoDB Local comes with an npm package. Its licence allows to use it with an
# AWS account and forbids to pass it on: it stays in the cache.
dynamodb_local=dynamodb-local-2.9.30
fetch_dynamodb_local() {
    need npm "install Node.js (apt-get install npm)"
    need tar "install tar"
    (cd "$1" && npm pack --silent amplify-dynamodb-simulator@2.9.30 >package.name) ||
        fail "npm could not fetch amplify-dynamodb-simulator 2.9.30"
    tar -xzf "$1/$(cat "$1/package.name")" -C "$1" --strip-components=2 package/emulator
    rm "$1/$(cat "$1/package.name")" "$1/package.name"
}

# The folder of one run, gone at its end.
groups=()
run_dir() {
    dir=$(mktemp -d "${TMPDIR:-/tmp}/everlog-$(basename "$0" .sh).XXXXXX")
    trap end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

# launch NAME COMMAND...: starts it in a process group of its own, which ends
# with this script, and sets `server` to its process. Its output goes to $dir/NAME.log.
launch() {
    local name=$1
    shift
    setsid env EVERLOG_RUN="$dir" "$@" >"$dir/$name.log" 2>&1 </dev/null 8>&- &
    server=$!
    groups+=("$server")
    # A kill -9 of this script leaves the watch, which then ends the server.
    # shellcheck disable=SC2016 # the watch expands its own arguments
    setsid bash -c '
        while kill -0 "$1" && [ "$(ps -o ppid= -p "$1")" -eq "$2" ]; do sleep 0.5; done
        kill -TERM "$1" || true
        kill -TERM -- "-$3" || true
        for _ in {1..40}; do kill -0 -- "-$3" || break; sleep 0.25; done
        kill -KILL -- "-$3"
        grep -lsF "EVERLOG_RUN=$4" /proc/[0-9]*/environ | cut -d/ -f3 | xargs -r kill -KILL
        rm -rf "$4"
    ' watch $$ "$PPID" "$server" "$dir" >/dev/null 2>&1 </dev/null 8>&- &
    # It ends by itself, and `wait -n` is about servers.
    disown $!
}

# wait_for NAME SECONDS COMMAND...: until COMMAND succeeds; fails if `server` ends before.
wait_for() {
    local name=$1 seconds=$2 began=$SECONDS
    shift 2
    until "$@"; do
        kill -0 "$server" 2>/dev/null || { tail -15 "$dir/$name.log" >&2; fail "$name ended"; }
        [ $((SECONDS - began)) -lt "$seconds" ] ||
            { tail -15 "$dir/$name.log" >&2; fail "$name is not up after $seconds s"; }
        sleep 0.1
    done
}

# serve PORT SECONDS COMMAND...: starts the server and waits until it answers.
serve() {
    local port=$1 seconds=$2
    shift 2
    launch server "$@"
    wait_for server "$seconds" answers "$port"
}

# ready FILE LINE...: says where the server is, on standard output and in FILE.
ready() {
    local file=$1
    shift
    printf '%s\n' "$@"
    [ -n "$file" ] || return 0
    printf '%s\n' "$@" >"$file.new"
    mv "$file.new" "$file"
    ready_file=$file
}

# Runs until one of the servers ends.
stay() {
    wait -n "${groups[@]}" || { tail -n 5 "$dir"/*.log >&2; fail "it ended by itself"; }
}

end() {
    local status=$? group i _
    trap '' INT TERM HUP
    [ -z "${ready_file:-}" ] || rm -f "$ready_file"
    # The last one first: it may use the others.
    for ((i = ${#groups[@]} - 1; i >= 0; i--)); do
        group=${groups[i]}
        kill -TERM -- "-$group" 2>/dev/null || continue
        for _ in {1..100}; do kill -0 -- "-$group" 2>/dev/null || break; sleep 0.05; done
        # Bash would say on standard error that it was killed.
        { kill -KILL -- "-$group" && wait "$group"; } 2>/dev/null || true
    done
    if [ -n "${dir:-}" ]; then
        # What a server that was killed left in a session of its own.
        grep -lsF "EVERLOG_RUN=$dir" /proc/[0-9]*/environ | cut -d/ -f3 | xargs -r kill -KILL 2>/dev/null || true
        rm -rf "$dir"
    fi
    exit "$status"
}

# The arguments of `start`: sets `port`, `ready_to` and `data`, and `command` to
# what follows `--`.
start_arguments() {
    port='' ready_to='' data='' command=()
    while [ $# -gt 0 ]; do
        if [ "$1" = "--" ]; then
            shift
            command=("$@")
            break
        fi
        [ $# -ge 2 ] || fail "$1 wants a value"
        case $1 in
            --port) port=$2 ;;
            --ready-file) ready_to=$2 ;;
            --data) data=$2 ;;
            *) fail "unknown: $1" ;;
        esac
        shift 2
    done
    [ -n "$port" ] || take_port
}
