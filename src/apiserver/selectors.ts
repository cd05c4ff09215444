import { type JsonObject, objectAt, stringAt, textOf, valueAt } from './json.ts';
import type { Kind } from './kinds.ts';
import { badRequest } from './status-error.ts';

/** Whether an object is chosen. */
export type Matcher = (object: JsonObject) => boolean;

interface Requirement {
  readonly key: string;
  readonly operator: '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';
  readonly values: readonly string[];
}

const labelName = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const nameRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const valueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const unable = (why: string): Error => badRequest(`unable to parse requirement: ${why}`);

/** Go's lexer for label selectors: the symbols, and words between them. */
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
      if (next !== ',') throw unable(`found '${next}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after === undefined || (!isWord(after) && after !== '!'))
        throw unable(`found '${after ?? ''}', expected: identifier after ','`);
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
    checkKey(key);
    const operator = this.#peek();
    if (negated || operator === undefined || operator === ',')
      return { key, operator: negated ? '!' : 'exists', values: [] };
    this.#at++;
    return this.#valued(key, operator);
  }

  #valued(key: string, operator: string): Requirement {
    switch (operator) {
      case '=':
      case '==':
        return { key, operator: '=', values: [checkValue(key, this.#word())] };
      case '!=':
        return { key, operator: '!=', values: [checkValue(key, this.#word())] };
      case '>':
      case '<': {
        const value = this.#word();
        if (!/^[+-]?\d+$/.test(value))
          throw unable(
            `values[0]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
          );
        return { key, operator, values: [value] };
      }
      case 'in':
      case 'notin':
        return { key, operator, values: this.#list().map((value) => checkValue(key, value)) };
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
    const values: string[] = [];
    for (let next = this.#next(); next !== ')'; next = this.#next()) {
      if (next === undefined) throw unable("found '', expected: ',', or ')'");
      if (next !== ',') values.push(next);
    }
    return values.length === 0 ? [''] : values;
  }
}

const isWord = (token: string): boolean => !/^(==|!=|[=!(),<>])$/.test(token);

function checkKey(key: string): void {
  const name = key.includes('/') ? key.slice(key.indexOf('/') + 1) : key;
  if (!labelName.test(name))
    throw unable(`<nil>: Invalid value: ${JSON.stringify(key)}: ${nameRule}`.replace('<nil>', 'key'));
}

function checkValue(key: string, value: string): string {
  if (value !== '' && !labelName.test(value))
    throw unable(`values[0][${key}]: Invalid value: ${JSON.stringify(value)}: ${valueRule}`);
  return value;
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
  operators[operator](key in labels ? stringAt(labels, key) : undefined, values);

/** A label selector as text; `''` chooses everything. @throws {StatusError} 400 */
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

/** Fields that may be selected on, besides name and namespace. */
const selectable: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
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
    source: (event) =>
      stringAt(objectAt(event, 'source'), 'component') || stringAt(event, 'reportingComponent'),
    type: at('type'),
  },
  'certificates.k8s.io/certificatesigningrequests': { 'spec.signerName': at('spec', 'signerName') },
  'certificates.k8s.io/clustertrustbundles': { 'spec.signerName': at('spec', 'signerName') },
  'apps/replicasets': { 'status.replicas': (object) => at('status', 'replicas')(object) || '0' },
  replicationcontrollers: { 'status.replicas': (object) => at('status', 'replicas')(object) || '0' },
  'resource.k8s.io/resourceslices': {
    'spec.nodeName': at('spec', 'nodeName'),
    'spec.driver': at('spec', 'driver'),
  },
  'batch/jobs': { 'status.successful': (object) => at('status', 'succeeded')(object) || '0' },
};

/** One `field=value` of a field selector. */
export interface FieldTerm {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** Splits a field selector; a backslash takes the next character as it is. @throws {StatusError} 400 */
export function fieldTerms(text: string): FieldTerm[] {
  const terms = text.match(/(?:\\.|[^,\\])+/g) ?? [];
  return terms.map((term) => {
    const match = /^((?:\\.|[^=!\\])*)(!=|==|=)(.*)$/.exec(term);
    if (!match) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
    const [, field = '', operator, value = ''] = match;
    return { field, equal: operator !== '!=', value: value.replace(/\\(.)/g, '$1') };
  });
}

/** The one object that a field selector asks for by name; `''`: none, or the selector cannot be read (that is told later). */
export function selectedName(text: string): string {
  try {
    const { value = '' } =
      fieldTerms(text).find(({ field, equal }) => equal && field === 'metadata.name') ?? {};
    return value === '.' || value === '..' || /[/%]/.test(value) ? '' : value;
  } catch {
    return '';
  }
}

/** A field selector as text on objects of the kind (in their stored form). @throws {StatusError} 400 for a field that cannot be selected on */
export function fieldMatcher(text: string, kind: Kind): Matcher {
  const terms = fieldTerms(text).map((term): Matcher => {
    const get =
      term.field === 'metadata.name' || (term.field === 'metadata.namespace' && kind.namespaced)
        ? at('metadata', term.field.slice(9))
        : selectable[kind.storage]?.[term.field];
    // the two groups of events name what an event is about differently
    const foreign = kind.group === '' ? 'regarding.' : 'involvedObject.';
    if (!get || (kind.resource === 'events' && term.field.startsWith(foreign))) {
      throw badRequest(`field label not supported: ${term.field}`);
    }
    return (object) => (get(object) === term.value) === term.equal;
  });
  return (object) => terms.every((matches) => matches(object));
}
