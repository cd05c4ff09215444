import { isObject } from '../../apimachinery/json.ts';
import { propertyOf, type Structural, valuesOf } from './structural.ts';

const escapes: ReadonlyMap<string, string> = new Map([
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ["'", "'"],
  ['\\', '\\'],
]);

/** Returns the text between single quotes; undefined for a wrong escape. */
function unquoted(token: string): string | undefined {
  const inner = token.slice(1, -1);
  const codes = Array.from(inner.matchAll(/\\(.)/g), ([, code = '']) => code);
  if (!codes.every((code) => escapes.has(code))) return undefined;
  return inner.replaceAll(/\\(.)/g, (_, code: string) => escapes.get(code) ?? '');
}

/**
 * Returns the `fieldPath` of a rule as paths of faults show it: `.spec['a']` becomes `spec.a`, or `spec[a]` in a map. Undefined for a path
 * that leads to no property of the schema.
 */
export function rulePath(path: string, schema: Structural): string | undefined {
  let shown = '';
  let at = schema;
  let rest = path;
  while (rest !== '') {
    const [step, name, quoted] = /^(?:\.([^.[\]]+)|\[('(?:[^'\\]|\\.)*')\])/s.exec(rest) ?? [];
    const key = quoted === undefined ? name : unquoted(quoted);
    if (step === undefined || key === undefined) return undefined;
    rest = rest.slice(step.length);
    const isNamed = isObject(at['properties']);
    const inner = isNamed ? propertyOf(at, key) : valuesOf(at);
    if (!inner) return undefined;
    shown += isNamed ? `${shown === '' ? '' : '.'}${key}` : `[${key}]`;
    at = inner;
  }
  return shown;
}
