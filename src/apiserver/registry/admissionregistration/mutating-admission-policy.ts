import { policyExpressionFaults } from '../../cel/admission/policy-faults.ts';
import { type Faults, invalid, oneOf, required, unsupported } from '../../../kube/validation/field-error.ts';
import {
  isObject,
  type JsonObject,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { bindingFaults, policyFaults, withMatchDefaults } from './policy-rules.ts';

const group = 'admissionregistration.k8s.io';
const memberOf = { JSONPatch: 'jsonPatch', ApplyConfiguration: 'applyConfiguration' } as const;

function* mutationFaults(field: string, mutation: JsonObject): Faults {
  const type = stringAt(mutation, 'patchType');
  if (type === '') {
    yield required(`${field}.patchType`);
    return;
  }
  const own = ownMember(memberOf, type);
  if (own === undefined) {
    yield unsupported(`${field}.patchType`, type, ['ApplyConfiguration', 'JSONPatch']);
    return;
  }
  if (!isObject(ownMember(mutation, own)))
    yield required(`${field}.${own}`, `must be specified when patchType is ${type}`);
  else if (stringAt(objectAt(mutation, own), 'expression').trim() === '')
    yield required(`${field}.${own}.expression`);
  const other = own === 'jsonPatch' ? 'applyConfiguration' : 'jsonPatch';
  if (ownMember(mutation, other) !== undefined)
    yield invalid(`${field}.${other}`, `{${other}}`, `must not be specified when patchType is ${type}`);
}

/** Strategy of mutating admission policies. */
export const mutatingPolicyStrategy: Strategy = strategyOf(builtIn('mutatingadmissionpolicies', group), {
  defaults: (policy) => withMatchDefaults(policy, 'matchConstraints', { failurePolicy: 'Fail' }),
  *faults(policy) {
    yield* policyFaults(policy, true);
    const spec = specOf(policy);
    const mutations = objectsAt(spec, 'mutations');
    if (mutations.length === 0) yield required('spec.mutations', 'mutations must contain at least one item');
    for (const [i, mutation] of mutations.entries()) yield* mutationFaults(`spec.mutations[${i}]`, mutation);
    const again = stringAt(spec, 'reinvocationPolicy');
    if (again === '') yield required('spec.reinvocationPolicy');
    else yield* oneOf('spec.reinvocationPolicy', again, ['IfNeeded', 'Never']);
    yield* policyExpressionFaults(policy);
  },
  metadataChecks: ['whole'],
});

/** Strategy of bindings of mutating admission policies. */
export const mutatingBindingStrategy: Strategy = strategyOf(
  builtIn('mutatingadmissionpolicybindings', group),
  {
    defaults: (binding) => withMatchDefaults(binding, 'matchResources'),
    faults: (binding) => bindingFaults(binding, true),
    metadataChecks: ['whole'],
    counted: specOf,
  },
);
