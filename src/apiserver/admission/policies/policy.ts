import {
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
} from '../../../apimachinery/json.ts';
import { builtIn, type Kind } from '../../../apimachinery/kinds.ts';
import { Composition } from '../../cel/admission/composition.ts';
import { type Compiled, compileExpression } from '../../cel/admission/expressions.ts';
import { MatchConditions } from '../../cel/admission/match-conditions.ts';
import { listType, nullType, boolType, stringType } from '../../cel/check/types.ts';
import { objectType, patchType } from '../../cel/admission/patch-types.ts';
import type { Entry, Store } from '../../storage/store.ts';
import { ruleOf, type WebhookRule } from '../webhooks/webhook.ts';

/** Which requests a policy or a binding is about. */
export interface Constraints {
  readonly rules: readonly PolicyRule[];
  readonly excluded: readonly PolicyRule[];
  readonly matchesEquivalent: boolean;
  readonly namespaceSelector: JsonObject;
  readonly objectSelector: JsonObject;
}

interface PolicyRule extends WebhookRule {
  /** Empty: objects of any name. */
  readonly names: readonly string[];
}

/** A binding of a policy. */
export interface Binding {
  readonly name: string;
  /** Absent: all that the policy is about. */
  readonly constraints?: Constraints;
  readonly paramRef?: JsonObject;
  readonly actions: readonly string[];
}

interface PolicyBase {
  readonly name: string;
  readonly ignoresFailures: boolean;
  readonly constraints: Constraints;
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
  readonly composition: Composition;
  readonly conditions: MatchConditions;
  readonly bindings: readonly Binding[];
}

/** One of the validations of a policy. */
export interface Validation {
  readonly expression: string;
  readonly compiled: Compiled;
  readonly message: string;
  readonly messageExpression?: Compiled;
  readonly reason: string;
}

export interface ValidatingPolicy extends PolicyBase {
  readonly validations: readonly Validation[];
  readonly annotations: readonly { readonly key: string; readonly compiled: Compiled }[];
}

export interface Mutation {
  readonly patchType: 'ApplyConfiguration' | 'JSONPatch';
  readonly compiled: Compiled;
}

export interface MutatingPolicy extends PolicyBase {
  readonly mutations: readonly Mutation[];
  readonly reinvocable: boolean;
}

const group = 'admissionregistration.k8s.io';
const stored = {
  validating: builtIn('validatingadmissionpolicies', group),
  mutating: builtIn('mutatingadmissionpolicies', group),
  validatingBindings: builtIn('validatingadmissionpolicybindings', group),
  mutatingBindings: builtIn('mutatingadmissionpolicybindings', group),
} satisfies Readonly<Record<string, Kind>>;

const policyRuleOf = (rule: JsonObject): PolicyRule => ({
  ...ruleOf(rule),
  names: listAt(rule, 'resourceNames') as readonly string[],
});

const constraintsOf = (resources: JsonObject): Constraints => ({
  rules: objectsAt(resources, 'resourceRules').map(policyRuleOf),
  excluded: objectsAt(resources, 'excludeResourceRules').map(policyRuleOf),
  matchesEquivalent: (stringAt(resources, 'matchPolicy') || 'Equivalent') === 'Equivalent',
  namespaceSelector: objectAt(resources, 'namespaceSelector'),
  objectSelector: objectAt(resources, 'objectSelector'),
});

function bindingOf(binding: JsonObject): Binding {
  const spec = objectAt(binding, 'spec');
  return {
    name: nameOf(binding),
    ...(spec['matchResources'] !== undefined && {
      constraints: constraintsOf(objectAt(spec, 'matchResources')),
    }),
    ...(spec['paramRef'] !== undefined && { paramRef: objectAt(spec, 'paramRef') }),
    actions: listAt(spec, 'validationActions') as readonly string[],
  };
}

function baseOf(policy: JsonObject, bindings: readonly Binding[]): PolicyBase {
  const spec = objectAt(policy, 'spec');
  const paramKind = objectAt(spec, 'paramKind');
  const hasParams = spec['paramKind'] !== undefined;
  const composition = Composition.of(objectsAt(spec, 'variables'), { params: hasParams, authorizer: true });
  return {
    name: nameOf(policy),
    ignoresFailures: spec['failurePolicy'] === 'Ignore',
    constraints: constraintsOf(objectAt(spec, 'matchConstraints')),
    ...(hasParams && {
      paramKind: { apiVersion: stringAt(paramKind, 'apiVersion'), kind: stringAt(paramKind, 'kind') },
    }),
    composition,
    conditions: MatchConditions.of(spec, composition.declarations),
    bindings,
  };
}

