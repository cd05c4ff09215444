import type { Expr } from '../syntax/expr.ts';
import { type Type } from '../check/types.ts';
import {
  authorizationCost,
  listCreateCost,
  regexFactor,
  structCreateCost,
  traversalFactor,
} from './actual.ts';
import { add, exactly, mostCost, multiply, type Range, scale, unknownSize } from './sizes.ts';

/** An argument, or the target, of a call. */
export interface Operand {
  readonly expr?: Expr;
  readonly type: Type;
  readonly path: readonly string[];
  readonly size: Range | undefined;
}

/** What a call costs beside its arguments, and the size of its result where it is known. */
export interface Estimated {
  readonly cost: Range;
  readonly size?: Range | undefined;
}

interface CallShape {
  readonly name: string;
  readonly id: string;
  readonly target: Operand | undefined;
  readonly args: readonly Operand[];
}

/** A call with a way to the sizes of its operands. */
interface Sized extends CallShape {
  readonly size: (operand: Operand | undefined) => Range;
}

type Rule = (call: Sized) => Estimated | undefined;

/** Estimates a call by what Kubernetes and cel-go say of its function; undefined: one unit, or by its operator. */
export function callEstimate(
  call: CallShape,
  sizeOf: (operand: Operand) => Range | undefined,
): Estimated | undefined {
  const sized: Sized = { ...call, size: (operand) => (operand && sizeOf(operand)) ?? unknownSize };
  return (extensions.get(call.id) ?? byName.get(call.name))?.(sized) ?? byOverload.get(call.id)?.(sized);
}

const each = (names: string, rule: Rule): [string, Rule][] => names.split(' ').map((name) => [name, rule]);
const fixed = (cost: number) => (): Estimated => ({ cost: exactly(cost) });

const traverseArgument =
  (times = 1): Rule =>
  ({ args, size }) =>
    args[0] && { cost: scale(size(args[0]), times * traversalFactor) };

const selector: Rule = ({ args, size }) => {
  if (args.length !== 1) return undefined;
  const length = size(args[0]);
  const requirements = scale(scale(length, 0.5), listCreateCost + structCreateCost);
  return { cost: add(exactly(listCreateCost), scale(length, traversalFactor), requirements) };
};

/** The items of a list, by where they are in a schema. */
const itemsOf = ({ type, path }: Operand): Operand | undefined => {
  const [of] = type.params;
  return of && { type: of, path: path.length === 0 ? [] : [...path, '@items'], size: undefined };
};

const eachItem: Rule = ({ target, size }) => {
  if (!target) return undefined;
  const item = itemsOf(target);
  if (!item) return { cost: scale(size(target), traversalFactor) };
  const isText = item.type.kind === 'string' || item.type.kind === 'bytes';
  const cost = isText ? add(exactly(1), scale(size(item), traversalFactor)) : exactly(1);
  return { cost: multiply(size(target), cost) };
};

const replacement: Rule = ({ target, args, size }) => {
  if (!target || args.length < 2) return undefined;
  const [whole, part, by] = [size(target), size(args[0]), size(args[1])];
  let [most, largestSize] = [0, 0];
  if (part.min === 0) [most, largestSize] = [Math.min(whole.max + 1, mostCost), whole.max];
  else if (by.max <= part.min) largestSize = whole.max;
  else most = Math.ceil(whole.max / part.min);
  let [least, smallestSize] = [0, 0];
  if (part.max === 0) [least, smallestSize] = [Math.min(whole.min + 1, mostCost), whole.min];
  else if (part.max <= by.min) smallestSize = whole.min;
  else least = Math.ceil(whole.min / part.max);
  const resultSize = add(multiply({ min: least, max: most }, by), { min: smallestSize, max: largestSize });
  return { cost: scale(whole, 2 * traversalFactor), size: resultSize };
};

const literalInt = (operand: Operand | undefined): number | undefined => {
  const value = operand?.expr?.is === 'literal' ? operand.expr.value : undefined;
  return typeof value === 'bigint' ? Number(value) : undefined;
};

