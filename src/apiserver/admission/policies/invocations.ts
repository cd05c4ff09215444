import { type JsonObject, metadataOf, nameOf, objectAt, stringAt } from '../../../apimachinery/json.ts';
import type { Kind } from '../../../apimachinery/kinds.ts';
import { labelSelectorMatches } from '../../../kube/label-selector.ts';
import type { AdmissionInput } from '../../cel/admission/variables.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import { keyOf, type Store } from '../../storage/store.ts';
import type { AdmissionMetrics } from '../admission-metrics.ts';
import type { Attributes } from '../plugin.ts';
import { kindSeen, type Matched, namespaceIn } from '../webhooks/matching.ts';
import { requestOf, type ReviewedObjects, typedAs } from '../webhooks/review.ts';
import type { ServedObjects } from '../webhooks/webhook-call.ts';
import { accessOf } from './access.ts';
import type { Binding, Constraints, MutatingPolicy, ValidatingPolicy } from './policy.ts';

/** What the plug-ins of policies use. */
export interface PolicyDeps {
  readonly authorizer: Pick<Authorizer, 'decideNow'>;
  readonly objects: ServedObjects;
  readonly metrics: AdmissionMetrics;
  /** Returns the served kind of an apiVersion and kind. */
  readonly findKind: (apiVersion: string, kind: string) => Kind | undefined;
}

/** A policy that applies to a request by one of its bindings, with one of its parameters. */
export interface PolicyInvocation<P> {
  readonly policy: P;
  readonly binding: Binding;
  /** The kind in which the policy sees the request. */
  readonly kind: Kind;
  readonly params?: JsonObject | undefined;
}

/** A policy or binding that cannot be applied. */
export interface PolicyFailure<P> {
  readonly policy: P;
  readonly binding?: Binding;
  readonly message: string;
}

type Policy = ValidatingPolicy | MutatingPolicy;

/** Returns the kind in which constraints see a request; undefined where they leave it out. @throws {StatusError} for a missing namespace */
function seenBy(constraints: Constraints, matched: Matched, objects: ServedObjects): Kind | undefined {
  const equivalents = (kind: Kind, part: string): readonly Kind[] => objects.equivalents(kind, part);
  const name = matched.name || nameOf(matched.object);
  const named = (rules: Constraints['rules']): Constraints['rules'] =>
    rules.filter(({ names }) => names.length === 0 || names.includes(name));
  const excluded = named(constraints.excluded);
  if (excluded.length > 0 && kindSeen({ ...constraints, rules: excluded }, matched, equivalents))
    return undefined;
  return kindSeen({ ...constraints, rules: named(constraints.rules) }, matched, equivalents);
}

/** The constraints of a binding; without rules they are about all that the policy is about. */
function bindingMatches({ constraints }: Binding, matched: Matched, objects: ServedObjects): boolean {
  if (!constraints) return true;
  const everything = {
    operations: ['*'],
    apiGroups: ['*'],
    apiVersions: ['*'],
    resources: ['*/*', '*'],
    scope: '*',
    names: [],
  };
  const rules = constraints.rules.length > 0 ? constraints.rules : [everything];
  return seenBy({ ...constraints, rules }, matched, objects) !== undefined;
}

/** The invocations of policies for a request, and what cannot be applied. */
export interface Invocations<P> {
  readonly invocations: readonly PolicyInvocation<P>[];
  readonly failures: readonly PolicyFailure<P>[];
}

/** An invocation whose parameters may have to be converted. */
interface Pending<P> extends Omit<PolicyInvocation<P>, 'params'> {
  readonly params: JsonObject | Promise<JsonObject> | undefined;
}

const isReady = <P>(one: Pending<P>): one is Pending<P> & PolicyInvocation<P> =>
  !(one.params instanceof Promise);

/** Waits for the conversion of parameters; what cannot be converted cannot be applied. */
async function converted<P>(
  pending: readonly Pending<P>[],
  failures: readonly PolicyFailure<P>[],
): Promise<Invocations<P>> {
  const all = [...failures];
  const invocations: PolicyInvocation<P>[] = [];
  for (const one of pending) {
    const { policy, binding } = one;
    try {
      invocations.push({ ...one, params: await one.params });
    } catch (reason) {
      all.push({ policy, binding, message: `failed to configure binding: ${(reason as Error).message}` });
    }
  }
  return { invocations, failures: all };
}

