import { ownMember } from '../../base/own.ts';
import { isObject, type JsonObject } from '../../apimachinery/json.ts';
import {
  type Faults,
  formatFieldErrors,
  invalid,
  required,
  unsupported,
} from '../../kube/validation/field-error.ts';
import { dns1123Subdomain } from '../../kube/validation/name-rules.ts';
import type { Attributes } from '../authorization/attributes.ts';
import { pathMatches } from '../authorization/rules.ts';
import { type AuditLevel, auditLevels } from '../request/audit-record.ts';

/** Stages of a request, in their order. */
export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;

/** A moment of a request for which an event may be recorded. */
export type AuditStage = (typeof auditStages)[number];

/** What is recorded of a request. */
export interface AuditConfig {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

interface Resources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

interface Rule extends AuditConfig {
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly Resources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** PolicyError tells why a policy cannot be used. */
export class AuditPolicyError extends Error {
  override readonly name = 'AuditPolicyError';
}

const policyFields = ['apiVersion', 'kind', 'metadata', 'rules', 'omitStages', 'omitManagedFields'];
const ruleFields = [
  ...['level', 'users', 'userGroups', 'verbs', 'resources', 'namespaces', 'nonResourceURLs'],
  ...['omitStages', 'omitManagedFields'],
];
const resourceFields = ['group', 'resources', 'resourceNames'];

/** AuditPolicy decides what is recorded of a request: the first rule that fits. */
export class AuditPolicy {
  /** What strict decoding finds: unknown fields, which have no effect. */
  readonly warnings: readonly string[];
  readonly #rules: readonly Rule[];
  readonly #otherwise: AuditConfig;

  private constructor(rules: readonly Rule[], otherwise: AuditConfig, warnings: readonly string[]) {
    this.#rules = rules;
    this.#otherwise = otherwise;
    this.warnings = warnings;
  }

  /** Returns the policy that records who did what, and with which result, once for each request. */
  static ofMetadata(): AuditPolicy {
    const omitStages: ReadonlySet<AuditStage> = new Set(['RequestReceived', 'ResponseStarted']);
    return new AuditPolicy([], { level: 'Metadata', omitStages, omitManagedFields: false }, []);
  }

  /** Reads a Policy of `audit.k8s.io/v1`. @throws {AuditPolicyError} */
  static of(value: unknown): AuditPolicy {
    const reader = new PolicyReader();
    const policy = reader.object(value, '', policyFields);
    const { apiVersion = '', kind = '' } = policy;
    if (apiVersion === '' || kind === '') {
      const missing = kind === '' ? 'Kind' : 'apiVersion';
      throw new AuditPolicyError(
        `failed decoding: Object '${missing}' is missing in '${JSON.stringify(value)}'`,
      );
    }
    if (apiVersion !== 'audit.k8s.io/v1' || kind !== 'Policy')
      throw new AuditPolicyError(
        `failed decoding: no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}: a Policy of audit.k8s.io/v1 is expected`,
      );
    const stages = reader.strings(policy, 'omitStages', '');
    const omitManagedFields = reader.boolean(policy, 'omitManagedFields', '') ?? false;
    const rules = reader.list(policy, 'rules', '').map((rule, i): Rule => {
      const at = `rules[${i}]`;
      return reader.rule(reader.object(rule, at, ruleFields), at, { stages, omitManagedFields });
    });
    const faults = [
      ...stageFaults(stages, 'omitStages'),
      ...rules.flatMap((rule, i) => [...ruleFaults(rule, i)]),
    ];
    if (faults.length > 0) throw new AuditPolicyError(formatFieldErrors(faults));
    if (rules.length === 0) throw new AuditPolicyError('loaded illegal policy with 0 rules');
    const omitStages = new Set(stages) as ReadonlySet<AuditStage>;
    return new AuditPolicy(rules, { level: 'None', omitStages, omitManagedFields }, reader.unknown);
  }

  /** Returns what is recorded of a request. */
  configFor(at: Attributes): AuditConfig {
    return this.#rules.find((rule) => fits(rule, at)) ?? this.#otherwise;
  }
}

/** PolicyReader reads the fields of a policy and their types, and collects the unknown ones. */
class PolicyReader {
  readonly unknown: string[] = [];

  object(value: unknown, at: string, fields: readonly string[]): JsonObject {
    if (!isObject(value)) throw mistyped(at, value, 'an object');
    for (const key of Object.keys(value))
      if (!fields.includes(key)) this.unknown.push(`unknown field "${at === '' ? '' : `${at}.`}${key}"`);
    return value;
  }

  list(holder: JsonObject, key: string, at: string): readonly unknown[] {
    const value = ownMember(holder, key) ?? [];
    if (!Array.isArray(value)) throw mistyped(joined(at, key), value, 'a list');
    return value;
  }

  strings(holder: JsonObject, key: string, at: string): readonly string[] {
    const list = this.list(holder, key, at);
    const wrong = list.findIndex((one) => typeof one !== 'string');
    if (wrong >= 0) throw mistyped(`${joined(at, key)}[${wrong}]`, list[wrong], 'a string');
    return list as readonly string[];
  }

