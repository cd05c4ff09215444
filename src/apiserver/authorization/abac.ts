import { messageOf } from '../../base/errors.ts';
import { ownMember } from '../../base/own.ts';
import { goQuote } from '../../go/go-quote.ts';
import { jsonFault } from '../../apimachinery/serializer/json-scan.ts';
import { isObject, type JsonObject } from '../../apimachinery/json.ts';
import type { User } from '../authentication/users.ts';
import type { Attributes } from './attributes.ts';
import { allow, type AuthorizationMode, type Opinion, pass, type UserRules } from './mode.ts';
import { pathMatches, type Rule } from './rules.ts';

/** Version of policies that name one. */
const version = 'abac.authorization.kubernetes.io/v1beta1';

interface Policy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

/** PolicyFileError tells which line of an ABAC policy file is wrong. */
export class PolicyFileError extends Error {
  override readonly name = 'PolicyFileError';
}

/**
 * PolicyListMode allows what a policy of a file allows. Follows kube-apiserver's mode ABAC (v1.36).
 */
export class PolicyListMode implements AuthorizationMode {
  readonly #policies: readonly Policy[];

  /**
   * Reads policies: a JSON object a line; empty lines and those that begin with `#` are left out.
   *
   * @param file name for errors
   * @throws {PolicyFileError}
   */
  constructor(text: string, file: string) {
    this.#policies = text.split('\n').flatMap((line, i) => {
      const trimmed = line.trim();
      if (trimmed === '' || trimmed.startsWith('#')) return [];
      try {
        return [policyOf(trimmed)];
      } catch (reason) {
        throw new PolicyFileError(
          `error reading policy file ${file}, line ${i + 1}: ${line}: ${messageOf(reason)}`,
        );
      }
    });
  }

  decide(at: Attributes): Opinion {
    return this.#policies.some((policy) => fits(policy, at)) ? allow() : pass('No policy matched.');
  }

  rules(user: User, namespace: string): UserRules {
    const rules = this.#policies
      .filter((policy) => isSubject(policy, user) && ['*', namespace].includes(policy.namespace))
      .flatMap(rulesOf);
    return { rules, errors: [] };
  }
}

function rulesOf({ readonly, apiGroup, resource, nonResourcePath }: Policy): readonly Rule[] {
  const verbs = readonly ? ['get', 'list', 'watch'] : ['*'];
  return [
    ...(resource === '' ? [] : [{ verbs, apiGroups: [apiGroup], resources: [resource] }]),
    ...(nonResourcePath === '' ? [] : [{ verbs, nonResourceURLs: [nonResourcePath] }]),
  ];
}

/** @throws {Error} in the words of kube-apiserver */
function policyOf(line: string): Policy {
  const value = objectOf(line);
  const { apiVersion = '', kind = '' } = value;
  if (apiVersion === '' && kind === '') return unversioned(value);
  if (apiVersion !== version || kind !== 'Policy')
    throw new Error(
      `no kind ${goQuote(String(kind))} is registered for version ${goQuote(String(apiVersion))}: a Policy of ${version} is expected`,
    );
  const spec = value['spec'] ?? {};
  if (!isObject(spec)) throw new Error('spec: an object is expected');
  const policy = fieldsOf(spec, 'spec.');
  return policy.user === '*' || policy.group === '*' ? { ...policy, ...everybody } : policy;
}

function objectOf(line: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error(`couldn't get version/kind; json parse error: ${jsonFault(line)}`);
  }
  if (!isObject(value)) throw new Error('an object is expected: {"apiVersion", "kind", "spec"}');
  return value;
}

const everybody = { user: '', group: 'system:authenticated' };

/** Returns the policy of a line in the old form, where what is left out means everything. */
function unversioned(value: JsonObject): Policy {
  const policy = fieldsOf(value, '');
  const { user, group, namespace, resource } = policy;
  const isForAll = (user === '' && group === '') || user === '*' || group === '*';
  return {
    ...policy,
    ...(isForAll && everybody),
    apiGroup: '*',
    namespace: namespace || '*',
    resource: resource || '*',
    nonResourcePath: namespace === '' && resource === '' ? '*' : '',
  };
}

function fieldsOf(spec: JsonObject, at: string): Policy {
  const text = (key: string): string => {
    const value = ownMember(spec, key) ?? '';
    if (typeof value !== 'string') throw new Error(`${at}${key}: a string is expected`);
    return value;
  };
  const readonly = spec['readonly'] ?? false;
  if (typeof readonly !== 'boolean') throw new Error(`${at}readonly: true or false is expected`);
  return {
    user: text('user'),
    group: text('group'),
    readonly,
    apiGroup: text('apiGroup'),
    resource: text('resource'),
    namespace: text('namespace'),
    nonResourcePath: text('nonResourcePath'),
  };
}

const isSubject = ({ user, group }: Policy, { name, groups }: User): boolean =>
  (user !== '' || group !== '') && (user === '' || user === name) && (group === '' || groups.includes(group));

const reading: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

function fits(policy: Policy, at: Attributes): boolean {
  if (!isSubject(policy, at.user) || (policy.readonly && !reading.has(at.verb))) return false;
  if (at.path !== undefined) return pathMatches(policy.nonResourcePath, at.path);
  const is = (pattern: string, value: string): boolean => pattern === '*' || pattern === value;
  return (
    is(policy.namespace, at.namespace) && is(policy.resource, at.resource) && is(policy.apiGroup, at.group)
  );
}
