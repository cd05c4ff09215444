import type { Faults } from '../../../kube/validation/field-error.ts';
import { type JsonObject, specOf } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import {
  changedTemplateWarnings,
  podNameWarnings,
  withEnabledTemplate,
  withTemplateDefaults,
} from '../core/pod-template-rules.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { requiredSelector, shownSelector } from '../validation/selector-rules.ts';
import { immutable, nonNegatives } from '../validation/value-rules.ts';
import { replicaCounts, replicaTemplate } from './replica-rules.ts';

/** Validates a replica set. Follows Kubernetes `ValidateReplicaSetSpec` (pkg/apis/apps/validation, v1.36). */
function* faults(set: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(set);
  yield* nonNegatives('spec', spec, 'replicas', 'minReadySeconds');
  // the message names the deployment
  yield* requiredSelector('spec.selector', spec['selector'], 'deployment');
  yield* replicaTemplate('spec', spec);
  if (old)
    yield* immutable(
      'spec.selector',
      spec['selector'],
      specOf(old)['selector'],
      shownSelector(spec['selector']),
    );
}

const within = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'];

/** Strategy of replica sets. */
export const replicaSetStrategy: Strategy = strategyOf(builtIn('replicasets', 'apps'), {
  defaults: (set) => withTemplateDefaults({ ...set, spec: { replicas: 1, ...specOf(set) } }),
  prepare: (set, _old, context) => withEnabledTemplate(set, context),
  faults,
  warnings: (set, old) => [...(old ? [] : podNameWarnings(set)), ...changedTemplateWarnings(set, old)],
  status: {
    faults: (set) =>
      replicaCounts(set, {
        all: ['replicas', ...within, 'observedGeneration', 'terminatingReplicas'],
        within,
        ready: 'readyReplicas',
      }),
  },
});
