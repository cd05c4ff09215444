import { type Faults, forbidden, invalid, unsupported } from '../../../kube/validation/field-error.ts';
import { isObject, type JsonObject, metadataOf, objectAt, specOf } from '../../../apimachinery/json.ts';
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
import {
  immutable,
  nonNegatives,
  notMoreThan100Percent,
  numberAt,
  positiveIntOrPercent,
  shareOf,
} from '../validation/value-rules.ts';
import { collisions, replicaCounts, replicaTemplate, textOr } from './replica-rules.ts';

function strategyDefaults(strategy: JsonObject): JsonObject {
  const type = textOr(strategy, 'type', 'RollingUpdate');
  const typed = { ...strategy, type };
  return type === 'RollingUpdate'
    ? {
        ...typed,
        rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%', ...objectAt(strategy, 'rollingUpdate') },
      }
    : typed;
}

const defaults = (deployment: JsonObject): JsonObject => {
  const spec = specOf(deployment);
  return withTemplateDefaults({
    ...deployment,
    spec: {
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      ...spec,
      strategy: strategyDefaults(objectAt(spec, 'strategy')),
    },
  });
};

function* rollingUpdate(field: string, update: JsonObject): Faults {
  const { maxUnavailable, maxSurge } = update;
  yield* positiveIntOrPercent(`${field}.maxUnavailable`, maxUnavailable);
  yield* positiveIntOrPercent(`${field}.maxSurge`, maxSurge);
  if (shareOf(maxUnavailable) === 0 && shareOf(maxSurge) === 0)
    yield invalid(`${field}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0');
  yield* notMoreThan100Percent(`${field}.maxUnavailable`, maxUnavailable);
}

function* strategyFaults(field: string, strategy: JsonObject): Faults {
  const { type, rollingUpdate: update } = strategy;
  if (type === 'RollingUpdate')
    yield* rollingUpdate(`${field}.rollingUpdate`, objectAt(strategy, 'rollingUpdate'));
  else if (type !== 'Recreate')
    yield unsupported(field, shownStrategy(strategy), ['Recreate', 'RollingUpdate']);
  else if (isObject(update))
    yield forbidden(`${field}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'");
}

/** Returns a strategy as Go prints it. */
const shownStrategy = ({ type, rollingUpdate: update }: JsonObject): unknown => ({
  Type: type,
  RollingUpdate: isObject(update)
    ? { MaxUnavailable: update['maxUnavailable'] ?? 0, MaxSurge: update['maxSurge'] ?? 0 }
    : null,
});

/** Validates a deployment. Follows Kubernetes `ValidateDeploymentSpec` (pkg/apis/apps/validation, v1.36). */
function* faults(deployment: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(deployment);
  yield* nonNegatives('spec', spec, 'replicas');
  yield* requiredSelector('spec.selector', spec['selector'], 'deployment');
  yield* replicaTemplate('spec', spec);
  yield* strategyFaults('spec.strategy', objectAt(spec, 'strategy'));
  yield* nonNegatives('spec', spec, 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds');
  const deadline = numberAt(spec, 'progressDeadlineSeconds');
  if (deadline !== undefined && deadline <= numberAt(spec, 'minReadySeconds', 0))
    yield invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds');
  if (old)
    yield* immutable(
      'spec.selector',
      spec['selector'],
      specOf(old)['selector'],
      shownSelector(spec['selector']),
    );
}

const replicas = ['updatedReplicas', 'readyReplicas', 'availableReplicas'];

/** Strategy of deployments: annotations count as changes too, since replica sets get them. */
export const deploymentStrategy: Strategy = strategyOf(builtIn('deployments', 'apps'), {
  defaults,
  prepare: (deployment, _old, context) => withEnabledTemplate(deployment, context),
  counted: (deployment) => [specOf(deployment), objectAt(metadataOf(deployment), 'annotations')],
  faults,
  warnings: (deployment, old) => [
    ...(old ? [] : podNameWarnings(deployment)),
    ...changedTemplateWarnings(deployment, old),
  ],
  status: {
    frozenMetadata: ['labels'],
    *faults(deployment, old) {
      const all = [
        'observedGeneration',
        'replicas',
        ...replicas,
        'unavailableReplicas',
        'terminatingReplicas',
        'collisionCount',
      ];
      yield* replicaCounts(deployment, { all, within: replicas, ready: 'readyReplicas' });
      yield* collisions(deployment, old);
    },
  },
});
