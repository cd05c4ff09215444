import { ownMember } from '../../base/own.ts';
import { isIP } from 'node:net';
import { hasHostBits } from '../ip.ts';
import { type Faults, forbidden, invalid, invalidEach, required, tooLong } from './field-error.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  labelValueRule,
  portNameRule,
  portNumberFaults,
  qualifiedNameRule,
} from './name-rules.ts';

/** Returns a text member of a volume source; empty when it is absent. */
export function textOf(source: Readonly<Record<string, unknown>>, key: string): string {
  const value = ownMember(source, key);
  return typeof value === 'string' ? value : '';
}

/** Returns entries sorted by key, the order in which rules over maps report. */
export const sorted = <T>(map: Readonly<Record<string, T>> | undefined): [string, T][] =>
  Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));

/** Validates a DNS label. */
export const label = (field: string, value: string): Faults => invalidEach(field, value, dns1123Label(value));

/** Validates a label key. */
export const labelName = (field: string, value: string): Faults =>
  invalidEach(field, value, qualifiedNameRule(value));

/** Validates a map of labels; all errors are reported for the map. */
export function* labels(field: string, map: Readonly<Record<string, string>> | undefined): Faults {
  for (const [key, value] of sorted(map)) {
    yield* labelName(field, key);
    yield* invalidEach(field, value, labelValueRule(value));
  }
}

/** Validates a path that stays below its start. */
export function* descendingPath(field: string, path: string): Faults {
  if (path.startsWith('/')) yield invalid(field, path, 'must be a relative path');
  yield* noBacksteps(field, path);
}

/** Rejects `..` elements in a path. */
export function* noBacksteps(field: string, path: string): Faults {
  if (path.split('/').includes('..')) yield invalid(field, path, "must not contain '..'");
}

/** Validates a descending path that does not use names reserved by atomic writers. */
export function* nonReservedPath(field: string, path: string): Faults {
  yield* descendingPath(field, path);
  if (path.startsWith('..') && !path.startsWith('../'))
    yield invalid(field, path, "must not start with '..'");
}

/** Validates a port number or name. */
export const portNumOrName = (field: string, port: unknown): Faults =>
  typeof port === 'string'
    ? invalidEach(field, port, portNameRule(port))
    : portNumber(field, typeof port === 'number' ? port : 0);

/** Validates a port number. */
export function* portNumber(field: string, port = 0): Faults {
  for (const text of portNumberFaults(port)) yield invalid(field, port, text);
}

/** Rejects negative numbers. */
export function* nonNegative(field: string, value: number | undefined): Faults {
  if ((value ?? 0) < 0) yield invalid(field, value, 'must be greater than or equal to 0');
}

const mostId = 2_147_483_647;

/** Validates a user or group id. */
export function* posixId(field: string, id: number | undefined): Faults {
  if (id !== undefined && (id < 0 || id > mostId))
    yield invalid(field, id, `must be between 0 and ${mostId}, inclusive`);
}

/** Validates file permission bits. */
export function* fileMode(field: string, mode: number | undefined): Faults {
  if (mode !== undefined && (mode < 0 || mode > 0o777))
    yield invalid(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}

/** Validates an IP address in canonical form. */
export function* ipAddress(field: string, value: string): Faults {
  const plain = value.replace(/(^|[.:])0+(?=[0-9]+(\.|$))/g, '$1');
  if (isIP(value.includes('.') ? plain : value) === 0 || value.includes('%'))
    yield invalid(field, value, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
  else if (isIP(value) === 0) yield invalid(field, value, 'must not have leading 0s');
  else if (/^::ffff:\d+\./i.test(value))
    yield invalid(field, value, 'must not be an IPv4-mapped IPv6 address');
}

/** Validates a CIDR block in canonical form. */
export function* cidrBlock(field: string, value: string): Faults {
  const cut = value.lastIndexOf('/');
  const [ip, bits] = [value.slice(0, Math.max(cut, 0)), value.slice(cut + 1)];
  const [found] = [...ipAddress(field, ip)];
  const detail = found ? found.detail : '';
  const counted = /^\d{1,3}$/.test(bits) && Number(bits) <= (ip.includes(':') ? 128 : 32);
  if (!counted || detail.startsWith('must be a valid'))
    yield invalid(field, value, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)');
  else if (detail.includes('leading 0s') || /^0\d/.test(bits))
    yield invalid(field, value, 'must not have leading 0s in IP or prefix length');
  else if (detail !== '') yield invalid(field, value, 'must not have an IPv4-mapped IPv6 address');
  else if (hasHostBits(ip, Number(bits)))
    yield invalid(field, value, 'must not have bits set beyond the prefix length');
}

type Requirement = {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
};

/** A label selector. */
export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Requirement[];
}

/** Validates a label selector. */
export function* labelSelector(field: string, selector: Selector | undefined): Faults {
  yield* labels(`${field}.matchLabels`, selector?.matchLabels);
  for (const [i, requirement] of (selector?.matchExpressions ?? []).entries())
    yield* selectorRequirement(`${field}.matchExpressions[${i}]`, requirement, setOperators);
}

type ValuesRule = (field: string, values: readonly string[]) => Faults;

const someValues: ValuesRule = function* (field, values) {
  if (values.length === 0) yield required(field, "must be specified when `operator` is 'In' or 'NotIn'");
};
const noValues: ValuesRule = function* (field, values) {
  if (values.length > 0)
    yield forbidden(field, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
};
const oneValue: ValuesRule = function* (field, values) {
  if (values.length !== 1)
    yield required(field, "must be specified single value when `operator` is 'Lt' or 'Gt'");
};
/** Operators of label selectors. */
export const setOperators: Readonly<Record<string, ValuesRule>> = {
  In: someValues,
  NotIn: someValues,
  Exists: noValues,
  DoesNotExist: noValues,
};

/** Operators of node selectors: those of label selectors, and comparisons. */
export const nodeOperators: Readonly<Record<string, ValuesRule>> = {
  ...setOperators,
  Gt: oneValue,
  Lt: oneValue,
};

/** Validates one requirement of a selector; `operators` sets the number of values, `checkValues` requires valid label values. */
export function* selectorRequirement(
  field: string,
  { key = '', operator = '', values = [] }: Partial<Requirement>,
  operators: Readonly<Record<string, ValuesRule>>,
  checkValues = true,
): Faults {
  const rule = ownMember(operators, operator);
  if (rule) yield* rule(`${field}.values`, values);
  else yield invalid(`${field}.operator`, operator, 'not a valid selector operator');
  yield* labelName(`${field}.key`, key);
  if (!checkValues) return;
  for (const [i, value] of values.entries())
    yield* invalidEach(`${field}.values[${i}]`, value, labelValueRule(value));
}

/** Returns the value, or the fallback when it is absent or empty. */
export const orElse = (value: string | undefined, fallback: string): string =>
  value === undefined || value === '' ? fallback : value;

const longestDriver = 63;

/** Validates the name of a CSI driver, in any case. */
export function* driverName(field: string, name: string): Faults {
  if (name === '') {
    yield required(field);
    return;
  }
  if (Buffer.byteLength(name) > longestDriver) yield tooLong(field, longestDriver);
  yield* invalidEach(field, name, dns1123Subdomain(name.toLowerCase()));
}