const splitting: Rule = ({ target, args, size }) => {
  if (!target) return undefined;
  const whole = size(target);
  const limit = literalInt(args[1]);
  const most = limit === undefined ? whole.max : limit < 0 ? mostCost : limit;
  return { cost: scale(whole, 2 * traversalFactor), size: { min: 0, max: most } };
};

const joining: Rule = ({ target, args, size }) => {
  if (!target) return undefined;
  const count = size(target);
  const item = itemsOf(target);
  const text = item ? multiply(count, size(item)) : exactly(0);
  const separators = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
  const whole = args[0] ? add(text, multiply(size(args[0]), separators)) : text;
  return { cost: scale(whole, traversalFactor), size: whole };
};

const pattern = (text: Range, expression: Range): Range =>
  multiply(scale(add(text, exactly(1)), traversalFactor), scale(expression, regexFactor));

const finding: Rule = ({ target, args, size }) => {
  if (!target || !args[0]) return undefined;
  const text = size(target);
  return { cost: pattern(text, size(args[0])), size: { min: 0, max: text.max } };
};

const address: Range = { min: 4, max: 16 };

const inNetwork =
  (isCidr: boolean): Rule =>
  ({ id, args, size }) => {
    const compared = scale(add(address, address), traversalFactor);
    const masked = isCidr ? add(scale(address, traversalFactor), exactly(1)) : exactly(0);
    const parsed = id.endsWith('_string') ? scale(size(args[0]), traversalFactor) : exactly(0);
    return { cost: add(compared, masked, parsed) };
  };

const longestFormat = 64;
const longestPattern = 128;
const constantEquality = new Set([
  'net.IP',
  'net.CIDR',
  'kubernetes.Quantity',
  'kubernetes.Semver',
  ...['Authorizer', 'PathCheck', 'GroupCheck', 'ResourceCheck', 'Decision'].map(
    (name) => `kubernetes.authorization.${name}`,
  ),
]);

const equality: Rule = ({ args: [left, right] }) => {
  const name = left?.type.name ?? '';
  if (name !== right?.type.name) return undefined;
  if (constantEquality.has(name)) return { cost: exactly(1) };
  if (name === 'kubernetes.NamedFormat')
    return { cost: scale({ min: 1, max: longestFormat }, traversalFactor) };
  if (name !== 'kubernetes.URL') return undefined;
  return { cost: scale({ min: 1, max: right.size?.max ?? 1 }, traversalFactor) };
};

/** Kubernetes' own estimates, by function. */
const byName: ReadonlyMap<string, Rule> = new Map([
  ...each('check', fixed(authorizationCost)),
  ...each(
    'serviceAccount path group resource subresource namespace name allowed reason error errored format.named masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery',
    fixed(1),
  ),
  ...each('fieldSelector labelSelector', selector),
  ...each('isSorted sum max min indexOf lastIndexOf', eachItem),
  ...each('url jsonpatch.escapeKey', ({ args, size }) => {
    const text = size(args[0]);
    return { cost: scale(text, traversalFactor), size: text };
  }),
  ...each('lowerAscii upperAscii substring trim', ({ target, size }) => {
    if (!target) return undefined;
    return { cost: scale(size(target), traversalFactor), size: size(target) };
  }),
  ...each('replace', replacement),
  ...each('split', splitting),
  ...each('join', joining),
  ...each('find findAll', finding),
  ...each('cidr isIP isCIDR quantity isQuantity semver isSemver', traverseArgument()),
  ...each('ip', (call) => (call.id === 'cidr_ip' ? { cost: exactly(1) } : traverseArgument()(call))),
  ...each('ip.isCanonical', traverseArgument(2)),
  ...each('containsIP', inNetwork(false)),
  ...each('containsCIDR', inNetwork(true)),
  ...each(
    'validate',
    ({ args, size }) =>
      args[0] && { cost: scale(scale(size(args[0]), traversalFactor), longestPattern * regexFactor) },
  ),
  ...each('_==_', equality),
]);

const smaller: Rule = ({ args, size }) => {
  const max = Math.min(size(args[0]).max, size(args[1]).max);
  return { cost: scale({ min: max > 0 ? 1 : 0, max }, traversalFactor) };
};