/** Returns the invocations of policies for a request: a promise where a webhook converts their parameters. */
export function invocationsOf<P extends Policy>(
  policies: readonly P[],
  matched: Matched,
  deps: PolicyDeps,
): Invocations<P> | Promise<Invocations<P>> {
  const invocations: Pending<P>[] = [];
  const failures: PolicyFailure<P>[] = [];
  for (const policy of policies) {
    const kind = attempt(
      () => seenBy(policy.constraints, matched, deps.objects),
      (why) => failures.push({ policy, message: `failed to configure policy: ${why}` }),
    );
    if (!kind) continue;
    for (const binding of policy.bindings) {
      const found = attempt(
        () =>
          bindingMatches(binding, matched, deps.objects) ? paramsOf(policy, binding, matched, deps) : [],
        (why) => failures.push({ policy, binding, message: `failed to configure binding: ${why}` }),
      );
      for (const params of found ?? []) invocations.push({ policy, binding, kind, params });
    }
  }
  return invocations.every(isReady) ? { invocations, failures } : converted(invocations, failures);
}

function attempt<T>(run: () => T, failed: (why: string) => void): T | undefined {
  try {
    return run();
  } catch (reason) {
    failed((reason as Error).message);
    return undefined;
  }
}

/** Returns the parameters that a binding refers to, in the version of the policy's kind; one `undefined` for a policy without any. Follows `CollectParams`. @throws {Error} */
function paramsOf(
  { paramKind }: Policy,
  { paramRef }: Binding,
  matched: Matched,
  { findKind, objects }: PolicyDeps,
): readonly Pending<Policy>['params'][] {
  if (!paramKind || !paramRef) return [undefined];
  const kind = findKind(paramKind.apiVersion, paramKind.kind);
  if (!kind) throw new Error(`paramKind kind \`${paramKind.apiVersion}, Kind=${paramKind.kind}\` not known`);
  const own = stringAt(paramRef, 'namespace');
  if (own !== '' && !kind.namespaced)
    throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  const namespace = kind.namespaced ? own || matched.namespace : '';
  if (kind.namespaced && namespace === '')
    throw new Error('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  const found = referred(paramRef, kind, namespace, matched.context.world.store);
  if (found.length === 0 && paramRef['parameterNotFoundAction'] === 'Deny')
    throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction');
  const typed = (object: JsonObject): JsonObject => typedAs(object, kind, '') ?? object;
  return found.map((stored) => {
    const object = objects.served(stored, kind);
    return object instanceof Promise ? object.then(typed) : typed(object);
  });
}

function referred(paramRef: JsonObject, kind: Kind, namespace: string, store: Store): readonly JsonObject[] {
  const name = stringAt(paramRef, 'name');
  const { selector } = paramRef;
  if (name !== '') {
    if (selector !== undefined) throw new Error('paramRef.name and paramRef.selector are mutually exclusive');
    const object = store.get(kind.storage, keyOf(namespace, name))?.object;
    return object ? [object] : [];
  }
  if (selector === undefined) throw new Error('one of name or selector must be provided');
  const all = [...store.list(kind.storage, namespace === '' ? '' : `${namespace}/`)];
  return all.flatMap(({ object }) =>
    labelSelectorMatches(
      objectAt(paramRef, 'selector'),
      objectAt(metadataOf(object), 'labels') as Readonly<Record<string, string>>,
    )
      ? [object]
      : [],
  );
}

/** Returns what the expressions of an invocation see. */
export function inputOf(
  attributes: Attributes,
  { kind, params }: PolicyInvocation<unknown>,
  objects: ReviewedObjects,
  { authorizer }: PolicyDeps,
): AdmissionInput {
  const { subresource, context } = attributes;
  const isNamespace = attributes.kind.resource === 'namespaces' && attributes.kind.group === '';
  const namespace = isNamespace ? '' : namespaceIn(attributes);
  return {
    object: typedAs(objects.object, kind, subresource) ?? undefined,
    oldObject: typedAs(objects.oldObject, kind, subresource) ?? undefined,
    request: requestOf(attributes, kind),
    namespace: namespace === '' ? undefined : context.world.store.get('namespaces', namespace)?.object,
    params,
    authorizer: accessOf(attributes, authorizer),
  };
}

/** The objects of a request, in each kind that policies see. */
export type ReviewedKinds = ReadonlyMap<Kind, ReviewedObjects>;

/** Returns the objects of a request as the policies see them; a promise only where one is converted. */
export function reviewedBy(
  { kind, object, oldObject }: Attributes,
  invocations: readonly { readonly kind: Kind }[],
  objects: ServedObjects,
): ReviewedKinds | Promise<ReviewedKinds> {
  const own: ReviewedObjects = { ...(object && { object }), ...(oldObject && { oldObject }) };
  const others = [...new Set(invocations.map((one) => one.kind))].filter((one) => one !== kind);
  if (others.length === 0) return new Map([[kind, own]]);
  const converted = async (other: Kind): Promise<readonly [Kind, ReviewedObjects]> => {
    const now = object && (await objects.convert(object, kind, other));
    const before = oldObject && (await objects.convert(oldObject, kind, other));
    return [other, { ...(now && { object: now }), ...(before && { oldObject: before }) }];
  };
  return Promise.all(others.map(converted)).then((more) => new Map([[kind, own], ...more]));
}
