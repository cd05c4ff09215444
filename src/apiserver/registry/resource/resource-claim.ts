import { type FieldError, invalid } from '../../../kube/validation/field-error.ts';
import { internalForm } from '../../../kube/validation/internal-spec.ts';
import { type JsonObject, namespaceOf, specOf } from '../../../apimachinery/json.ts';
import { structOf } from '../../../apimachinery/api-types.ts';
import { sameInMeaning } from '../../../apimachinery/semantic-equality.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { causeOf, type FieldFault } from '../../../apimachinery/status-error.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy, UpdateRules } from '../strategy.ts';
import { adminRequestFaults, adminResultFaults } from './admin-access.ts';
import { claimStatusFaults, withoutDeallocated } from './claim-status.ts';
import { claimDefaults, claimSpecFaults } from './device-requests.ts';

/** Validates a claim: it is checked when it is created, and its spec does not change. */
function faults(claim: JsonObject, old: JsonObject | undefined): Iterable<FieldError> {
  if (!old) return claimSpecFaults('spec', specOf(claim));
  return sameInMeaning(specOf(claim), specOf(old), structOf('ResourceClaimSpec'))
    ? []
    : [invalid('spec', internalForm('DeviceClaimSpec', specOf(claim)), 'field is immutable')];
}

const rules: Strategy = strategyOf(builtIn('resourceclaims', 'resource.k8s.io'), {
  defaults: (claim) => ({ ...claim, spec: claimDefaults(specOf(claim)) }),
  faults,
  metadataChecks: ['changes', 'whole'],
  status: { faults: claimStatusFaults, frozenMetadata: 'all', prepare: withoutDeallocated },
});

const { status } = rules.subresources;
if (!status) throw new Error('resource claims have a status');

const causes = (errors: Iterable<FieldError>): FieldFault[] => [...errors].map(causeOf);

const statusRules: UpdateRules = {
  ...status,
  validate: (claim, old, context) => [
    ...causes(adminResultFaults(claim, old, context.world)),
    ...(status.validate?.(claim, old, context) ?? []),
  ],
};

/** Strategy of claims for devices. */
export const resourceClaimStrategy: Strategy = {
  ...rules,
  validateCreate: (claim, context) => [
    ...causes(adminRequestFaults(specOf(claim), namespaceOf(claim), context.world)),
    ...rules.validateCreate(claim, context),
  ],
  subresources: { ...rules.subresources, status: statusRules },
};
