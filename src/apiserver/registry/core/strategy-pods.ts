import type { Pod } from '../../../kube/types.ts';
import { computeQosClass } from '../../../kube/resources/resources.ts';
import { dropDisabledFields } from '../../../kube/validation/disabled-fields.ts';
import { defaultPod } from '../../../kube/validation/defaults.ts';
import { dns1123Label } from '../../../kube/validation/name-rules.ts';
import { ipWarnings } from '../validation/address-rules.ts';
import {
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  stringAt,
  valueAt,
  withMetadata,
  without,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { withAppArmorFields, withLabelKeys, withObservedGeneration } from './pod-preparation.ts';
import { podValidation } from '../validation/pod-validation.ts';
import { podWarnings } from '../validation/pod-warnings.ts';
import { bump } from '../deletion.ts';
import { seconds } from '../../../apimachinery/times.ts';
import { commonStrategy, statusRules } from '../strategies.ts';
import type { Strategy, UpdateRules } from '../strategy.ts';
import type { WriteContext } from '../../request/write-context.ts';

const kind = builtIn('pods');
const terminal = new Set(['Succeeded', 'Failed']);

/** Views JSON as a typed pod. */
const asPod = (object: JsonObject): Pod => object;
const asObject = (pod: Pod): JsonObject => pod;

/** Writes both `serviceAccountName` and `serviceAccount`, its old name. */
function bothAccountNames(pod: JsonObject): JsonObject {
  const spec = objectAt(pod, 'spec');
  const name = stringAt(spec, 'serviceAccountName') || stringAt(spec, 'serviceAccount');
  return name ? { ...pod, spec: { ...spec, serviceAccountName: name, serviceAccount: name } } : pod;
}

/** Writes both `podIP` and the first of `podIPs`; where they differ, or there is no list, `podIP` takes precedence. */
function bothAddresses(pod: JsonObject): JsonObject {
  const status = objectAt(pod, 'status');
  const [alone, [first]] = [stringAt(status, 'podIP'), objectsAt(status, 'podIPs')];
  if (alone === stringAt(first, 'ip')) return pod;
  const addresses = alone ? { podIPs: [{ ip: alone }] } : { podIP: stringAt(first, 'ip') };
  return { ...pod, status: { ...status, ...addresses } };
}

const defaults = (pod: JsonObject): JsonObject =>
  bothAddresses(bothAccountNames(asObject(defaultPod(asPod(pod)))));

/** Returns the phase and conditions of a new pod. */
function firstStatus(pod: JsonObject, now: string): JsonObject {
  const gated = objectsAt(objectAt(pod, 'spec'), 'schedulingGates').length > 0;
  return {
    phase: 'Pending',
    ...(gated && {
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          lastProbeTime: null,
          lastTransitionTime: now,
          reason: 'SchedulingGated',
          message: 'Scheduling is blocked due to non-empty scheduling gates',
        },
      ],
    }),
    qosClass: valueAt(pod, 'status', 'qosClass') ?? computeQosClass(asPod(pod).spec ?? { containers: [] }),
  };
}

const withGeneration = (next: JsonObject, old: JsonObject): JsonObject =>
  withMetadata(
    next,
    sameJson(specOf(next), specOf(old)) ? { generation: objectAt(old, 'metadata')['generation'] } : bump(old),
  );

/** Drops fields of disabled features after field ownership is computed: their writer owns them all the same. */
const enabled = (pod: JsonObject, { world }: WriteContext): JsonObject =>
  asObject(dropDisabledFields(asPod(pod), world.features));

const main: UpdateRules = {
  reset: [['f:status']],
  prepare: (object, old, context) =>
    withGeneration({ ...enabled(object, context), status: old['status'] }, old),
  validatesMetadata: true,
  validate: (object, old, { empties }) => podValidation.update(object, old, empties),
};

/** Warns of a pod name that is not a DNS label, since it is the pod's hostname. */
function nameWarnings(name: string): readonly string[] {
  const faults = dns1123Label(name);
  const why = `this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${faults.join(' ')}]`;
  return faults.length === 0 ? [] : [`metadata.name: ${why}`];
}

const base = statusRules(kind);

const status: UpdateRules = {
  reset: base.reset,
  prepare(object, old, context) {
    const next = base.prepare(object, old, context);
    const nextStatus = withObservedGeneration(objectAt(next, 'status'), objectAt(old, 'status'));
    return {
      ...withMetadata(next, { deletionTimestamp: valueAt(old, 'metadata', 'deletionTimestamp') }),
      status: { ...nextStatus, qosClass: nextStatus['qosClass'] ?? valueAt(old, 'status', 'qosClass') },
    };
  },
  validate: (object, old) => podValidation.status(object, old),
  warnings: (object) =>
    ['podIPs', 'hostIPs'].flatMap((key) =>
      objectsAt(objectAt(object, 'status'), key).flatMap((one, i) =>
        ipWarnings(`status.${key}[${i}].ip`, stringAt(one, 'ip')),
      ),
    ),
};

