import { validateClaimSpec } from '../../../kube/validation/ephemeral-volume.ts';
import { type Faults, forbidden, invalid, oneOf } from '../../../kube/validation/field-error.ts';
import { canonicalResources } from '../../../kube/validation/default-container.ts';
import { annotations, validatePodAnnotations } from '../../../kube/validation/metadata.ts';
import { label, labels, nonNegative } from '../../../kube/validation/shared.ts';
import {
  isObject,
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  stringAt,
  valueAt,
  without,
} from '../../../apimachinery/json.ts';
import { ownMember } from '../../../base/own.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import type { Pod } from '../../../kube/types.ts';
import {
  changedTemplateWarnings,
  templateFaults,
  withEnabledTemplate,
  withTemplateDefaults,
} from '../core/pod-template-rules.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { sizeWarnings } from '../validation/pod-warnings.ts';
import {
  isUsableSelector,
  requiredSelector,
  selectorMatchesTemplate,
  shownSelector,
} from '../validation/selector-rules.ts';
import {
  nonNegatives,
  notMoreThan100Percent,
  positiveIntOrPercent,
  shareOf,
} from '../validation/value-rules.ts';
import { alwaysRunning, collisions, replicaCounts, textOr } from './replica-rules.ts';

const claimsOf = (spec: JsonObject): readonly JsonObject[] => objectsAt(spec, 'volumeClaimTemplates');

/** Returns the template of a claim with the defaults of a claim. */
function claimDefaults(claim: JsonObject): JsonObject {
  const spec = specOf(claim);
  const resources = objectAt(spec, 'resources');
  const sides = ['limits', 'requests'].flatMap((side) => {
    const amounts = canonicalResources(
      ownMember(resources, side) as Readonly<Record<string, string>> | undefined,
    );
    return amounts ? [[side, amounts] as const] : [];
  });
  return {
    ...claim,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    spec: {
      ...spec,
      resources: { ...resources, ...Object.fromEntries(sides) },
      volumeMode: textOr(spec, 'volumeMode', 'Filesystem'),
    },
    status: { ...objectAt(claim, 'status'), phase: textOr(objectAt(claim, 'status'), 'phase', 'Pending') },
  };
}

function updateStrategy(strategy: JsonObject): JsonObject {
  const ownType = stringAt(strategy, 'type');
  const rolling = strategy['rollingUpdate'];
  const type = ownType || 'RollingUpdate';
  if (type !== 'RollingUpdate' || (ownType !== '' && rolling === undefined)) return { ...strategy, type };
  return { ...strategy, type, rollingUpdate: { partition: 0, ...objectAt(strategy, 'rollingUpdate') } };
}

function defaults(set: JsonObject): JsonObject {
  const spec = specOf(set);
  const retention = objectAt(spec, 'persistentVolumeClaimRetentionPolicy');
  const claims = claimsOf(spec);
  return withTemplateDefaults({
    ...set,
    spec: {
      replicas: 1,
      revisionHistoryLimit: 10,
      ...spec,
      podManagementPolicy: textOr(spec, 'podManagementPolicy', 'OrderedReady'),
      updateStrategy: updateStrategy(objectAt(spec, 'updateStrategy')),
      persistentVolumeClaimRetentionPolicy: {
        whenDeleted: textOr(retention, 'whenDeleted', 'Retain'),
        whenScaled: textOr(retention, 'whenScaled', 'Retain'),
      },
      ...(claims.length > 0 && { volumeClaimTemplates: claims.map(claimDefaults) }),
    },
  });
}

/** Drops the field of the gate MaxUnavailableStatefulSet, which is off, unless the stored object has it. */
function withoutMaxUnavailable(set: JsonObject, old: JsonObject | undefined): JsonObject {
  const strategy = objectAt(specOf(set), 'updateStrategy');
  const used = valueAt(old, 'spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable') !== undefined;
  if (used || !isObject(strategy['rollingUpdate'])) return set;
  const rollingUpdate = without(objectAt(strategy, 'rollingUpdate'), 'maxUnavailable');
  return { ...set, spec: { ...specOf(set), updateStrategy: { ...strategy, rollingUpdate } } };
}

function* rollingUpdate(field: string, update: JsonObject): Faults {
  yield* nonNegatives(field, update, 'partition');
  const { maxUnavailable } = update;
  if (maxUnavailable === undefined) return;
  yield* positiveIntOrPercent(`${field}.maxUnavailable`, maxUnavailable);
  if (shareOf(maxUnavailable) === 0) yield invalid(`${field}.maxUnavailable`, maxUnavailable, 'cannot be 0');
  yield* notMoreThan100Percent(`${field}.maxUnavailable`, maxUnavailable);
}

const shownUpdate = (update: unknown): unknown =>
  isObject(update)
    ? { Partition: update['partition'] ?? 0, MaxUnavailable: update['maxUnavailable'] ?? null }
    : null;

