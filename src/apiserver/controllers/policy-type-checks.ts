import { type JsonObject, metadataOf, nameOf, statusOf } from '../../apimachinery/json.ts';
import { builtIn, findByKind, groupVersionOf, type Kind, kinds } from '../../apimachinery/kinds.ts';
import type { CustomResources } from '../apiextensions/custom-resources.ts';
import { builtInType, customObjectType } from '../apiextensions/object-types.ts';
import { expressionWarnings, type KindTypes } from '../cel/admission/type-checking.ts';
import { type ControllerDeps, follow, systemContext } from './controllers.ts';

const policyKind = builtIn('validatingadmissionpolicies', 'admissionregistration.k8s.io');
const writer = {
  manager: 'validatingadmissionpolicy-status',
  operation: 'Apply',
  apiVersion: 'admissionregistration.k8s.io/v1',
  subresource: 'status',
} as const;

/** Returns the served kinds and their types, built-in and custom. */
function typesOf(customs: CustomResources): KindTypes {
  const customOf = (kind: Kind): ReturnType<typeof customObjectType> => {
    const custom = customs.customOf(kind);
    return custom && customObjectType(custom);
  };
  return {
    kindsFor: (group, version, resource) =>
      [...kinds, ...customs.kinds].filter(
        (kind) =>
          (group === '' || kind.group === group) &&
          kind.version === version &&
          [kind.resource, kind.singular].includes(resource.toLowerCase()),
      ),
    typeOf: ({ group, version, kind }) => {
      const apiVersion = groupVersionOf({ group, version });
      const standing = findByKind(apiVersion, kind);
      if (standing) return builtInType(standing);
      const custom = customs.kinds.find((one) => one.kind === kind && groupVersionOf(one) === apiVersion);
      return custom && customOf(custom);
    },
  };
}

const generationOf = (policy: JsonObject): number => Number(metadataOf(policy)['generation'] ?? 0);

/**
 * Checks the expressions of each new generation of a ValidatingAdmissionPolicy against the types of the kinds that it names, and writes
 * what does not fit to its status. Follows kube-controller-manager's validatingadmissionpolicy-status-controller (v1.36).
 */
export function checkPolicyTypes(deps: ControllerDeps, customs: CustomResources): () => void {
  const { world, resources } = deps;
  const types = typesOf(customs);
  return follow(world.store, policyKind.storage, (policy) => {
    if (generationOf(policy) <= Number(statusOf(policy)['observedGeneration'] ?? 0)) return;
    const warnings = expressionWarnings(policy, types);
    const status = {
      observedGeneration: generationOf(policy),
      typeChecking: warnings.length > 0 ? { expressionWarnings: warnings } : {},
    };
    const at = { namespace: '', name: nameOf(policy), subresource: 'status' };
    resources
      .registry(policyKind)
      .update(
        at,
        (standing) => ({ ...standing, status: { ...statusOf(standing), ...status } }),
        writer,
        systemContext(world),
      );
  });
}
