import { goQuote } from '../../../go/go-quote.ts';
import { func, type Library, method } from '../check/declarations.ts';
import { boolType, intType, libraryType, stringType, type Type } from '../check/types.ts';
import { compareText } from '../values/compare.ts';
import { EvalError, Opaque, type Value } from '../values/value.ts';

export const semverType: Type = libraryType('kubernetes.Semver');

/** A version by semver 2.0; build metadata has no part in its order. */
class Version extends Opaque {
  readonly type = semverType;
  readonly numbers: readonly bigint[];
  readonly pre: readonly string[];
  constructor(numbers: readonly bigint[], pre: readonly string[]) {
    super();
    this.numbers = numbers;
    this.pre = pre;
  }
  same(other: Opaque): boolean {
    return compareVersions(this, other as Version) === 0;
  }
}

function compareVersions(a: Version, b: Version): number {
  for (let i = 0; i < 3; i++) {
    const [left = 0n, right = 0n] = [a.numbers[i], b.numbers[i]];
    if (left !== right) return left < right ? -1 : 1;
  }
  if (a.pre.length === 0 || b.pre.length === 0)
    return Math.sign(Number(a.pre.length === 0) - Number(b.pre.length === 0));
  for (const [i, part] of a.pre.entries()) {
    const other = b.pre[i];
    if (other === undefined) return 1;
    const order = comparePre(part, other);
    if (order !== 0) return order;
  }
  return a.pre.length < b.pre.length ? -1 : 0;
}

const isNumber = (text: string): boolean => /^\d+$/.test(text);

function comparePre(a: string, b: string): number {
  if (isNumber(a) && isNumber(b)) return BigInt(a) === BigInt(b) ? 0 : BigInt(a) < BigInt(b) ? -1 : 1;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return compareText(a, b);
}

const fail = (why: string): never => {
  throw new EvalError(why);
};

function numberPart(name: string, text: string): bigint {
  if (!/^\d*$/.test(text)) return fail(`Invalid character(s) found in ${name} number ${goQuote(text)}`);
  if (text.length > 1 && text.startsWith('0'))
    return fail(
      `${name[0]?.toUpperCase()}${name.slice(1)} number must not contain leading zeroes ${goQuote(text)}`,
    );
  if (text === '') return fail('strconv.ParseUint: parsing "": invalid syntax');
  return BigInt(text);
}

/** Parses a version strictly. @throws {EvalError} in the words of blang/semver */
function parseVersion(text: string): Version {
  if (text === '') return fail('Version string empty');
  const [major = '', minor, ...more] = text.split('.');
  if (minor === undefined || more.length === 0) return fail('No Major.Minor.Patch elements found');
  const rest = more.join('.');
  const [, patch = '', pre, build] = /^([^-+]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(rest) ?? [];
  const numbers = [numberPart('major', major), numberPart('minor', minor), numberPart('patch', patch)];
  const parts = pre === undefined ? [] : pre.split('.');
  for (const part of parts) checkPre(part);
  for (const part of build === undefined ? [] : build.split('.')) checkBuild(part);
  return new Version(numbers, parts);
}

function checkPre(part: string): void {
  if (part === '') fail('Prerelease is empty');
  if (isNumber(part)) {
    if (part.length > 1 && part.startsWith('0'))
      fail(`Numeric PreRelease version must not contain leading zeroes ${goQuote(part)}`);
  } else if (!/^[0-9A-Za-z-]+$/.test(part)) fail(`Invalid character(s) found in prerelease ${goQuote(part)}`);
}

function checkBuild(part: string): void {
  if (part === '') fail('Build meta data is empty');
  if (!/^[0-9A-Za-z-]+$/.test(part)) fail(`Invalid character(s) found in build meta data ${goQuote(part)}`);
}

/** Fills up a shortened version, and removes its `v` and leading zeros. @throws {EvalError} */
function normalized(text: string): string {
  const [major = '', minor, ...more] = text.replace(/^v/, '').split('.');
  const parts = [
    major,
    ...(minor === undefined ? [] : [minor]),
    ...(more.length === 0 ? [] : [more.join('.')]),
  ];
  const bare = parts.map((part) => {
    if (part.length <= 1) return part;
    const rest = part.replace(/^0+/, '');
    return /^\d/.test(rest) ? rest : `0${rest}`;
  });
  if (bare.length === 3) return bare.join('.');
  if (/[+-]/.test(bare.at(-1) ?? '')) fail('short version cannot contain PreRelease/Build meta data');
  return [...bare, '0', '0'].slice(0, 3).join('.');
}

const parse = (text: Value, isLenient: Value = false): Version =>
  parseVersion(isLenient === true ? normalized(text as string) : (text as string));

function isVersion(text: Value, isLenient: Value = false): Value {
  try {
    parse(text, isLenient);
    return true;
  } catch {
    return false;
  }
}

const order = (a: Value, b: Value): number => compareVersions(a as Version, b as Version);
const two = [semverType, semverType];
const part = (name: string, index: number): Library['functions'][number] =>
  method(name, [`semver_${name}`, [semverType], intType, (v) => (v as Version).numbers[index] ?? 0n]);

/** Kubernetes' semantic versions. */
export const versions: Library = {
  functions: [
    func(
      'semver',
      ['string_to_semver', [stringType], semverType, parse],
      ['string_bool_to_semver', [stringType, boolType], semverType, parse],
    ),
    func(
      'isSemver',
      ['is_semver_string', [stringType], boolType, isVersion],
      ['is_semver_string_bool', [stringType, boolType], boolType, isVersion],
    ),
    method('isGreaterThan', ['semver_is_greater_than', two, boolType, (a, b) => order(a, b) > 0]),
    method('isLessThan', ['semver_is_less_than', two, boolType, (a, b) => order(a, b) < 0]),
    method('compareTo', ['semver_compare_to', two, intType, (a, b) => BigInt(order(a, b))]),
    part('major', 0),
    part('minor', 1),
    part('patch', 2),
  ],
  types: [semverType],
};
