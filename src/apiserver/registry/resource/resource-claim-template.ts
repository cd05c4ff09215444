import { type Faults, invalid } from '../../../kube/validation/field-error.ts';
import { templateMetadata } from '../../../kube/validation/ephemeral-volume.ts';
import { internalForm } from '../../../kube/validation/internal-spec.ts';
import { structOf } from '../../../apimachinery/api-types.ts';
import { type JsonObject, namespaceOf, objectAt, specOf } from '../../../apimachinery/json.ts';
import { sameInMeaning } from '../../../apimachinery/semantic-equality.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { causeOf } from '../../../apimachinery/status-error.ts';
import { inGoOrder } from '../go-structs.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { adminRequestFaults } from './admin-access.ts';
import { claimDefaults, claimSpecFaults } from './device-requests.ts';

/** Returns the spec of a template as messages print it. */
const shown = (spec: JsonObject): JsonObject => ({
  ...(inGoOrder(objectAt(spec, 'metadata'), structOf('ObjectMeta')) as JsonObject),
  Spec: internalForm('DeviceClaimSpec', specOf(spec)),
});

/** Validates a template. Follows Kubernetes `ValidateResourceClaimTemplate` (pkg/apis/resource/validation, v1.36). */
function* faults(template: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(template);
  yield* templateMetadata('spec.metadata', objectAt(spec, 'metadata'));
  yield* claimSpecFaults('spec.spec', specOf(spec));
  if (old && !sameInMeaning(spec, specOf(old), structOf('ResourceClaimTemplateSpec')))
    yield invalid('spec', shown(spec), 'field is immutable');
}

const rules: Strategy = strategyOf(builtIn('resourceclaimtemplates', 'resource.k8s.io'), {
  defaults: (template) => ({
    ...template,
    spec: { ...specOf(template), spec: claimDefaults(specOf(specOf(template))) },
  }),
  faults,
  metadataChecks: ['changes', 'whole'],
});

/** Strategy of templates of claims for devices: they do not change. */
export const resourceClaimTemplateStrategy: Strategy = {
  ...rules,
  validateCreate: (template, context) => [
    ...[...adminRequestFaults(specOf(specOf(template)), namespaceOf(template), context.world)].map(causeOf),
    ...rules.validateCreate(template, context),
  ],
};
