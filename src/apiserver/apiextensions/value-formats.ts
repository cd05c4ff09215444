import { isIP, isIPv4, isIPv6 } from 'node:net';
import { ownMember, tableOf } from '../../base/own.ts';
import { parseDuration } from '../../kube/duration.ts';

type Format = (value: string) => boolean;

const matching =
  (pattern: RegExp): Format =>
  (value) =>
    pattern.test(value);

const isCidr: Format = (value) => {
  const [address = '', length = '', ...more] = value.split('/');
  const most = isIPv4(address) ? 32 : 128;
  return isIP(address) > 0 && more.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= most;
};

const isDate: Format = (value) => {
  const [, year = '', month = '', day = ''] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(value) ?? [];
  if (day === '') return false;
  const at = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return at.getUTCMonth() === Number(month) - 1 && at.getUTCDate() === Number(day);
};

const isDateTime: Format = (value) =>
  /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(value) &&
  isDate(value.slice(0, 10)) &&
  !Number.isNaN(Date.parse(value));

/** Hosts may have letters and symbols of any script, but not in the last of several labels. */
const host =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;
const isHostname: Format = (value) =>
  host.test(value) &&
  Buffer.byteLength(value) <= 255 &&
  value.split('.').every((label) => Buffer.byteLength(label) <= 63);

/** An address of mail, alone or after a name and in angle brackets. */
const mail = /^(?:[^<>@]*<[^\s<>@"(),:;]+@[^\s<>@"(),:;]+>|[^\s<>@"(),:;]+@[^\s<>@"(),:;]+)$/;

const isUri: Format = (value) =>
  !/[\0-\x20\x7f]/.test(value) &&
  (value.startsWith('/') || /^[A-Za-z][A-Za-z0-9+.-]*:./.test(value)) &&
  !/%(?![0-9A-Fa-f]{2})/.test(value);

/** Bytes of 6, 8 or 20, separated one by one or two by two. */
const isMac: Format = (value) => {
  const bytes = value.replace(/[^0-9A-Fa-f]/g, '').length / 2;
  const byOne = /^[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2})+|(?:-[0-9A-Fa-f]{2})+)$/.test(value);
  return [6, 8, 20].includes(bytes) && (byOne || /^[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4})+$/.test(value));
};

const sum = (digits: string, weigh: (digit: number, place: number) => number): number =>
  Array.from(digits).reduce<number>(
    (total, digit, i) => total + weigh(digit === 'X' ? 10 : Number(digit), i),
    0,
  );

const bare = (value: string): string => value.replace(/[\s-]/g, '');

const isIsbn10: Format = (value) => {
  const digits = bare(value);
  return /^\d{9}[\dX]$/.test(digits) && sum(digits, (digit, i) => digit * (10 - i)) % 11 === 0;
};
const isIsbn13: Format = (value) => {
  const digits = bare(value);
  return /^\d{13}$/.test(digits) && sum(digits, (digit, i) => digit * (i % 2 === 0 ? 1 : 3)) % 10 === 0;
};

const card =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;
const isCreditCard: Format = (value) => {
  const digits = value.replace(/\D/g, '');
  const doubled = (digit: number): number => (digit > 4 ? digit * 2 - 9 : digit * 2);
  const odd = digits.length % 2;
  return card.test(digits) && sum(digits, (digit, i) => (i % 2 === odd ? doubled(digit) : digit)) % 10 === 0;
};

const part = String.raw`\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*`;
const units = /^(?:ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week)/i;
const fullUnits = /^(?:ns|us|µs|ms|s|m|h|hr|d|w|wk)$|^(?:nano|micro|milli|sec|min|hour|day|week)/i;

/** A duration of Go, or of numbers with units in words: `3 days`. */
const isDuration: Format = (value) =>
  typeof parseDuration(value) !== 'string' ||
  [...value.matchAll(/\d+\s*([A-Za-zµ]+)/g)].some(
    ([, unit = '']) => units.test(unit) && fullUnits.test(unit),
  );

const uuid = (version: string, variant: string): Format =>
  matching(
    new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i'),
  );

/** Formats of texts that CustomResourceDefinitions may name; `password` and all others allow any text. */
const formats: Readonly<Record<string, Format>> = tableOf({
  bsonobjectid: matching(/^[0-9a-f]{24}$/i),
  uri: isUri,
  email: matching(mail),
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: isCidr,
  mac: isMac,
  uuid: uuid('[0-9a-f]', '[0-9a-f]'),
  uuid3: uuid('3', '[0-9a-f]'),
  uuid4: uuid('4', '[89ab]'),
  uuid5: uuid('5', '[89ab]'),
  isbn: (value) => isIsbn10(value) || isIsbn13(value),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (value) => value.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(value),
  hexcolor: matching(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  rgbcolor: matching(new RegExp(String.raw`^rgb\(${part},${part},${part}\)$`)),
  byte: matching(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/),
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  k8sshortname: (value) => value.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(value),
  k8slongname: (value) =>
    value.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value),
});

/** Reports whether a text has a format of a schema; formats that are not known allow any text. Dashes in their names do not count. */
export const hasFormat = (value: string, format: string): boolean =>
  ownMember(formats, format.replaceAll('-', ''))?.(value) ?? true;

const numberFormats: Readonly<Record<string, readonly string[]>> = tableOf({
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
});

/** Reports whether schemas of a type (empty: of any, or of several) may name a format: others are ignored. */
export function isFormatOf(type: string, format: string): boolean {
  if (type === '' || type === 'string')
    return format === 'password' || ownMember(formats, format.replaceAll('-', '')) !== undefined;
  return ownMember(numberFormats, type)?.includes(format) ?? false;
}
