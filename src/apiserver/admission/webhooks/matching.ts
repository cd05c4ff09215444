import { type LabelSelector, labelSelectorMatches } from '../../../kube/label-selector.ts';
import { type JsonObject, metadataOf, nameOf, objectAt } from '../../../apimachinery/json.ts';
import type { Kind } from '../../../apimachinery/kinds.ts';
import { notFound, type StatusError } from '../../../apimachinery/status-error.ts';
import { type Attributes, isResource } from '../plugin.ts';
import type { Webhook, WebhookRule } from './webhook.ts';

/** A webhook that is to be called, and the kind in which it sees the request. */
export interface Invocation {
  readonly webhook: Webhook;
  /** The requested kind, or another one of the same objects. */
  readonly kind: Kind;
}

/** The attributes that decide whether a webhook is called. */
export type Matched = Pick<
  Attributes,
  'operation' | 'kind' | 'subresource' | 'namespace' | 'name' | 'object' | 'oldObject' | 'context'
>;

const isNamespace = (kind: Kind): boolean => isResource(kind, 'namespaces');

/** Returns the namespace of a request; that of a namespace itself is its name. */
export const namespaceIn = ({ kind, namespace, name, object }: Matched): string =>
  isNamespace(kind) ? name || nameOf(object) : namespace;

const covers = (items: readonly string[], item: string): boolean =>
  items.includes('*') || items.includes(item);

const scopeMatches = (scope: string, kind: Kind, namespace: string): boolean => {
  const isNamespaced = !isNamespace(kind) && namespace !== '';
  if (scope === '*') return true;
  return scope === 'Namespaced' ? isNamespaced : scope === 'Cluster' && !isNamespaced;
};

const resourceMatches = (resources: readonly string[], kind: Kind, subresource: string): boolean =>
  resources.some((one) => {
    const [resource = '', ...rest] = one.split('/');
    const part = rest.join('/');
    return (resource === '*' || resource === kind.resource) && (part === '*' || part === subresource);
  });

/** True when a rule covers a request in the form of a kind. Follows apiserver `rules.Matcher`. */
const ruleMatches = (rule: WebhookRule, matched: Matched, kind: Kind): boolean =>
  scopeMatches(rule.scope, kind, namespaceIn(matched)) &&
  covers(rule.operations, matched.operation) &&
  covers(rule.apiGroups, kind.group) &&
  covers(rule.apiVersions, kind.version) &&
  resourceMatches(rule.resources, kind, matched.subresource);

/** Returns the kind in which a webhook sees a request; undefined where no rule covers it. Earlier rules come first. */
function kindFor(
  webhook: Selection,
  matched: Matched,
  equivalents: (kind: Kind, subresource: string) => readonly Kind[],
): Kind | undefined {
  const { kind, subresource } = matched;
  if (webhook.rules.some((rule) => ruleMatches(rule, matched, kind))) return kind;
  if (!webhook.matchesEquivalent) return undefined;
  const others = equivalents(kind, subresource);
  for (const rule of webhook.rules) {
    const found = others.find((other) => ruleMatches(rule, matched, other));
    if (found) return found;
  }
  return undefined;
}

const labelsOf = (object: JsonObject): Readonly<Record<string, string>> =>
  objectAt(metadataOf(object), 'labels') as Readonly<Record<string, string>>;

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;

/** Returns the labels that a namespace selector is about, or why there are none. */
function namespaceLabels(matched: Matched): Readonly<Record<string, string>> | StatusError {
  const { kind, subresource, operation, object, context } = matched;
  if (isNamespace(kind) && subresource === '' && object && operation !== 'DELETE') return labelsOf(object);
  const name = namespaceIn(matched);
  const namespace = context.world.store.get('namespaces', name);
  return namespace ? labelsOf(namespace.object) : notFound({ kind: 'namespaces', name });
}

/** Reports whether the namespace of a request is selected; an error where there is no such namespace. */
function namespaceMatches(selector: LabelSelector, matched: Matched): boolean | StatusError {
  if (namespaceIn(matched) === '' && !isNamespace(matched.kind)) return true;
  if (isEmpty(selector)) return true;
  const labels = namespaceLabels(matched);
  return labels instanceof Error ? labels : labelSelectorMatches(selector, labels);
}

const objectMatches = (selector: LabelSelector, { object, oldObject }: Matched): boolean =>
  isEmpty(selector) ||
  [object, oldObject].some((one) => one !== undefined && labelSelectorMatches(selector, labelsOf(one)));

/** What selects requests: rules, and labels of namespace and object. */
type Selection = Pick<Webhook, 'rules' | 'matchesEquivalent' | 'namespaceSelector' | 'objectSelector'>;

/**
 * Returns the kind in which a webhook or policy sees a request; undefined where selectors or rules leave it out. Follows apiserver
 * `ShouldCallHook`.
 *
 * @throws {StatusError} 404 where a rule covers the request and the namespace to select by does not exist
 */
export function kindSeen(
  selection: Selection,
  matched: Matched,
  equivalents: (kind: Kind, subresource: string) => readonly Kind[],
): Kind | undefined {
  const namespace = namespaceMatches(selection.namespaceSelector, matched);
  if (namespace === false || !objectMatches(selection.objectSelector, matched)) return undefined;
  const kind = kindFor(selection, matched, equivalents);
  if (kind && namespace instanceof Error) throw namespace;
  return kind;
}

/** Returns how a webhook is to be called; undefined where it is not. @throws {StatusError} as {@link kindSeen} */
export function invocationOf(
  webhook: Webhook,
  matched: Matched,
  equivalents: (kind: Kind, subresource: string) => readonly Kind[],
): Invocation | undefined {
  const kind = kindSeen(webhook, matched, equivalents);
  return kind && { webhook, kind };
}
