"""Mends what the emulator makes of the template, after a deployment to it.

ministack differs from AWS in three things that matter here:

- it keeps a mapping's MaximumConcurrency as the text that a parameter is, and
  its poller then fails on comparing it; AWS turns it into a number;
- it asks for an action `sqs:SendMessageBatch`, which IAM does not have: there,
  `sqs:SendMessage` grants both. The roles get it beside each `sqs:SendMessage`;
- it does not carry a function's RecursiveLoop over from the template.

Nothing else is changed. Reads the standard AWS environment.
"""

import json
import sys

import boto3
import yaml


def numbers(stack: str) -> None:
    functions = boto3.client("lambda")
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        limit = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
        if f":function:{stack}-" in mapping["FunctionArn"] and limit is not None:
            functions.update_event_source_mapping(
                UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": int(limit)}
            )


def batches(stack: str) -> None:
    iam = boto3.client("iam")
    resources = boto3.client("cloudformation").list_stack_resources(StackName=stack)
    for resource in resources["StackResourceSummaries"]:
        if resource["ResourceType"] != "AWS::IAM::Role":
            continue
        role = resource["PhysicalResourceId"]
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
            policy = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
            for statement in policy["Statement"]:
                actions = statement["Action"]
                actions = [actions] if isinstance(actions, str) else actions
                if "sqs:SendMessage" in actions:
                    statement["Action"] = [*actions, "sqs:SendMessageBatch"]
            iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(policy))


def recursion(stack: str) -> None:
    functions = boto3.client("lambda")
    formation = boto3.client("cloudformation")
    template = formation.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
    if isinstance(template, str):
        template = yaml.safe_load(template)
    for name, resource in template["Resources"].items():
        wanted = resource.get("Properties", {}).get("RecursiveLoop")
        if resource["Type"] == "AWS::Lambda::Function" and wanted:
            found = formation.describe_stack_resource(StackName=stack, LogicalResourceId=name)
            functions.put_function_recursion_config(
                FunctionName=found["StackResourceDetail"]["PhysicalResourceId"],
                RecursiveLoop=wanted,
            )


if __name__ == "__main__":
    numbers(sys.argv[1])
    batches(sys.argv[1])
    recursion(sys.argv[1])
