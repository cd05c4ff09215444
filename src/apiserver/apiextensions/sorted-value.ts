import { canonicalJson } from '../../apimachinery/json.ts';

/** Returns a value as messages print it: with sorted keys. */
export const sorted = (value: unknown): unknown => JSON.parse(canonicalJson(value));
