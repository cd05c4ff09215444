import { ownMember } from '../../../base/own.ts';
import { type JsonObject, isObject, stringAt } from '../../../apimachinery/json.ts';
import { jsonPatch } from '../../../apimachinery/patch/patch.ts';

/** Parses the patch of a webhook. @throws {Error} for one that is no list of steps */
export function patchStepsOf(text: string): readonly JsonObject[] {
  const steps: unknown = JSON.parse(text);
  if (!Array.isArray(steps) || !steps.every(isObject))
    throw new Error('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  return steps;
}

/** True when a document has the parent of what a path leads to. */
function holds(document: JsonObject, path: string): boolean {
  let at: unknown = document;
  for (const step of path.split('/').slice(1, -1)) {
    const key = step.replace(/~1/g, '/').replace(/~0/g, '~');
    at = Array.isArray(at) ? (at[Number(key)] as unknown) : isObject(at) ? ownMember(at, key) : undefined;
  }
  return typeof at === 'object' && at !== null;
}

/** Returns why a step cannot be applied, in the words of the JSON patch library of kube-apiserver. */
function stepFault(step: JsonObject, document: JsonObject): string {
  const [op, path] = [stringAt(step, 'op'), stringAt(step, 'path')];
  switch (op) {
    case 'add':
      return `add operation does not apply: doc is missing path: "${path}": missing value`;
    case 'replace':
      return `replace operation does not apply: doc is missing path: ${path}: missing value`;
    case 'remove':
      return holds(document, path)
        ? `error in remove for path: '${path}': Unable to remove nonexistent key: ${path.split('/').at(-1) ?? ''}: missing value`
        : `remove operation does not apply: doc is missing path: "${path}": missing value`;
    case 'move':
    case 'copy':
      return `${op} operation does not apply: doc is missing from path: ${stringAt(step, 'from')}: missing value`;
    case 'test':
      return `testing value ${path} failed: test failed`;
    default:
      return `Unexpected kind: ${op}`;
  }
}

/** Applies the patch of a webhook. @throws {Error} naming the first step that cannot be applied */
export function patchedObject(object: JsonObject, steps: readonly JsonObject[]): JsonObject {
  try {
    return jsonPatch(object, steps) as JsonObject;
  } catch (cause) {
    let at = object;
    for (const step of steps)
      try {
        at = jsonPatch(at, [step]) as JsonObject;
      } catch {
        throw new Error(stepFault(step, at), { cause });
      }
    throw cause;
  }
}
