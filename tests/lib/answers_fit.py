# SPDX-License-Identifier: BSD-3-Clause
# answers_fit.py OPENAPI ASKED: whether answers of the REST API have the described status and members, and no others. Each
# line of the file ASKED has a method, a path of the description, a status and the file with the answer.
import json, sys, jsonschema


def strict(schema):
    """The schema without members that are not described."""
    if isinstance(schema, list):
        return [strict(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    result = {k: strict(v) for k, v in schema.items()}
    if "properties" in schema and "required" in schema:
        result["additionalProperties"] = False
    return result


def validator(schema):
    return jsonschema.Draft202012Validator(strict(schema))


def main():
    text, wrong = json.load(open(sys.argv[1])), 0
    for line in open(sys.argv[2]):
        method, path, status, kept = line.split()
        described = text["paths"][path][method.lower()]["responses"].get(status)
        if not described:
            wrong += 1
            print(method, path, "status", status, open(kept).read())
            continue
        for e in validator(described["content"]["application/json"]["schema"]).iter_errors(json.load(open(kept))):
            wrong += 1
            print(method, path, e.json_path, e.message)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
