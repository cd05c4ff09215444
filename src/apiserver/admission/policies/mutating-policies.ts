import { messageOf } from '../../../base/errors.ts';
import { type JsonObject, nameOf, namespaceOf, sameJson, without } from '../../../apimachinery/json.ts';
import type { Kind } from '../../../apimachinery/kinds.ts';
import { forbidden, StatusError } from '../../../apimachinery/status-error.ts';
import { Budget } from '../../cel/admission/expressions.ts';
import { admittedName } from '../../storage/names.ts';
import type { PolicyFault } from '../admission-metrics.ts';
import type { AdmissionPlugin, Attributes, Reinvocation } from '../plugin.ts';
import { Reinvocations } from '../webhooks/reinvocations.ts';
import { typedAs } from '../webhooks/review.ts';
import { isReviewed } from '../webhooks/validating-webhooks.ts';
import {
  inputOf,
  type Invocations,
  invocationsOf,
  type PolicyDeps,
  type PolicyInvocation,
} from './invocations.ts';
import { mutated } from './mutation.ts';
import { type MutatingPolicy, mutatingPoliciesIn } from './policy.ts';
import { policyBudget } from './validating-policies.ts';

type Invocation = PolicyInvocation<MutatingPolicy>;

/** The object of a request while policies change it: in the kind of the last policy. */
interface Current {
  readonly kind: Kind;
  readonly object: JsonObject;
}

/** A policy that refuses the request since it could not be applied. */
interface Refused {
  readonly text: string;
  readonly reason: string;
}

const refusedBy = ({ name }: MutatingPolicy, binding: string | undefined, message: string): string =>
  binding === undefined
    ? `policy ${JSON.stringify(name)} denied request: ${message}`
    : `policy '${name}' with binding '${binding}' denied request: ${message}`;

/** Returns the error for policies that could not be applied. */
function errorOf({ kind, name, object }: Attributes, refused: readonly Refused[]): StatusError {
  const { group, resource } = kind;
  const subject = { name: name || admittedName(object), ...(group !== '' && { group }), kind: resource };
  const [first] = refused;
  const causes = refused.map(({ text }) => ({ message: text }));
  const reason = first?.reason ?? '';
  if (!first) return forbidden(subject, '');
  return new StatusError(403, reason === '' ? 'Forbidden' : reason, first.text, {
    details: { ...subject, causes },
  });
}

/** One round of the mutating policies over one request. */
class Round {
  readonly #attributes: Attributes;
  readonly #deps: PolicyDeps;
  readonly #reinvocations: Reinvocations;
  readonly #refused: Refused[] = [];
  #current: Current;

  constructor(attributes: Attributes, object: JsonObject, deps: PolicyDeps, reinvocations: Reinvocations) {
    this.#attributes = attributes;
    this.#deps = deps;
    this.#reinvocations = reinvocations;
    this.#current = { kind: attributes.kind, object };
  }

  /** Applies the policies one after the other, and returns what they made of the object. @throws {StatusError} */
  run(policies: readonly MutatingPolicy[]): JsonObject | Promise<JsonObject> {
    const found = invocationsOf(policies, this.#attributes, this.#deps);
    return found instanceof Promise ? found.then((one) => this.#invoke(one)) : this.#invoke(found);
  }

  #invoke({ invocations, failures }: Invocations<MutatingPolicy>): JsonObject | Promise<JsonObject> {
    for (const { policy, binding, message } of failures)
      if (!policy.ignoresFailures)
        this.#refused.push({ text: refusedBy(policy, binding?.name, message), reason: '' });
    if (invocations.every(({ kind }) => kind === this.#attributes.kind)) {
      for (const invocation of invocations) this.#apply(invocation, this.#attributes.oldObject);
      return this.#end();
    }
    return this.#converting(invocations);
  }

  async #converting(invocations: readonly Invocation[]): Promise<JsonObject> {
    const { kind, oldObject } = this.#attributes;
    for (const invocation of invocations) {
      await this.#convert(invocation.kind);
      const before =
        oldObject && invocation.kind !== kind
          ? await this.#deps.objects.convert(oldObject, kind, invocation.kind)
          : oldObject;
      this.#apply(invocation, before);
    }
    await this.#convert(kind);
    return this.#end();
  }

  async #convert(kind: Kind): Promise<void> {
    const { kind: from, object } = this.#current;
    if (from !== kind) this.#current = { kind, object: await this.#deps.objects.convert(object, from, kind) };
  }

