import { type Faults, required } from '../../../kube/validation/field-error.ts';
import { type JsonObject, metadataOf, objectAt, specOf } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { alwaysRunning, replicaCounts } from '../apps/replica-rules.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { selectorMatchesTemplate } from '../validation/selector-rules.ts';
import { nonNegatives } from '../validation/value-rules.ts';
import {
  changedTemplateWarnings,
  enabledTemplate,
  podNameWarnings,
  templateDefaults,
  templateFaults,
} from './pod-template-rules.ts';

const isEmpty = (map: JsonObject): boolean => Object.keys(map).length === 0;

/** Sets defaults: selector and labels are those of the template. */
function defaults(controller: JsonObject): JsonObject {
  const spec: JsonObject = { replicas: 1, ...specOf(controller) };
  if (spec['template'] === undefined) return { ...controller, spec };
  const template = templateDefaults(objectAt(spec, 'template'));
  const labels = objectAt(metadataOf(template), 'labels');
  const metadata = metadataOf(controller);
  return {
    ...controller,
    metadata: {
      ...metadata,
      ...(isEmpty(objectAt(metadata, 'labels')) && !isEmpty(labels) && { labels }),
    },
    spec: {
      ...spec,
      ...(isEmpty(objectAt(spec, 'selector')) && !isEmpty(labels) && { selector: labels }),
      template,
    },
  };
}

/** Validates a replication controller. Follows Kubernetes `ValidateReplicationControllerSpec` (pkg/apis/core/validation, v1.36). */
function* faults(controller: JsonObject): Faults {
  const spec = specOf(controller);
  const selector = objectAt(spec, 'selector');
  yield* nonNegatives('spec', spec, 'minReadySeconds');
  if (isEmpty(selector)) yield required('spec.selector');
  yield* nonNegatives('spec', spec, 'replicas');
  if (spec['template'] === undefined) {
    yield required('spec.template');
    return;
  }
  const template = objectAt(spec, 'template');
  yield* selectorMatchesTemplate('spec.template', { matchLabels: selector }, template);
  yield* templateFaults('spec.template', template);
  yield* alwaysRunning('spec.template', template, 'ReplicationController');
}

const within = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'];

/** Strategy of replication controllers. */
export const replicationControllerStrategy: Strategy = strategyOf(builtIn('replicationcontrollers'), {
  defaults,
  prepare: (controller, _old, context) => {
    const spec = specOf(controller);
    return spec['template'] === undefined
      ? controller
      : { ...controller, spec: { ...spec, template: enabledTemplate(objectAt(spec, 'template'), context) } };
  },
  faults,
  warnings: (controller, old) => [
    ...(old ? [] : podNameWarnings(controller)),
    ...changedTemplateWarnings(controller, old),
  ],
  status: {
    faults: (controller) =>
      replicaCounts(controller, {
        all: ['replicas', ...within, 'observedGeneration'],
        within,
        ready: 'readyReplicas',
      }),
  },
});
