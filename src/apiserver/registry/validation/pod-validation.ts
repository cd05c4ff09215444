import { initContainersRestart, metadataAndSpec, validatePod } from '../../../kube/validation/pod.ts';
import { validatePodUpdate } from '../../../kube/validation/pod-update.ts';
import type { Pod } from '../../../kube/types.ts';
import { formDiff } from '../../../kube/validation/spec-diff.ts';
import type { Empties } from '../../../apimachinery/serializer/codec.ts';
import { type JsonObject, objectAt, objectsAt, sameJson, valueAt } from '../../../apimachinery/json.ts';
import { withEmpties } from '../empties.ts';
import { resizeFaults } from './pod-resize-validation.ts';
import { podStatusFaults } from './pod-status-validation.ts';
import { causeOf, fault, type FieldFault } from '../../../apimachinery/status-error.ts';

/** Pod validation by (sub)resource. The registry checks unchanged metadata. */
export interface PodValidation {
  create(pod: JsonObject, empties?: Empties): readonly FieldFault[];
  /** Validates an update, including metadata. */
  update(pod: JsonObject, old: JsonObject, empties?: Empties): readonly FieldFault[];
  status(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  ephemeral(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  resize(pod: JsonObject, old: JsonObject): readonly FieldFault[];
}

const asPod = (object: JsonObject): Pod => object;

/** Returns the empty lists and maps of the spec. */
const specOnly = (empties: Empties = new Map()): Empties =>
  new Map([...empties].filter(([path]) => path.startsWith('spec.')));

export const podValidation: PodValidation = {
  create: (pod, empties) => validatePod(asPod(withEmpties(pod, specOnly(empties)))).map(causeOf),
  update: (pod, old, empties) =>
    validatePodUpdate(asPod(withEmpties(pod, specOnly(empties))), asPod(old)).map(causeOf),
  status: podStatusFaults,
  ephemeral: ephemeralFaults,
  resize: resizeFaults,
};

const noGuests = 'static pods do not support ephemeral containers';

/** Validates that existing ephemeral containers are unchanged. Follows Kubernetes `ValidatePodEphemeralContainersUpdate`. */
function ephemeralFaults(pod: JsonObject, old: JsonObject): readonly FieldFault[] {
  if (valueAt(old, 'metadata', 'annotations', 'kubernetes.io/config.mirror') !== undefined)
    return [fault.forbidden('[]', noGuests)];
  const field = 'spec.ephemeralContainers';
  const now = containersOf(pod, 'ephemeralContainers');
  return [
    ...[...metadataAndSpec(asPod(pod), { restartingInitContainers: initContainersRestart(asPod(old)) })].map(
      causeOf,
    ),
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

const containersOf = (pod: JsonObject, key: string): readonly JsonObject[] =>
  objectsAt(objectAt(pod, 'spec'), key);