  #end(): JsonObject {
    if (this.#refused.length > 0) throw errorOf(this.#attributes, this.#refused);
    this.#reinvocations.end(this.#current.object);
    return this.#current.object;
  }

  #apply(invocation: Invocation, oldObject: JsonObject | undefined): void {
    const { policy, binding, params } = invocation;
    const { reinvocation } = this.#attributes;
    const uid = [policy.name, binding.name, namespaceOf(params), nameOf(params)].join('/');
    const called = { uid, reinvocable: policy.reinvocable };
    const before = this.#current.object;
    if (reinvocation.again && !this.#reinvocations.isDue(called)) return;
    const since = this.#deps.metrics.now();
    const count = (fault: PolicyFault): void => {
      const check = { policy: policy.name, binding: binding.name, fault, action: 'allow', since } as const;
      this.#deps.metrics.checked('mutating', check);
    };
    try {
      if (!this.#mutate(invocation, oldObject)) return;
      count('no_error');
    } catch (reason) {
      count('invalid_error');
      if (reason instanceof StatusError && reason.code >= 500) throw reason;
      if (!policy.ignoresFailures)
        this.#refused.push({ text: refusedBy(policy, binding.name, messageOf(reason)), reason: 'Invalid' });
    }
    if (!sameJson(before, this.#current.object)) {
      this.#reinvocations.changed();
      reinvocation.request();
    }
    this.#reinvocations.called(called);
  }

  /** Applies the mutations of one policy. @returns false where its conditions leave the request out @throws {Error} */
  #mutate(invocation: Invocation, oldObject: JsonObject | undefined): boolean {
    const { policy, kind } = invocation;
    const { subresource } = this.#attributes;
    for (const [i, mutation] of policy.mutations.entries()) {
      const { object } = this.#current;
      const objects = { object, ...(oldObject && { oldObject }) };
      const budget = new Budget(policyBudget);
      const input = inputOf(this.#attributes, invocation, objects, this.#deps);
      const variables = policy.composition.activation(input, () => budget);
      if (i === 0) {
        const match = policy.conditions.evaluateWith(variables);
        if (match.matches === false) return false;
        if (match.matches === undefined) throw new Error(match.error);
      }
      const { value, error } = budget.evaluate(mutation.compiled, variables);
      if (error !== undefined) throw new Error(error);
      const typed = typedAs(object, kind, subresource) ?? {};
      const next = without(mutated(typed, kind, mutation.patchType, value), 'kind', 'apiVersion');
      this.#current = { kind, object: this.#deps.objects.read(kind, subresource, next) };
    }
    return true;
  }
}

/**
 * MutatingAdmissionPolicy lets the expressions of MutatingAdmissionPolicies change a request, one policy after the other. Those with
 * `reinvocationPolicy: IfNeeded` are applied once more after a later change.
 */
export function mutatingPolicies(deps: PolicyDeps): AdmissionPlugin {
  const requests = new WeakMap<Reinvocation, Reinvocations>();
  return {
    name: 'MutatingAdmissionPolicy',
    handles: (_operation, kind) => isReviewed(kind),
    admit(attributes) {
      const { reinvocation, context, object } = attributes;
      const policies = mutatingPoliciesIn(context.world.store);
      if (policies.length === 0 || !object) return undefined;
      const reinvocations = requests.get(reinvocation) ?? new Reinvocations();
      requests.set(reinvocation, reinvocations);
      if (reinvocation.again) reinvocations.again(object);
      return new Round(attributes, object, deps, reinvocations).run(policies);
    },
  };
}
