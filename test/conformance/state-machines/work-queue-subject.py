"""A work queue and nothing else, judged over the protocol: the smallest example of a subject in another language."""
import json
import sys

FAMILIES = ["work_queue"]
due = {}


def answer(request):
    kind = request["type"]
    if kind == "hello":
        return {"families": FAMILIES}
    if kind == "begin":
        due.clear()
        return {}
    if kind == "end":
        return {}
    if kind != "step":
        return {"error": f"no request {kind}"}
    now, op = request["atMs"], request["op"]
    if op["op"] == "enqueue":
        due[op["uid"]] = now + op.get("delayMs", 0)
        return {"observed": {"work": []}}
    work = sorted(uid for uid, at in due.items() if at < now)
    for uid in work:
        del due[uid]
    return {"observed": {"work": work}}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