/** The most that quoting a text makes: cel-go counts it in 64 bits, which overflow. */
function quotedSize(most: number): number {
  const exact = most >= mostCost ? 2n ** 64n - 1n : BigInt(most);
  return Number(BigInt.asUintN(64, exact * 2n + 2n));
}

/** cel-go's estimates of standard functions, by overload. Without Kubernetes' sizes of arguments that are not computed. */
const byOverload: ReadonlyMap<string, Rule> = new Map([
  ...each('string_format', ({ target, size }) => target && { cost: scale(size(target), traversalFactor) }),
  ...each('string_to_bytes', ({ args, size }) => {
    const { min, max } = size(args[0]);
    return { cost: scale({ min, max }, traversalFactor), size: { min, max: max * 4 } };
  }),
  ...each('bytes_to_string', ({ args, size }) => {
    const { min, max } = size(args[0]);
    return { cost: scale({ min, max }, traversalFactor), size: { min: Math.floor(min / 4), max } };
  }),
  ...each('strings_quote', ({ args, size }) => {
    const { min, max } = size(args[0]);
    return { cost: scale({ min, max }, traversalFactor), size: { min: min + 2, max: quotedSize(max) } };
  }),
  ...each('starts_with_string ends_with_string', traverseArgument()),
  ...each('in_list', ({ args, size }) => ({ cost: size(args[1]) })),
  ...each(
    'matches_string',
    ({ target, args, size }) => target && { cost: pattern(size(target), size(args[0])) },
  ),
  ...each(
    'contains_string',
    ({ target, args, size }) =>
      target && {
        cost: multiply(scale(size(target), traversalFactor), scale(size(args[0]), traversalFactor)),
      },
  ),
  ...each(
    'equals not_equals less_string greater_string less_equals_string greater_equals_string less_bytes greater_bytes less_equals_bytes greater_equals_bytes',
    smaller,
  ),
]);

const allocating = (factor: number, items: Range): Estimated => ({
  cost: add(scale(items, factor), exactly(1 + listCreateCost)),
  size: items,
});

const intOr = (operand: Operand | undefined, otherwise: number): number => {
  const value = literalInt(operand);
  return value === undefined ? otherwise : Math.max(0, value);
};

const sorting =
  (isText: boolean, by: (call: Sized) => Range): Rule =>
  (call) =>
    allocating(isText ? 2 + traversalFactor : 2, multiply(by(call), by(call)));

const sorts = 'int uint double bool duration timestamp string bytes'.split(' ').flatMap((type) => {
  const isText = type === 'string' || type === 'bytes';
  return [
    [`list_${type}_sort`, sorting(isText, ({ target, size }) => size(target))],
    [`list_${type}_sortByAssociatedKeys`, sorting(isText, ({ args, size }) => size(args[0]))],
  ] as [string, Rule][];
});

const crossed =
  (factor: number): Rule =>
  ({ args, size }) => ({ cost: add(scale(multiply(size(args[0]), size(args[1])), factor), exactly(1)) });

/** Estimates of cel-go's list and set extensions, by overload. */
const extensions: ReadonlyMap<string, Rule> = new Map([
  ...each('list_slice', ({ target, args, size }) => {
    const length = intOr(args[1], size(target).max) - intOr(args[0], 0);
    // as in cel-go, a slice that ends before it begins is the most costly of all
    return allocating(1, exactly(length < 0 ? mostCost : length));
  }),
  ...each('lists_range', ({ args }) => allocating(1, exactly(intOr(args[0], mostCost)))),
  ...each('list_reverse', ({ target, size }) => allocating(1, size(target))),
  ...each('list_flatten', ({ target, size }) => allocating(1, size(target))),
  ...each('list_flatten_int', ({ target, args, size }) => allocating(intOr(args[0], mostCost), size(target))),
  ...each('list_distinct', ({ target, size }) => allocating(2, multiply(size(target), size(target)))),
  ...sorts,
  ...each('list_sets_contains_list list_sets_intersects_list', crossed(1)),
  ...each('list_sets_equivalent_list', crossed(2)),
]);
