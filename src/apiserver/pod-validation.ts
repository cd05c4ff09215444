import { bodyOf, type FieldError, fieldErrorReasons } from '../kube/validation/field-error.ts';
import { metadataAndSpec, validatePod } from '../kube/validation/pod.ts';
import { computeQosClass } from '../kube/resources.ts';
import type { Pod } from '../kube/types.ts';
import { type JsonObject, objectAt, objectsAt, sameJson } from './json.ts';
import { fault, type FieldFault } from './status-error.ts';

/** The checks of a pod at each door. */
export interface PodValidation {
  create(pod: JsonObject): readonly FieldFault[];
  update(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  status(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  ephemeral(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  resize(pod: JsonObject, old: JsonObject): readonly FieldFault[];
}

const asPod = (object: JsonObject): Pod => object;
const spec = (pod: JsonObject): JsonObject => objectAt(pod, 'spec');

/** What may change on a pod that runs: images, a shorter deadline, more tolerations, fewer gates. */
const mutable = [
  'activeDeadlineSeconds',
  'tolerations',
  'schedulingGates',
  'containers',
  'initContainers',
  'ephemeralContainers',
];

const imageless = (pod: JsonObject, key: string): unknown =>
  objectsAt(spec(pod), key).map(({ image: _image, ...rest }) => rest);

const others = (pod: JsonObject): unknown =>
  Object.fromEntries(Object.entries(spec(pod)).filter(([key]) => !mutable.includes(key)));

const immutable = fault.forbidden(
  'spec',
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
);

function update(pod: JsonObject, old: JsonObject): readonly FieldFault[] {
  const same = (key: string): boolean => sameJson(imageless(pod, key), imageless(old, key));
  const fits = sameJson(others(pod), others(old)) && same('containers') && same('initContainers');
  const faults = [...metadataAndSpec(asPod(pod), {})].map(asFault);
  for (const key of ['containers', 'initContainers'])
    if (objectsAt(spec(pod), key).length !== objectsAt(spec(old), key).length)
      return [...faults, fault.forbidden(`spec.${key}`, 'pod updates may not add or remove containers')];
  return fits ? faults : [...faults, immutable];
}

/** A fault in the words of the house's validation as a cause of a Status. */
const asFault = (error: FieldError): FieldFault => ({
  reason: fieldErrorReasons[error.type] as FieldFault['reason'],
  field: error.field,
  message: bodyOf(error),
});

export const podValidation: PodValidation = {
  create: (pod) => validatePod(asPod(pod)).map(asFault),
  update,
  status: () => [],
  ephemeral: () => [],
  resize(pod, old) {
    const faults = [...metadataAndSpec(asPod(pod), {})].map(asFault);
    const [now, before] = [pod, old].map((one) => computeQosClass(asPod(one).spec ?? { containers: [] }));
    return now === before
      ? faults
      : [...faults, fault.invalid('spec', now, 'Pod QOS Class may not change as a result of resizing')];
  },
};