  boolean(holder: JsonObject, key: string, at: string): boolean | undefined {
    const value = ownMember(holder, key) ?? undefined;
    if (value !== undefined && typeof value !== 'boolean')
      throw mistyped(joined(at, key), value, 'a boolean');
    return value;
  }

  string(holder: JsonObject, key: string, at: string): string {
    const value = ownMember(holder, key) ?? '';
    if (typeof value !== 'string') throw mistyped(joined(at, key), value, 'a string');
    return value;
  }

  rule(
    rule: JsonObject,
    at: string,
    policy: { readonly stages: readonly string[]; readonly omitManagedFields: boolean },
  ): Rule {
    const texts = (key: string): readonly string[] => this.strings(rule, key, at);
    return {
      level: this.string(rule, 'level', at) as AuditLevel,
      users: texts('users'),
      userGroups: texts('userGroups'),
      verbs: texts('verbs'),
      namespaces: texts('namespaces'),
      nonResourceURLs: texts('nonResourceURLs'),
      resources: this.list(rule, 'resources', at).map((value, i) => {
        const place = `${at}.resources[${i}]`;
        const one = this.object(value, place, resourceFields);
        return {
          group: this.string(one, 'group', place),
          resources: this.strings(one, 'resources', place),
          resourceNames: this.strings(one, 'resourceNames', place),
        };
      }),
      omitStages: new Set([...policy.stages, ...texts('omitStages')]) as ReadonlySet<AuditStage>,
      omitManagedFields: this.boolean(rule, 'omitManagedFields', at) ?? policy.omitManagedFields,
    };
  }
}

const joined = (at: string, key: string): string => (at === '' ? key : `${at}.${key}`);

const mistyped = (at: string, value: unknown, expected: string): AuditPolicyError =>
  new AuditPolicyError(
    `failed decoding: ${at === '' ? 'the policy' : at} is ${value === undefined ? 'empty' : JSON.stringify(value)}: ${expected} is expected`,
  );

function* stageFaults(stages: Iterable<string>, field: string): Faults {
  let i = 0;
  for (const stage of stages) {
    if (!(auditStages as readonly string[]).includes(stage))
      yield invalid(`${field}[${i}]`, stage, `allowed stages are ${auditStages.join(',')}`);
    i++;
  }
}

function* ruleFaults(rule: Rule, index: number): Faults {
  const at = `rules[${index}]`;
  const { level, nonResourceURLs, resources, namespaces, omitStages } = rule;
  if ((level as string) === '') yield required(`${at}.level`);
  else if (!auditLevels.includes(level)) yield unsupported(`${at}.level`, level, auditLevels);
  for (const [i, url] of nonResourceURLs.entries()) yield* pathFaults(url, `${at}.nonResourceURLs[${i}]`);
  for (const one of resources) yield* resourceFaults(one, `${at}.resources`);
  yield* stageFaults(omitStages, `${at}.omitStages`);
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0))
    yield invalid(
      `${at}.nonResourceURLs`,
      nonResourceURLs,
      'rules cannot apply to both regular resources and non-resource URLs',
    );
}

function* pathFaults(url: string, field: string): Faults {
  if (url === '*') return;
  if (!url.startsWith('/'))
    yield invalid(field, url, "non-resource URL rules must begin with a '/' character");
  if (url.slice(0, -1).includes('*'))
    yield invalid(field, url, "non-resource URL wildcards '*' must be the final character of the rule");
}

function* resourceFaults({ group, resources, resourceNames }: Resources, field: string): Faults {
  if (group !== '' && group !== '*')
    for (const text of dns1123Subdomain(group)) yield invalid(`${field}.group`, group, text);
  if (resourceNames.length > 0 && resources.length === 0)
    yield invalid(
      `${field}.resourceNames`,
      resourceNames,
      'using resourceNames requires at least one resource',
    );
}

/** True when a list of a rule is empty, or has the value. */
const allows = (list: readonly string[], value: string): boolean => list.length === 0 || list.includes(value);

function fits(rule: Rule, at: Attributes): boolean {
  const { user, verb, path, namespace } = at;
  const { users, userGroups, verbs, resources, namespaces, nonResourceURLs } = rule;
  if (!allows(users, user.name) || !allows(verbs, verb)) return false;
  if (userGroups.length > 0 && !user.groups.some((group) => userGroups.includes(group))) return false;
  if (resources.length > 0 || namespaces.length > 0) {
    if (path !== undefined || !allows(namespaces, namespace)) return false;
    return resources.length === 0 || resources.some((one) => fitsResource(one, at));
  }
  if (nonResourceURLs.length === 0) return true;
  return path !== undefined && nonResourceURLs.some((url) => pathMatches(url, path));
}

function fitsResource({ group, resources, resourceNames }: Resources, at: Attributes): boolean {
  if (group !== at.group) return false;
  if (resources.length === 0) return true;
  if (!allows(resourceNames, at.name)) return false;
  const { resource, subresource } = at;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (one) =>
      one === '*' ||
      one === whole ||
      one === `${resource}/*` ||
      (subresource !== '' && one === `*/${subresource}`),
  );
}
