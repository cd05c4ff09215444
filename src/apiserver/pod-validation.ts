import { type JsonObject, objectsAt, objectAt, sameJson, stringAt } from './json.ts';
import { fault, type FieldFault } from './status-error.ts';

/** The checks of a pod at each door. */
export interface PodValidation {
  create(pod: JsonObject): readonly FieldFault[];
  update(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  status(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  ephemeral(pod: JsonObject, old: JsonObject): readonly FieldFault[];
  resize(pod: JsonObject, old: JsonObject): readonly FieldFault[];
}

const spec = (pod: JsonObject): JsonObject => objectAt(pod, 'spec');

/** What may change on a pod that runs: images, a shorter deadline, more tolerations, fewer gates. */
const mutable = ['activeDeadlineSeconds', 'tolerations', 'schedulingGates', 'containers', 'initContainers', 'ephemeralContainers'];

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
  return fits ? [] : [immutable];
}

function create(pod: JsonObject): readonly FieldFault[] {
  const containers = objectsAt(spec(pod), 'containers');
  if (containers.length === 0) return [fault.required('spec.containers')];
  return containers.flatMap((container, i) =>
    ['name', 'image'].filter((key) => stringAt(container, key) === '').map((key) => fault.required(`spec.containers[${i}].${key}`)),
  );
}

export const podValidation: PodValidation = {
  create,
  update,
  status: () => [],
  ephemeral: () => [],
  resize: () => [],
};
