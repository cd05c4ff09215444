import { initContainersRestart, metadataAndSpec } from '../../../kube/validation/pod.ts';
import { computeQosClass } from '../../../kube/resources/resources.ts';
import type { Pod } from '../../../kube/types.ts';
import {
  type JsonObject,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  stringAt,
  valueAt,
  without,
} from '../../../apimachinery/json.ts';
import { causeOf, fault, type FieldFault } from '../../../apimachinery/status-error.ts';

const containerKeys = ['containers', 'initContainers'] as const;
const sides = ['requests', 'limits'] as const;
const sizes = ['cpu', 'memory'] as const;
const containersOf = (pod: JsonObject, key: string): readonly JsonObject[] => objectsAt(specOf(pod), key);
const asPod = (object: JsonObject): Pod => object;
const qosOf = (pod: JsonObject): string => computeQosClass(asPod(pod).spec ?? { containers: [] });

/** Returns why a pod cannot be resized at all. */
function unsizable(old: JsonObject): readonly FieldFault[] {
  if (valueAt(old, 'metadata', 'annotations', 'kubernetes.io/config.mirror') !== undefined)
    return [fault.forbidden('[]', 'static pods cannot be resized')];
  if (valueAt(old, 'spec', 'os', 'name') === 'windows')
    return [fault.forbidden('[]', 'windows pods cannot be resized')];
  return [];
}

/** Reports whether the pod's node supports resize: it then reports the resources of running containers. */
function nodeResizes(old: JsonObject): boolean {
  const running = objectsAt(objectAt(old, 'status'), 'containerStatuses').find(
    (status) => valueAt(status, 'state', 'running') !== undefined,
  );
  return running === undefined || running['resources'] !== undefined;
}

/** Validates that containers stay the same, in their order. */
function order(pod: JsonObject, old: JsonObject): FieldFault[] {
  return containerKeys.flatMap((key) => {
    const [now, before] = [containersOf(pod, key), containersOf(old, key)];
    if (now.length !== before.length)
      return [fault.forbidden(`spec.${key}`, `${key} may not be added or removed on resize`)];
    return before.flatMap((container, i) =>
      now[i]?.['name'] === container['name']
        ? []
        : [fault.forbidden(`spec.${key}[${i}].name`, `${key} may not be renamed or reordered on resize`)],
    );
  });
}

/** Returns the requirements with the amounts of `old` where a resize may change them. */
const masked = (now: JsonObject, old: JsonObject): readonly JsonObject[] =>
  sides.map((side) => {
    const amounts = without(objectAt(now, side), ...sizes);
    for (const size of sizes) {
      const stood = objectAt(old, side)[size];
      if (stood !== undefined) amounts[size] = stood;
    }
    return amounts;
  });

const amountsOf = (resources: JsonObject): readonly JsonObject[] =>
  sides.map((side) => objectAt(resources, side));

/** Rejects requirements that were removed. */
const removed = (now: JsonObject, old: JsonObject, path: string, what: string): FieldFault[] =>
  sides
    .filter((side) =>
      Object.keys(objectAt(old, side)).some((name) => !Object.hasOwn(objectAt(now, side), name)),
    )
    .map((side) => fault.forbidden(`${path}.${side}`, `${what} ${side} cannot be removed`));

/** Reports whether a container differs in more than a resize may change. */
const differsOtherwise = (now: JsonObject, old: JsonObject): boolean =>
  !sameJson(without(now, 'resources'), without(old, 'resources')) ||
  objectsAt(objectAt(old, 'resources'), 'claims').length > 0 ||
  !sameJson(
    masked(objectAt(now, 'resources'), objectAt(old, 'resources')),
    amountsOf(objectAt(old, 'resources')),
  );

function initFaults(now: JsonObject, old: JsonObject, path: string): FieldFault[] {
  const out: FieldFault[] = [];
  if (differsOtherwise(now, old))
    out.push(
      fault.forbidden(path, 'only cpu and memory resources for init or sidecar containers are mutable'),
    );
  if (now['restartPolicy'] === 'Always' || sameJson(now, old)) return out;
  const restarts = objectsAt(now, 'resizePolicy').filter(
    ({ restartPolicy }) => restartPolicy === 'RestartContainer',
  );
  const cannot = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized';
  return [...out, ...restarts.map(() => fault.forbidden(path, cannot))];
}

/** Validates the resources of the pod as a whole. */
function podLevel(pod: JsonObject, old: JsonObject): FieldFault[] {
  const [now, before] = [specOf(pod)['resources'], specOf(old)['resources']];
  const [requested, stood] = [objectAt(specOf(pod), 'resources'), objectAt(specOf(old), 'resources')];
  if (![...amountsOf(requested), ...amountsOf(stood)].some((amounts) => Object.keys(amounts).length > 0))
    return [];
  if (before !== undefined && now === undefined)
    return [fault.forbidden('spec.resources', 'pod-level resources cannot be removed')];
  const same =
    sameJson(masked(requested, stood), amountsOf(stood)) && sameJson(requested['claims'], stood['claims']);
  return [
    ...removed(requested, stood, 'spec.resources', 'pod-level resource'),
    ...(same ? [] : [fault.forbidden('spec', 'only cpu and memory resources are mutable at pod-level')]),
  ];
}

/** Validates that only amounts of CPU and memory change, and none is removed. Follows Kubernetes `ValidatePodResize`. */
export function resizeFaults(pod: JsonObject, old: JsonObject): readonly FieldFault[] {
  const never = unsizable(old);
  if (never.length > 0) return never;
  const options = { restartingInitContainers: initContainersRestart(asPod(old)) };
  const faults: FieldFault[] = [...metadataAndSpec(asPod(pod), options)].map(causeOf);
  if (qosOf(pod) !== qosOf(old)) {
    const qosClass = stringAt(objectAt(old, 'status'), 'qosClass');
    faults.push(fault.invalid('spec', qosClass, 'Pod QOS Class may not change as a result of resizing'));
  }
  if (!nodeResizes(old))
    faults.push(fault.forbidden('spec', 'Pod running on node without support for resize'));
  faults.push(...podLevel(pod, old));
  const moved = order(pod, old);
  if (moved.length > 0) return [...faults, ...moved];
  for (const key of [...containerKeys].reverse())
    for (const [i, container] of containersOf(pod, key).entries())
      faults.push(
        ...removed(
          objectAt(container, 'resources'),
          objectAt(containersOf(old, key)[i], 'resources'),
          `spec.${key}[${i}].resources`,
          'resource',
        ),
      );
  for (const [i, container] of containersOf(pod, 'containers').entries())
    if (differsOtherwise(container, containersOf(old, 'containers')[i] ?? {}))
      faults.push(fault.forbidden('spec', 'only cpu and memory resources are mutable'));
  for (const [i, container] of containersOf(pod, 'initContainers').entries())
    faults.push(
      ...initFaults(container, containersOf(old, 'initContainers')[i] ?? {}, `spec.initContainers[${i}]`),
    );
  return faults;
}
