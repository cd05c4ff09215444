import { bodyOf, type FieldError, fieldErrorReasons } from '../kube/validation/field-error.ts';
import { metadataAndSpec, validatePod } from '../kube/validation/pod.ts';
import { validatePodUpdate } from '../kube/validation/pod-update.ts';
import { computeQosClass } from '../kube/resources.ts';
import type { Pod } from '../kube/types.ts';
import { formDiff } from '../kube/validation/spec-diff.ts';
import { type JsonObject, objectAt, objectsAt, sameJson, valueAt, without } from './json.ts';
import { podStatusFaults } from './pod-status-validation.ts';
import { fault, type FieldFault } from './status-error.ts';

/** The checks of a pod at each door. Metadata that stays the same is checked by the registry. */
export interface PodValidation {
  create(pod: JsonObject): readonly FieldFault[];
  /** Names a fault of the metadata too. */
  update(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  status(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  ephemeral(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  resize(pod: JsonObject, old: JsonObject): readonly FieldFault[];
}

const asPod = (object: JsonObject): Pod => object;

/** A fault in the words of the house's validation as a cause of a Status. */
const asFault = (error: FieldError): FieldFault => ({
  reason: fieldErrorReasons[error.type] as FieldFault['reason'],
  field: error.field,
  message: bodyOf(error),
});

export const podValidation: PodValidation = {
  create: (pod) => validatePod(asPod(pod)).map(asFault),
  update: (pod, old) => validatePodUpdate(asPod(pod), asPod(old)).map(asFault),
  status: podStatusFaults,
  ephemeral: ephemeralFaults,
  resize(pod, old) {
    const [now, before] = [pod, old].map((one) => computeQosClass(asPod(one).spec ?? { containers: [] }));
    const faults = [...metadataAndSpec(asPod(pod), {})].map(asFault);
    const counted = containerKeys.filter(
      (key) => containersOf(pod, key).length !== containersOf(old, key).length,
    );
    if (counted.length > 0)
      return [
        ...faults,
        ...counted.map((key) =>
          fault.forbidden(`spec.${key}`, 'containers may not be added or removed on resize'),
        ),
      ];
    return [
      ...faults,
      ...(now === before
        ? []
        : [fault.invalid('spec', before, 'Pod QOS Class may not change as a result of resizing')]),
      ...containerKeys.flatMap((key) => removedAmounts(pod, old, key)),
      ...(containerKeys.every((key) => sameJson(unsized(pod, key), unsized(old, key)))
        ? []
        : [fault.forbidden('spec', 'only cpu and memory resources are mutable')]),
    ];
  },
};

const noGuests = 'static pods do not support ephemeral containers';

/** Guests of a pod come and stay as they are. Follows Kubernetes `ValidatePodEphemeralContainersUpdate`. */
function ephemeralFaults(pod: JsonObject, old: JsonObject): readonly FieldFault[] {
  if (valueAt(old, 'metadata', 'annotations', 'kubernetes.io/config.mirror') !== undefined)
    return [fault.forbidden('[]', noGuests)];
  const field = 'spec.ephemeralContainers';
  const now = containersOf(pod, 'ephemeralContainers');
  return [
    ...[...metadataAndSpec(asPod(pod), {})].map(asFault),
    ...containersOf(old, 'ephemeralContainers').flatMap((guest) => {
      const name = JSON.stringify(guest['name']);
      const next = now.find((other) => other['name'] === guest['name']);
      if (!next)
        return [fault.forbidden(field, `existing ephemeral containers ${name} may not be removed\n`)];
      return sameJson(next, guest)
        ? []
        : [
            fault.forbidden(
              field,
              `existing ephemeral containers ${name} may not be changed\n${formDiff('Ephemeral', guest, next)}`,
            ),
          ];
    }),
  ];
}

const containerKeys = ['containers', 'initContainers'] as const;
const sides = ['limits', 'requests'] as const;
const sizes = ['cpu', 'memory'] as const;
const containersOf = (pod: JsonObject, key: string): readonly JsonObject[] =>
  objectsAt(objectAt(pod, 'spec'), key);

/** Amounts that a resize may change and may not take away. */
function removedAmounts(pod: JsonObject, old: JsonObject, key: string): FieldFault[] {
  const before = containersOf(old, key);
  return containersOf(pod, key).flatMap((container, i) =>
    sides
      .filter((side) => {
        const amounts = (one: JsonObject | undefined): JsonObject =>
          objectAt(objectAt(one, 'resources'), side);
        return sizes.some((name) => name in amounts(before[i]) && !(name in amounts(container)));
      })
      .map((side) =>
        fault.forbidden(`spec.${key}[${i}].resources.${side}`, `resource ${side} cannot be removed`),
      ),
  );
}

/** The containers without the amounts that a resize may change. */
const unsized = (pod: JsonObject, key: string): unknown =>
  containersOf(pod, key).map((container) => {
    const { limits: _l, requests: _r, ...rest } = objectAt(container, 'resources');
    const fixed = sides.map((side) => without(objectAt(objectAt(container, 'resources'), side), ...sizes));
    return [without(container, 'resources'), rest, fixed];
  });