function* strategyFaults(field: string, strategy: JsonObject): Faults {
  const { type, rollingUpdate: update } = strategy;
  if (type === 'RollingUpdate') {
    if (isObject(update)) yield* rollingUpdate(`${field}.rollingUpdate`, update);
  } else if (type !== 'OnDelete')
    yield invalid(
      field,
      { Type: type, RollingUpdate: shownUpdate(update) },
      "must be 'RollingUpdate' or 'OnDelete'",
    );
  else if (update !== undefined)
    yield invalid(
      `${field}.rollingUpdate`,
      shownUpdate(update),
      "only allowed for updateStrategy 'RollingUpdate'",
    );
}

/** Returns the template as it is validated: without what each pod gets of its own, with the volumes of the claims. */
function templateToValidate(spec: JsonObject): JsonObject {
  const template = objectAt(spec, 'template');
  const pod = specOf(template);
  const claims = claimsOf(spec).map(nameOf);
  const volumes = [...new Set(claims)].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const others = objectsAt(pod, 'volumes').filter((one) => !claims.includes(stringAt(one, 'name')));
  return {
    ...template,
    spec: {
      ...without(pod, 'subdomain', 'hostname'),
      ...(claims.length > 0 && { volumes: [...volumes, ...others] }),
    },
  };
}

/** What an update does not validate again. */
interface Tolerated {
  readonly template: boolean;
  readonly claims: boolean;
}

function* counts(spec: JsonObject): Faults {
  yield* nonNegatives('spec', spec, 'replicas', 'minReadySeconds');
  yield* nonNegative('spec.ordinals.start', valueAt(spec, 'ordinals', 'start') as number | undefined);
}

function* templateOf(spec: JsonObject, tolerated: Tolerated): Faults {
  const { selector } = spec;
  const field = 'spec.template';
  if (isUsableSelector(selector)) {
    const template = templateToValidate(spec);
    const { metadata } = template as Pod;
    yield* selectorMatchesTemplate(field, selector, template);
    if (!tolerated.template) yield* templateFaults(field, template);
    yield* labels(`${field}.labels`, metadata?.labels);
    yield* annotations(`${field}.annotations`, metadata?.annotations);
    yield* validatePodAnnotations(`${field}.annotations`, template);
  } else yield invalid('spec.selector', shownSelector(selector), '');
  yield* alwaysRunning(field, objectAt(spec, 'template'), 'StatefulSet');
}

/** Validates a stateful set. Follows Kubernetes `ValidateStatefulSetSpec` (pkg/apis/apps/validation, v1.36). */
function* specFaults(spec: JsonObject, isNew: boolean, tolerated: Tolerated): Faults {
  const policy = stringAt(spec, 'podManagementPolicy');
  if (policy !== 'OrderedReady' && policy !== 'Parallel')
    yield invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'");
  yield* strategyFaults('spec.updateStrategy', objectAt(spec, 'updateStrategy'));
  const retention = objectAt(spec, 'persistentVolumeClaimRetentionPolicy');
  for (const key of ['whenDeleted', 'whenScaled'])
    yield* oneOf(`spec.persistentVolumeClaimRetentionPolicy.${key}`, stringAt(retention, key), [
      'Retain',
      'Delete',
    ]);
  if (!tolerated.claims)
    for (const [i, claim] of claimsOf(spec).entries())
      yield* validateClaimSpec(`spec.volumeClaimTemplates[${i}].spec`, specOf(claim));
  yield* counts(spec);
  const service = stringAt(spec, 'serviceName');
  if (isNew && service !== '') yield* label('spec.serviceName', service);
  yield* requiredSelector('spec.selector', spec['selector'], 'statefulset');
  yield* templateOf(spec, tolerated);
}

const mutable = [
  'replicas',
  'template',
  'updateStrategy',
  'minReadySeconds',
  'ordinals',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
];
const frozen =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

function* faults(set: JsonObject, old: JsonObject | undefined): Faults {
  if (!old) {
    yield* specFaults(specOf(set), true, { template: false, claims: false });
    return;
  }
  const [invalidBefore] = specFaults(specOf(old), false, { template: false, claims: true });
  yield* specFaults(specOf(set), false, { template: invalidBefore !== undefined, claims: true });
  if (!sameJson(without(specOf(set), ...mutable), without(specOf(old), ...mutable)))
    yield forbidden('spec', frozen);
}

function* statusFaults(set: JsonObject, old: JsonObject): Faults {
  const within = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'];
  const all = ['replicas', ...within, 'observedGeneration', 'collisionCount'];
  yield* replicaCounts(set, { all, within, ready: 'status.readyReplicas' });
  yield* collisions(set, old);
}

const keepsRevisions =
  'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended';

function warnings(set: JsonObject, old: JsonObject | undefined): readonly string[] {
  const spec = specOf(set);
  return [
    ...changedTemplateWarnings(set, old),
    ...claimsOf(spec).flatMap((claim, i) =>
      sizeWarnings(specOf(claim), `spec.volumeClaimTemplates[${i}]${old ? '.Spec' : ''}`),
    ),
    ...(Number(spec['revisionHistoryLimit'] ?? 0) < 0 ? [keepsRevisions] : []),
  ];
}

/** Strategy of stateful sets. */
export const statefulSetStrategy: Strategy = strategyOf(builtIn('statefulsets', 'apps'), {
  defaults,
  prepare: (set, old, context) => withEnabledTemplate(withoutMaxUnavailable(set, old), context),
  faults,
  warnings,
  status: { faults: statusFaults },
});
