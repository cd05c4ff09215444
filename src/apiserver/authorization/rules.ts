import type { JsonObject } from '../../apimachinery/json.ts';
import { listAt, objectsAt } from '../../apimachinery/json.ts';
import type { Attributes } from './attributes.ts';

/** A rule of a role. */
export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const has = (list: readonly string[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes('*') || list.includes(value));

/** True when a pattern of a path fits: `*`, the path itself, or the beginning before a final `*`. */
export const pathMatches = (pattern: string, path: string): boolean =>
  pattern === '*' ||
  pattern === path ||
  (pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, '')));

/** Reports whether a rule allows a request. */
export function ruleAllows(rule: Rule, at: Attributes): boolean {
  if (!has(rule.verbs, at.verb)) return false;
  const { path } = at;
  if (path !== undefined) return (rule.nonResourceURLs ?? []).some((url) => pathMatches(url, path));
  if (!has(rule.apiGroups, at.group)) return false;
  const resource = at.subresource ? `${at.resource}/${at.subresource}` : at.resource;
  const resources = rule.resources ?? [];
  const named =
    has(resources, resource) || (at.subresource !== '' && resources.includes(`*/${at.subresource}`));
  if (!named) return false;
  return !rule.resourceNames?.length || rule.resourceNames.includes(at.name);
}

const parsed = new WeakMap<JsonObject, readonly Rule[]>();

/** Returns the rules of a stored role. */
export function rulesOf(role: JsonObject): readonly Rule[] {
  const found = parsed.get(role);
  if (found) return found;
  const rules = objectsAt(role, 'rules').map((body) => ({
    verbs: listAt(body, 'verbs') as string[],
    apiGroups: listAt(body, 'apiGroups') as string[],
    resources: listAt(body, 'resources') as string[],
    resourceNames: listAt(body, 'resourceNames') as string[],
    nonResourceURLs: listAt(body, 'nonResourceURLs') as string[],
  }));
  parsed.set(role, rules);
  return rules;
}

/** A permission that one rule covers or not: one verb on one resource, with at most one name, or on one path. */
export interface Permission {
  readonly verb: string;
  readonly group?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly path?: string;
}

/** Splits a rule into its permissions. */
export function permissionsOf(rule: Rule): readonly Permission[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const names = resourceNames.length > 0 ? resourceNames.map((name) => ({ name })) : [{}];
  const each = (target: Omit<Permission, 'verb'>): readonly Permission[] =>
    verbs.map((verb) => ({ verb, ...target }));
  return [
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) => names.flatMap((name) => each({ group, resource, ...name }))),
    ),
    ...nonResourceURLs.flatMap((path) => each({ path })),
  ];
}

/** Reports whether a rule includes a permission. A pattern includes a pattern only if all that the other one matches. */
export const ruleCovers = (rule: Rule, permission: Permission): boolean =>
  has(rule.verbs, permission.verb) &&
  (permission.path === undefined ? coversResource(rule, permission) : coversPath(rule, permission.path));

const coversPath = ({ nonResourceURLs = [], resourceNames = [] }: Rule, path: string): boolean =>
  resourceNames.length === 0 &&
  nonResourceURLs.some(
    (owned) => owned === path || (owned.endsWith('*') && path.startsWith(owned.replace(/\*+$/, ''))),
  );

function coversResource(rule: Rule, { group = '', resource = '', name }: Permission): boolean {
  if (!has(rule.apiGroups, group)) return false;
  const slash = resource.indexOf('/');
  const isOwned =
    has(rule.resources, resource) ||
    (slash >= 0 && rule.resources?.includes(`*${resource.slice(slash)}`) === true);
  if (!isOwned) return false;
  const { resourceNames = [] } = rule;
  return resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name));
}

const goList = (texts: readonly string[]): string =>
  `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;

/** Describes permissions, one line for each resource or path and verb, in order. */
export function describePermissions(permissions: Iterable<Permission>): readonly string[] {
  const verbs = new Map<string, string[]>();
  const lines: string[] = [];
  for (const { verb, group = '', resource = '', name, path } of permissions) {
    if (path !== undefined) {
      lines.push(`{NonResourceURLs:${goList([path])}, Verbs:${goList([verb])}}`);
      continue;
    }
    const named = name === undefined ? '' : `, ResourceNames:${goList([name])}`;
    const key = `{APIGroups:${goList([group])}, Resources:${goList([resource])}${named}`;
    const list = verbs.get(key);
    if (list) list.push(verb);
    else verbs.set(key, [verb]);
  }
  for (const [key, list] of verbs) lines.push(`${key}, Verbs:${goList(list)}}`);
  return [...new Set(lines)].sort();
}
