# SPDX-License-Identifier: BSD-3-Clause
# answers_fit.py OPENAPI ASKED: whether answers of the REST API have the described status and members, and no others. Each
# line of the file ASKED has a method, a path of the description, a status and the file with the answer.
import json, sys, jsonschema
def strict(o):
    if isinstance(o, list):
        return [strict(v) for v in o]
    if isinstance(o, dict):
        return dict({k: strict(v) for k, v in o.items()}, **({"additionalProperties": False} if "properties" in o and "required" in o else {}))
    return o
text, wrong = json.load(open(sys.argv[1])), 0
for line in open(sys.argv[2]):
    method, path, status, kept = line.split()
    described = text["paths"][path][method.lower()]["responses"].get(status)
    if not described:
        wrong += 1
        print(method, path, "status", status, open(kept).read())
        continue
    schema = strict(described["content"]["application/json"]["schema"])
    for e in jsonschema.Draft202012Validator(schema).iter_errors(json.load(open(kept))):
        wrong += 1
        print(method, path, e.json_path, e.message)
sys.exit(wrong > 0)
