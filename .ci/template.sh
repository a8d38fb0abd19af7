#!/usr/bin/env bash
# The deployment template as the tools of the field see it: cfn-lint,
# `sam validate --lint`, and a security scan by checkov of the template, of what
# it nests, and of what SAM makes of it. Needs no account and no network, once
# the tools are there. Findings that stand are listed, each with its reason, in
# .ci/template-findings; a reason without a finding fails as well.
#
#   EVERLOG_TOOLS   where tools are kept (default: ~/.cache/everlog-tools)
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${EVERLOG_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/everlog-tools}

say() { printf 'template: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
command -v python3 >/dev/null || fail "python3 is missing: 3.10 or later, with venv"

# A virtual environment per set of pins, made whole or not at all; one of
# several that run at once makes it, the others wait.
venv() {
    local at=$tools/$1; shift
    if [ ! -e "$at/ready" ]; then
        mkdir -p "$tools"
        (
            flock 9
            [ -e "$at/ready" ] && exit 0
            say "installing $* (once)"
            rm -rf "$at"
            python3 -m venv "$at"
            "$at/bin/pip" install --quiet --disable-pip-version-check "$@"
            touch "$at/ready"
        ) 9>"$at.lock" >&2 || fail "$1 was not installed"
    fi
    printf '%s\n' "$at/bin"
}

sam=$(venv sam-lint-1.170.0-1.58.0-1.115.0 aws-sam-cli==1.170.0 cfn-lint==1.58.0 aws-sam-translator==1.115.0)
checkov=$(venv checkov-3.3.30 checkov==3.3.30)
# No tool asks anybody for a region, credentials or a newer version of itself.
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true LOG_LEVEL=ERROR
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say "cfn-lint"
"$sam/cfn-lint" infra/template.yaml infra/watch.yaml
say "sam validate --lint"
"$sam/sam" validate --lint --template infra/template.yaml
say "what SAM makes of it"
"$sam/python" .ci/template.py translate infra/template.yaml "$scratch/translated.json"
say "checkov"
for file in infra/template.yaml infra/watch.yaml "$scratch/translated.json"; do
    "$checkov/checkov" --skip-download --framework cloudformation --quiet --compact \
        --file "$file" --output json --soft-fail >"$scratch/$(basename "$file").found"
done
python3 .ci/template.py judge .ci/template-findings "$scratch"/*.found
say "targets of the Makefile"
for function in Append Prepare Settle TimerSweep OutboxDispatch; do
    for arch in arm64 x86_64; do
        make --dry-run --silent -C infra "build-${function}Function" ARTIFACTS_DIR="$scratch" EVERLOG_ARCH=$arch |
            grep -q "cp .*/target/lambda-$arch/.*/bootstrap" || fail "nothing builds ${function}Function for $arch"
    done
done
say "done"
