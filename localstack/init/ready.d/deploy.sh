#!/usr/bin/env bash
# Deploys Everlog inside the container of compose.yaml, once LocalStack is up:
# what `sam build` left in /opt/everlog, by CloudFormation.
#
# LocalStack keeps schedules of EventBridge Scheduler and never runs them
# (docs.localstack.cloud, scheduler, current limitations). A rule of EventBridge
# stands in for the one of the template, and invokes the same function.
set -euo pipefail

name=${EVERLOG_STACK_NAME:-everlog}
built=/opt/everlog
packaged=/tmp/everlog-packaged.yaml
bucket=$name-artifacts
export AWS_ENDPOINT_URL=http://localhost:4566
export AWS_DEFAULT_REGION=${AWS_DEFAULT_REGION:-us-east-1}
export AWS_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-test} AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-test}

fail() { printf 'everlog: %s\n' "$*" >&2; exit 1; }

rm -f /tmp/everlog-deployed
[ -e "$built/template.yaml" ] || fail "nothing is built: run sam build in infra/, see localstack/README.md"

aws s3api head-bucket --bucket "$bucket" 2>/dev/null || aws s3 mb "s3://$bucket"
aws cloudformation package --template-file "$built/template.yaml" --s3-bucket "$bucket" \
    --output-template-file "$packaged"
# Plain HTTP is all that LocalStack is asked by, and its table must go with it.
aws cloudformation deploy --template-file "$packaged" --stack-name "$name" --s3-bucket "$bucket" \
    --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --no-fail-on-empty-changeset \
    --parameter-overrides "Architecture=$EVERLOG_ARCH" RefusePlainHttp=false DeletionProtection=false

sweep=$(aws lambda get-function --function-name "$name-timer-sweep" \
    --query Configuration.FunctionArn --output text)
rule=$(aws events put-rule --name "$name-sweep" --schedule-expression 'rate(1 minute)' \
    --query RuleArn --output text)
# A second deployment finds the statement of the first.
aws lambda remove-permission --function-name "$name-timer-sweep" --statement-id sweep-rule 2>/dev/null || true
aws lambda add-permission --function-name "$name-timer-sweep" --statement-id sweep-rule \
    --action lambda:InvokeFunction --principal events.amazonaws.com --source-arn "$rule" >/dev/null ||
    fail "the rule may not invoke $name-timer-sweep"
aws events put-targets --rule "$name-sweep" --targets \
    "$(printf '[{"Id":"sweep","Arn":"%s","Input":"{\\"source\\":\\"aws.scheduler\\",\\"detail-type\\":\\"Scheduled Event\\"}"}]' "$sweep")"

touch /tmp/everlog-deployed
