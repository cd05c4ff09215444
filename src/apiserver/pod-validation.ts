import { bodyOf, type FieldError, fieldErrorReasons } from '../kube/validation/field-error.ts';
import { metadataAndSpec, validatePod } from '../kube/validation/pod.ts';
import { validatePodUpdate } from '../kube/validation/pod-update.ts';
import { computeQosClass } from '../kube/resources.ts';
import type { Pod } from '../kube/types.ts';
import type { JsonObject } from './json.ts';
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
  ephemeral: () => [],
  resize(pod, old) {
    const faults = [...metadataAndSpec(asPod(pod), {})].map(asFault);
    const [now, before] = [pod, old].map((one) => computeQosClass(asPod(one).spec ?? { containers: [] }));
    return now === before
      ? faults
      : [...faults, fault.invalid('spec', now, 'Pod QOS Class may not change as a result of resizing')];
  },
};