function validatingOf(policy: JsonObject, bindings: readonly Binding[]): ValidatingPolicy {
  const base = baseOf(policy, bindings);
  const spec = objectAt(policy, 'spec');
  const { declarations, withoutAuthorizer } = base.composition;
  return {
    ...base,
    validations: objectsAt(spec, 'validations').map((one) => {
      const expression = stringAt(one, 'expression');
      const messageExpression = stringAt(one, 'messageExpression');
      return {
        expression,
        compiled: compileExpression(expression, declarations, [boolType]),
        message: stringAt(one, 'message').trim(),
        ...(messageExpression !== '' && {
          messageExpression: compileExpression(messageExpression, withoutAuthorizer, [stringType]),
        }),
        reason: stringAt(one, 'reason') || 'Invalid',
      };
    }),
    annotations: objectsAt(spec, 'auditAnnotations').map((one) => ({
      key: stringAt(one, 'key'),
      compiled: compileExpression(stringAt(one, 'valueExpression'), declarations, [stringType, nullType]),
    })),
  };
}

function mutatingOf(policy: JsonObject, bindings: readonly Binding[]): MutatingPolicy {
  const base = baseOf(policy, bindings);
  const spec = objectAt(policy, 'spec');
  const declarations = base.composition.patchDeclarations;
  return {
    ...base,
    reinvocable: spec['reinvocationPolicy'] === 'IfNeeded',
    mutations: objectsAt(spec, 'mutations').map((one): Mutation => {
      const isPatch = stringAt(one, 'patchType') === 'JSONPatch';
      const expression = stringAt(objectAt(one, isPatch ? 'jsonPatch' : 'applyConfiguration'), 'expression');
      const types = isPatch ? [listType(patchType)] : [objectType('Object')];
      return {
        patchType: isPatch ? 'JSONPatch' : 'ApplyConfiguration',
        compiled: compileExpression(expression, declarations, types),
      };
    }),
  };
}

/** Cache keeps what stored objects were read to, as long as they and their bindings stand. */
class Cache<P> {
  readonly #kind: Kind;
  readonly #bindingKind: Kind;
  readonly #read: (policy: JsonObject, bindings: readonly Binding[]) => P;
  readonly #policies = new WeakMap<Entry, { readonly bindings: readonly Entry[]; readonly policy: P }>();

  constructor(kind: Kind, bindingKind: Kind, read: (policy: JsonObject, bindings: readonly Binding[]) => P) {
    this.#kind = kind;
    this.#bindingKind = bindingKind;
    this.#read = read;
  }

  /** Returns the policies that have bindings, by name. */
  in(store: Store): readonly P[] {
    if (store.count(this.#kind.storage) === 0) return [];
    const all = [...store.list(this.#bindingKind.storage)];
    return [...store.list(this.#kind.storage)].flatMap((entry) => {
      const name = nameOf(entry.object);
      const bindings = all.filter(({ object }) => stringAt(objectAt(object, 'spec'), 'policyName') === name);
      return bindings.length === 0 ? [] : [this.#policy(entry, bindings)];
    });
  }

  #policy(entry: Entry, bindings: readonly Entry[]): P {
    const cached = this.#policies.get(entry);
    const isSame =
      cached?.bindings.length === bindings.length && cached.bindings.every((one, i) => one === bindings[i]);
    if (cached && isSame) return cached.policy;
    const policy = this.#read(
      entry.object,
      bindings.map(({ object }) => bindingOf(object)),
    );
    this.#policies.set(entry, { bindings, policy });
    return policy;
  }
}

const validating = new Cache(stored.validating, stored.validatingBindings, validatingOf);
const mutating = new Cache(stored.mutating, stored.mutatingBindings, mutatingOf);

/** Returns the ValidatingAdmissionPolicies that have bindings, compiled. */
export const validatingPoliciesIn = (store: Store): readonly ValidatingPolicy[] => validating.in(store);
/** Returns the MutatingAdmissionPolicies that have bindings, compiled. */
export const mutatingPoliciesIn = (store: Store): readonly MutatingPolicy[] => mutating.in(store);
