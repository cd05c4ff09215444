import {
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  labelValueRule,
  type NameRule,
  qualifiedNameRule,
} from '../../../kube/validation/name-rules.ts';
import { func, type Library, method } from '../check/declarations.ts';
import { libraryType, listType, optionalType, stringType, type Type } from '../check/types.ts';
import { none, type Opaque, Optional } from '../values/value.ts';
import { Patterned } from '../cost/actual.ts';
import { listOf } from './strings.ts';
import { parseTime } from './conversions.ts';
import { parseRequestUri } from './urls.ts';

export const formatType: Type = libraryType('kubernetes.NamedFormat');

class NamedFormat extends Patterned {
  readonly type = formatType;
  readonly name: string;
  readonly patternSize: number;
  readonly validate: NameRule;
  constructor(name: string, patternSize: number, validate: NameRule) {
    super();
    this.name = name;
    this.patternSize = patternSize;
    this.validate = validate;
  }
  same(other: Opaque): boolean {
    return (other as NamedFormat).name === this.name;
  }
}

/** A name that goes on: a dash at its end is followed by something. */
const prefixOf =
  (rule: NameRule): NameRule =>
  (value) =>
    rule(value.length > 1 && value.endsWith('-') ? `${value.slice(0, -2)}a` : value);

const rule =
  (isValid: (value: string) => boolean, why: string): NameRule =>
  (value) =>
    isValid(value) ? [] : [why];

const uri: NameRule = (value) => {
  try {
    parseRequestUri(value);
    return [];
  } catch (reason) {
    return [(reason as Error).message];
  }
};

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const isDate = (value: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(value) && parseTime(`${value}T00:00:00Z`) !== undefined;
const isDateTime = (value: string): boolean => {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)T([^]*)$/i.exec(value) ?? [];
  return day !== undefined && parseTime(`${day}T${(time ?? '').toUpperCase()}`) !== undefined;
};

const patternSizes = { label: 30, subdomain: 60, value: 40, uri: 1103, uuid: 70, byte: 84, time: 105 };

const formats: readonly (readonly [name: string, shown: string, size: number, rule: NameRule])[] = [
  ['dns1123Label', 'DNS1123Label', patternSizes.label, dns1123Label],
  ['dns1123Subdomain', 'DNS1123Subdomain', patternSizes.subdomain, dns1123Subdomain],
  ['dns1035Label', 'DNS1035Label', patternSizes.label, dns1035Label],
  ['qualifiedName', 'QualifiedName', patternSizes.subdomain, qualifiedNameRule],
  ['dns1123LabelPrefix', 'DNS1123LabelPrefix', patternSizes.label, prefixOf(dns1123Label)],
  ['dns1123SubdomainPrefix', 'DNS1123SubdomainPrefix', patternSizes.subdomain, prefixOf(dns1123Subdomain)],
  ['dns1035LabelPrefix', 'DNS1035LabelPrefix', patternSizes.label, prefixOf(dns1035Label)],
  ['labelValue', 'LabelValue', patternSizes.value, labelValueRule],
  ['uri', 'URI', patternSizes.uri, uri],
  ['uuid', 'uuid', patternSizes.uuid, rule((value) => uuid.test(value), 'does not match the UUID format')],
  ['byte', 'byte', patternSizes.byte, rule((value) => base64.test(value), 'invalid base64')],
  ['date', 'date', patternSizes.time, rule(isDate, 'invalid date')],
  ['datetime', 'datetime', patternSizes.time, rule(isDateTime, 'invalid datetime')],
];
const byName: ReadonlyMap<string, NamedFormat> = new Map(
  formats.map(([name, shown, size, validate]) => [name, new NamedFormat(shown, size, validate)]),
);

/** Kubernetes' named formats. */
export const namedFormats: Library = {
  functions: [
    ...Array.from(byName, ([name, format]) =>
      func(`format.${name}`, [`format.${name}`, [], formatType, () => format]),
    ),
    func('format.named', [
      'format-named',
      [stringType],
      optionalType(formatType),
      (name) => {
        const format = byName.get(name as string);
        return format ? new Optional(format) : none;
      },
    ]),
    method('validate', [
      'format-validate',
      [formatType, stringType],
      optionalType(listType(stringType)),
      (format, value) => {
        const faults = (format as NamedFormat).validate(value as string);
        return faults.length === 0 ? none : new Optional(listOf(faults));
      },
    ]),
  ],
  types: [formatType],
};
