import { CelList, CelMap, Opaque, type Value } from '../values/value.ts';
import { sizeOf } from '../values/inspect.ts';

/** What traversing one unit of a text, and of an expression's pattern, costs. */
export const traversalFactor = 0.1;
export const regexFactor = 0.25;
/** What making a list costs. */
export const listCreateCost = 10;
export const structCreateCost = 40;
/** What a check of an authorizer costs: an expression has room for two. */
export const authorizationCost = 350_000;

const part = (units: number, factor: number): number => Math.ceil(units * factor);

/** The arguments of a call, and what it returned. */
interface Done {
  readonly args: readonly Value[];
  readonly result: Value;
  readonly id: string;
}

const size = ({ args }: Done, index: number): number => sizeOf(args[index] ?? null);
const traverse =
  (index = 0, times = 1) =>
  (done: Done): number =>
    part(size(done, index) * times, traversalFactor);
const fixed = (cost: number) => (): number => cost;

/** The cost of reading a whole value. */
function depthOf(value: Value): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * traversalFactor);
  if (value instanceof Uint8Array) return Math.floor(value.length * traversalFactor);
  let sum = 0;
  if (value instanceof CelList) {
    for (const item of value) sum += depthOf(item);
    return sum;
  }
  if (!(value instanceof CelMap)) return 1;
  for (const key of value.keys()) sum += depthOf(key) + depthOf(value.find(key) ?? null);
  return sum;
}

const regex = (done: Done): number =>
  part(1 + size(done, 0), traversalFactor) * part(size(done, 1), regexFactor);

/** A format's validation: as a match of its longest pattern. */
export abstract class Patterned extends Opaque {
  abstract readonly patternSize: number;
}

const validation = (done: Done): number => {
  const [format] = done.args;
  const longest = format instanceof Patterned ? format.patternSize : 0;
  return part(1 + size(done, 1), traversalFactor) * part(longest, regexFactor);
};

const selector = (done: Done): number => {
  const length = size(done, 1);
  const requirements = Math.ceil(length * 0.5);
  return listCreateCost + part(length, traversalFactor) + requirements * (listCreateCost + structCreateCost);
};

const containsIp = (done: Done): number =>
  part(2 * size(done, 0), traversalFactor) +
  (done.id === 'cidr_contains_ip_string' ? part(size(done, 1), traversalFactor) : 0);

const containsCidr = (done: Done): number =>
  part(2 * size(done, 0), traversalFactor) +
  part(size(done, 0), traversalFactor) +
  1 +
  (done.id === 'cidr_contains_cidr_string' ? part(size(done, 1), traversalFactor) : 0);

type Price = (done: Done) => number;
const each = (names: string, price: Price): [string, Price][] =>
  names.split(' ').map((name) => [name, price]);

/** Costs of Kubernetes' functions, by name. */
const byName: ReadonlyMap<string, Price> = new Map([
  ...each('check', fixed(authorizationCost)),
  ...each(
    'serviceAccount path group resource subresource namespace name allowed reason error errored format.named',
    fixed(1),
  ),
  ...each('fieldSelector labelSelector', selector),
  ...each('isSorted sum max min indexOf lastIndexOf', ({ args }) => depthOf(args[0] ?? null)),
  ...each(
    'url lowerAscii upperAscii substring trim jsonpatch.escapeKey cidr isIP isCIDR quantity isQuantity semver isSemver',
    traverse(),
  ),
  ...each('replace split ip.isCanonical', traverse(0, 2)),
  ...each('join', ({ result }) => part(sizeOf(result) * 2, traversalFactor)),
  ...each('find findAll', regex),
  ...each('ip', (done) => (done.id === 'cidr_ip' ? 1 : traverse()(done))),
  ...each('containsIP', containsIp),
  ...each('containsCIDR', containsCidr),
  ...each('validate', validation),
]);

const both = (done: Done): number => part(Math.min(size(done, 0), size(done, 1)), traversalFactor);

function listCall(factor: number, items: number): number {
  return Math.floor(items * factor) + 1 + listCreateCost;
}

function selfCompare(list: Value | undefined): number {
  const items = list instanceof CelList ? list.size : 0;
  const first = list instanceof CelList && items > 0 ? list.at(0) : null;
  const isText = typeof first === 'string' || first instanceof Uint8Array;
  return listCall(isText ? 2 + traversalFactor : 2, items * items);
}

const crossed =
  (factor: number): Price =>
  (done) =>
    1 + Math.floor(size(done, 0) * size(done, 1) * factor);

/** Costs of the standard functions, by overload. */
const byOverload: ReadonlyMap<string, Price> = new Map([
  ...each(
    'starts_with_string ends_with_string string_to_bytes bytes_to_string strings_quote string_format',
    traverse(),
  ),
  ...each('in_list', (done) => size(done, 1)),
  ...each(
    'equals not_equals less_string greater_string less_equals_string greater_equals_string less_bytes greater_bytes less_equals_bytes greater_equals_bytes',
    both,
  ),
  ...each('add_string add_bytes', (done) => part(size(done, 0) + size(done, 1), traversalFactor)),
  ...each('matches_string', regex),
  ...each(
    'contains_string',
    (done) => part(size(done, 0), traversalFactor) * part(size(done, 1), traversalFactor),
  ),
]);

/** Costs of cel-go's list and set extensions, by the function's name. */
const extensions: ReadonlyMap<string, Price> = new Map([
  ...each('slice lists.range reverse', ({ result }) => listCall(1, sizeOf(result))),
  ...each('flatten', (done) => listCall(done.args.length === 2 ? Number(done.args[1]) : 1, size(done, 0))),
  ...each('distinct sort', ({ args }) => selfCompare(args[0])),
  ...each('@sortByAssociatedKeys', ({ args }) => selfCompare(args[1])),
  ...each('sets.contains sets.intersects', crossed(1)),
  ...each('sets.equivalent', crossed(2)),
]);

/** Calls that take more time than their arguments are long; their cost depends on the arguments only. */
export const slowCalls: ReadonlySet<string> = new Set(
  'distinct sort @sortByAssociatedKeys flatten sets.contains sets.intersects sets.equivalent'.split(' '),
);

/** Returns what a call has cost, beside its arguments. */
export function callCost(name: string, id: string, args: readonly Value[], result: Value): number {
  const done = { args, result, id };
  if (name === '_==_' && args[0] instanceof Opaque) return 1;
  const price = (id === '' ? undefined : extensions.get(name)) ?? byName.get(name) ?? byOverload.get(id);
  return price?.(done) ?? 1;
}
