import { ownMember, tableOf } from '../base/own.ts';
import { labelValueRule, qualifiedNameRule } from '../kube/validation/name-rules.ts';
import { type JsonObject, objectAt, stringAt, textOf, valueAt } from './json.ts';
import type { LabelSelector } from '../kube/label-selector.ts';
import { groupVersionOf, type Kind } from './kinds.ts';
import { badRequest } from './status-error.ts';

/** Reports whether an object is selected. */
export type Matcher = (object: JsonObject) => boolean;

/** A requirement of a label selector. */
export interface Requirement {
  readonly key: string;
  readonly operator: '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';
  readonly values: readonly string[];
}

const unable = (why: string): Error => badRequest(`unable to parse requirement: ${why}`);

/** Splits a label selector into symbols and words, like Go's lexer. */
function tokens(text: string): string[] {
  return text.match(/==|!=|=|!|\(|\)|,|>|<|[^\s=!(),<>]+/g) ?? [];
}

class LabelParser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokens(text);
  }

  parse(): Requirement[] {
    const found: Requirement[] = [];
    if (this.#peek() === undefined) return found;
    for (;;) {
      found.push(this.#requirement());
      const next = this.#next();
      if (next === undefined) return found;
      if (next !== ',') throw badRequest(`found '${next}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after === undefined || (!isWord(after) && after !== '!'))
        throw badRequest(`found '${after ?? ''}', expected: identifier after ','`);
    }
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #next(): string | undefined {
    return this.#tokens[this.#at++];
  }

  #requirement(): Requirement {
    let negated = false;
    if (this.#peek() === '!') {
      negated = true;
      this.#at++;
    }
    const key = this.#next();
    if (key === undefined || !isWord(key))
      throw this.#at <= 1
        ? badRequest(`found '${key ?? ''}', expected: !, identifier, or 'end of string'`)
        : unable(`found '${key ?? ''}', expected: identifier`);
    const operator = this.#peek();
    if (negated || operator === undefined || operator === ',')
      return checked({ key, operator: negated ? '!' : 'exists', values: [] });
    this.#at++;
    return checked(this.#valued(key, operator));
  }

  #valued(key: string, operator: string): Requirement {
    switch (operator) {
      case '=':
      case '==':
        return { key, operator: '=', values: [this.#word()] };
      case '!=':
        return { key, operator: '!=', values: [this.#word()] };
      case '>':
      case '<':
        return { key, operator, values: [this.#word()] };
      case 'in':
      case 'notin':
        return { key, operator, values: this.#list() };
      default:
        throw unable(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
    }
  }

  #word(): string {
    const next = this.#peek();
    if (next === undefined || next === ',') return '';
    if (!isWord(next)) throw unable(`found '${next}', expected: identifier`);
    this.#at++;
    return next;
  }

  #list(): string[] {
    const open = this.#next();
    if (open !== '(') throw unable(`found '${open ?? ''}' expected: '('`);
    const first = this.#peek();
    if (first === undefined || (first !== ',' && first !== ')' && !isWord(first)))
      throw unable(`found '${first ?? ''}', expected: ',', ')' or identifier`);
    const values = first === ')' ? new Set(['']) : this.#values();
    this.#at++;
    return [...values].sort();
  }

  /** Reads up to the closing parenthesis; an empty place beside a comma is an empty value. */
  #values(): Set<string> {
    const values = new Set<string>();
    for (;;) {
      const token = this.#next() ?? '';
      const after = this.#peek() ?? '';
      const closes = after === ',' || after === ')';
      if (token === ',') {
        if (values.size === 0 || closes) values.add('');
      } else {
        if (token === '' || !isWord(token)) throw unable(`found '${token}', expected: ',', or identifier`);
        if (!closes) throw unable(`found '${after}', expected: ',' or ')'`);
        values.add(token);
      }
      if (after === ')') return values;
    }
  }
}

const isWord = (token: string): boolean => !/^(==|!=|[=!(),<>])$/.test(token);

/** Follows apimachinery `labels.NewRequirement`. @throws {StatusError} 400 */
function checked(requirement: Requirement): Requirement {
  const { key, operator, values } = requirement;
  const faults: string[] = [];
  const tell = (field: string, value: unknown, rules: readonly string[]): void => {
    if (rules.length > 0)
      faults.push(`${field}: Invalid value: ${JSON.stringify(value)}: ${rules.join('; ')}`);
  };
  tell('<nil>', key, qualifiedNameRule(key)); // kube-apiserver has no path here
  const empty = (operator === 'in' || operator === 'notin') && values.length === 0;
  if (empty) tell('values', values, ["for 'in', 'notin' operators, values set can't be empty"]);
  values.forEach((value, i) => {
    const number = operator !== '>' && operator !== '<' ? true : /^[+-]?\d+$/.test(value);
    if (!number) tell(`values[${i}]`, value, ["for 'Gt', 'Lt' operators, the value must be an integer"]);
    tell(`values[${i}][${key}]`, value, labelValueRule(value));
  });
  if (faults.length === 0) return requirement;
  throw unable(faults.length === 1 ? (faults[0] ?? '') : `[${faults.join(', ')}]`);
}

type Meets = (value: string | undefined, values: readonly string[]) => boolean;

const isIn: Meets = (value, values) => value !== undefined && values.includes(value);
const isNotIn: Meets = (value, values) => !isIn(value, values);
const compared =
  (fits: (a: number, b: number) => boolean): Meets =>
  (value = '', [limit]) =>
    /^[+-]?\d+$/.test(value) && fits(Number(value), Number(limit));

const operators: Readonly<Record<Requirement['operator'], Meets>> = {
  '=': isIn,
  in: isIn,
  '!=': isNotIn,
  notin: isNotIn,
  exists: (value) => value !== undefined,
  '!': (value) => value === undefined,
  '>': compared((a, b) => a > b),
  '<': compared((a, b) => a < b),
};

const meets = (labels: JsonObject, { key, operator, values }: Requirement): boolean =>
  operators[operator](Object.hasOwn(labels, key) ? stringAt(labels, key) : undefined, values);

/** Parses a label selector. @throws {StatusError} 400 */
export const labelRequirements = (text: string): readonly Requirement[] =>
  text === '' ? [] : new LabelParser(text).parse();

/** Parses a label selector; `''` selects everything. @throws {StatusError} 400 */
export function labelMatcher(text: string): Matcher {
  const requirements = new LabelParser(text).parse();
  return (object) => {
    const labels = objectAt(objectAt(object, 'metadata'), 'labels');
    return requirements.every((requirement) => meets(labels, requirement));
  };
}

const at =
  (...path: readonly string[]) =>
  (object: JsonObject): string => {
    const value = valueAt(object, ...path);
    return typeof value === 'object' ? '' : textOf(value);
  };

type Field = (object: JsonObject) => string;

const involved = (first: string): Readonly<Record<string, Field>> =>
  Object.fromEntries(
    ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((key) => [
      `${first}.${key}`,
      at('involvedObject', key),
    ]),
  );

const podFields: Readonly<Record<string, Field>> = {
  'spec.nodeName': at('spec', 'nodeName'),
  'spec.restartPolicy': at('spec', 'restartPolicy'),
  'spec.schedulerName': at('spec', 'schedulerName'),
  'spec.serviceAccountName': at('spec', 'serviceAccountName'),
  'spec.hostNetwork': (pod) => String(valueAt(pod, 'spec', 'hostNetwork') === true),
  'status.phase': at('status', 'phase'),
  'status.podIP': at('status', 'podIP'),
  'status.podIPs': at('status', 'podIP'),
  'status.nominatedNodeName': at('status', 'nominatedNodeName'),
};

/** Selectable fields besides name and namespace. */
const selectable: Readonly<Record<string, Readonly<Record<string, Field>>>> = tableOf({
  pods: podFields,
  nodes: { 'spec.unschedulable': (node) => String(valueAt(node, 'spec', 'unschedulable') === true) },
  namespaces: { 'status.phase': at('status', 'phase') },
  secrets: { type: at('type') },
  services: { 'spec.clusterIP': at('spec', 'clusterIP'), 'spec.type': at('spec', 'type') },
  events: {
    ...involved('involvedObject'),
    ...involved('regarding'),
    reason: at('reason'),
    reportingComponent: at('reportingComponent'),
    reportingController: at('reportingComponent'),
    source: (event) =>
      stringAt(objectAt(event, 'source'), 'component') || stringAt(event, 'reportingComponent'),
    type: at('type'),
  },
  'certificates.k8s.io/certificatesigningrequests': { 'spec.signerName': at('spec', 'signerName') },
  'certificates.k8s.io/clustertrustbundles': { 'spec.signerName': at('spec', 'signerName') },
  replicationcontrollers: { 'status.replicas': (object) => at('status', 'replicas')(object) || '0' },
  'resource.k8s.io/resourceslices': {
    'spec.nodeName': at('spec', 'nodeName'),
    'spec.driver': at('spec', 'driver'),
  },
  'batch/jobs': { 'status.successful': (object) => at('status', 'succeeded')(object) || '0' },
});

/** One `field=value` of a field selector. */
export interface FieldTerm {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** Splits a field selector into its terms, sorted by their texts; a backslash escapes the next character. @throws {StatusError} 400 */
export function fieldTerms(text: string): FieldTerm[] {
  const terms = text.match(/(?:\\.|[^,\\]|\\$)+/g) ?? [];
  return terms.sort().flatMap((term) => {
    const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = '', operator, rest = ''] = match;
    const value = unescaped(rest);
    // a term without a field and a value selects everything
    return field === '' && value === '' ? [] : [{ field, equal: operator !== '!=', value }];
  });
}

/** Returns a value without the backslashes that escape commas, equal signs and backslashes. @throws {StatusError} 400 */
function unescaped(text: string): string {
  const wrong = /^(?:\\[\\,=]|[^\\,=])*(\\.?|[,=])/su.exec(text.replace(/\\[\\,=]/g, ''));
  const [, sign = ''] = wrong ?? [];
  if (sign.startsWith('\\')) throw badRequest(`invalid field selector: invalid escape sequence: ${sign}`);
  if (sign !== '')
    throw badRequest(`invalid field selector: unescaped character in value: ${sign.charCodeAt(0)}`);
  return text.replace(/\\(.)/g, '$1');
}

/** Returns the object name that a field selector requires; `''`: none, or the selector is invalid, which is reported later. */
export function selectedName(text: string): string {
  try {
    const { value = '' } =
      fieldTerms(text).find(({ field, equal }) => equal && field === 'metadata.name') ?? {};
    return value === '.' || value === '..' || /[/%]/.test(value) ? '' : value;
  } catch {
    return '';
  }
}

const nameFields: Readonly<Record<string, Field>> = tableOf({
  'metadata.name': at('metadata', 'name'),
  'metadata.namespace': at('metadata', 'namespace'),
});

function fieldOf(field: string, kind: Kind): Field | undefined {
  const own = selectable[kind.storage];
  if (field === 'metadata.namespace' && own && !kind.namespaced) return undefined;
  // the two API groups of events name the involved object and the reporter differently
  const foreign =
    kind.group === ''
      ? /^(regarding\.|reportingController$)/
      : /^(involvedObject\.|reportingComponent$|source$)/;
  if (kind.resource === 'events' && foreign.test(field)) return undefined;
  const path = kind.custom?.selectable.get(field);
  return nameFields[field] ?? ownMember(own, field) ?? (path && at(...path));
}

/** Returns the error for a field that cannot be selected on; kinds with fields of their own have their own messages. */
function unselectable(field: string, kind: Kind): string {
  if (kind.kind === 'Job') return `field label ${JSON.stringify(field)} not supported for Job`;
  if (kind.group === 'resource.k8s.io' && selectable[kind.storage])
    return `field label not supported for ${groupVersionOf(kind)}, Kind=${kind.kind}: ${field}`;
  return (selectable[kind.storage] ?? kind.custom)
    ? `field label not supported: ${field}`
    : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

/**
 * Parses a field selector on objects of the kind (in their stored form). @throws {StatusError} 400 for a field that cannot be selected on
 */
export function fieldMatcher(terms: readonly FieldTerm[], kind: Kind): Matcher {
  const matchers = terms.map((term): Matcher => {
    const get = fieldOf(term.field, kind);
    if (!get) throw badRequest(unselectable(term.field, kind));
    return (object) => (get(object) === term.value) === term.equal;
  });
  return (object) => matchers.every((matches) => matches(object));
}

/** Formats a label selector like Go's `LabelSelector.String`: `&LabelSelector{MatchLabels:…`. */
export function labelSelectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`);
  const terms = matchExpressions.map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${terms.join('')}},}`;
}
