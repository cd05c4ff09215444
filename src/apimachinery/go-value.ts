import { ownMember } from '../base/own.ts';
import { goFloat, isGoInteger } from '../go/go-float.ts';
import { isObject, textOf } from './json.ts';

/** Formats a JSON value like Go's `%v`: `map[a:1 b:[x y]]`. */
export function goValue(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`;
  if (typeof value === 'number') return isGoInteger(value) ? String(value) : goFloat(value);
  if (!isObject(value)) return textOf(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${goValue(ownMember(value, key))}`).join(' ')}]`;
}

/** Returns the Go type of a JSON value, as `%T` shows it. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return isGoInteger(value) ? 'int64' : 'float64';
  return isObject(value) ? 'map[string]interface {}' : 'string';
}