/** Returns the stored metadata with the owners computed for this write. */
const ownersOf = (object: JsonObject, old: JsonObject): JsonObject => ({
  ...objectAt(old, 'metadata'),
  managedFields: objectAt(object, 'metadata')['managedFields'],
});

const ephemeral: UpdateRules = {
  reset: [],
  prepare: (object, old) =>
    withGeneration(
      {
        ...old,
        metadata: ownersOf(object, old),
        spec: { ...specOf(old), ephemeralContainers: specOf(object)['ephemeralContainers'] },
      },
      old,
    ),
  validate: (object, old) => podValidation.ephemeral(object, old),
};

/** Returns the containers of `old` with the resources of `object`; for other containers `object`'s, so that they are rejected. */
function resized(object: JsonObject, old: JsonObject, key: string): JsonObject {
  const requested = objectsAt(specOf(object), key);
  const standing = objectsAt(specOf(old), key);
  if (requested.length === 0) return {};
  if (requested.some((container, i) => container['name'] !== standing[i]?.['name']))
    return { [key]: requested };
  return {
    [key]: standing.map((container, i) => {
      const { resources = {}, resizePolicy } = requested[i] ?? {};
      const bare = without(container, 'resizePolicy');
      return { ...bare, resources, ...(resizePolicy !== undefined && { resizePolicy }) };
    }),
  };
}

const resize: UpdateRules = {
  reset: [],
  prepare(object, old) {
    const counted = ['containers', 'initContainers'].every(
      (key) => objectsAt(specOf(object), key).length === objectsAt(specOf(old), key).length,
    );
    if (!counted) return object; // so that it is rejected
    const { resources } = specOf(object);
    const spec = {
      ...without(specOf(old), 'resources'),
      ...resized(object, old, 'containers'),
      ...resized(object, old, 'initContainers'),
      ...(resources !== undefined && { resources }),
    };
    return withGeneration({ ...old, metadata: ownersOf(object, old), spec }, old);
  },
  validate: (object, old) => podValidation.resize(object, old),
};

/** Returns the grace period of a deleted pod in seconds: 0 when it has no node or has ended (A1, A2). */
export function podGrace(pod: JsonObject, requested: number | undefined): number {
  if (stringAt(specOf(pod), 'nodeName') === '' || terminal.has(String(valueAt(pod, 'status', 'phase'))))
    return 0;
  const seconds = requested ?? Number(specOf(pod)['terminationGracePeriodSeconds'] ?? 30);
  return seconds < 0 ? 1 : seconds;
}

export const podStrategy: Strategy = {
  ...commonStrategy(kind),
  defaults,
  prepareCreate: (pod, context) =>
    withAppArmorFields(
      withLabelKeys(
        withMetadata(
          { ...enabled(pod, context), status: firstStatus(pod, seconds(context.now)) },
          { generation: 1 },
        ),
      ),
      context.warnings,
    ),
  validatesMetadata: true,
  validateCreate: (pod, { empties }) => podValidation.create(pod, empties),
  warnings: (pod) => [...nameWarnings(nameOf(pod)), ...podWarnings(pod)],
  createReset: [['f:status']],
  main,
  subresources: { status, ephemeralcontainers: ephemeral, resize },
  grace: podGrace,
};

/** Applies a binding (`pods/binding`, `bindings`) to a pod. @throws {StatusError} */
export function bound(pod: JsonObject, binding: JsonObject, now: string): JsonObject {
  const node = stringAt(objectAt(binding, 'target'), 'name');
  const labels = objectAt(objectAt(binding, 'metadata'), 'labels');
  const annotations = objectAt(objectAt(binding, 'metadata'), 'annotations');
  const metadata = objectAt(pod, 'metadata');
  const status = objectAt(pod, 'status');
  const conditions = [
    ...objectsAt(status, 'conditions').filter((condition) => condition['type'] !== 'PodScheduled'),
    { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: now },
  ];
  return withMetadata(
    { ...pod, spec: { ...specOf(pod), nodeName: node }, status: { ...status, conditions } },
    {
      ...(Object.keys(labels).length > 0 && { labels: { ...objectAt(metadata, 'labels'), ...labels } }),
      ...(Object.keys(annotations).length > 0 && {
        annotations: { ...objectAt(metadata, 'annotations'), ...annotations },
      }),
    },
  );
}
