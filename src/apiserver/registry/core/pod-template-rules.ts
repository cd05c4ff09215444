import type { Pod, PodSpec } from '../../../kube/types.ts';
import { defaultTemplateSpec } from '../../../kube/validation/defaults.ts';
import { dropDisabledFields } from '../../../kube/validation/disabled-fields.ts';
import { type Faults, type FieldError, forbidden } from '../../../kube/validation/field-error.ts';
import { annotations, validatePodAnnotations } from '../../../kube/validation/metadata.ts';
import { dns1123Label } from '../../../kube/validation/name-rules.ts';
import type { PodValidationOptions } from '../../../kube/validation/options.ts';
import { validateProfileAnnotations } from '../../../kube/validation/profile-annotations.ts';
import { labels } from '../../../kube/validation/shared.ts';
import { validatePodSpec } from '../../../kube/validation/spec.ts';
import {
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
} from '../../../apimachinery/json.ts';
import type { WriteContext } from '../../request/write-context.ts';
import { podWarnings } from '../validation/pod-warnings.ts';

/** Views JSON as a typed pod; a template has the same shape. */
const asPod = (object: JsonObject): Pod => object;
const asObject = (pod: Pod): JsonObject => pod;

/** Returns a pod template with the API's defaults. */
export const templateDefaults = (template: JsonObject): JsonObject => ({
  ...template,
  spec: defaultTemplateSpec(specOf(template) as unknown as PodSpec),
});

/** Returns the object with the defaults of its `spec.template`. */
export const withTemplateDefaults = (object: JsonObject): JsonObject => ({
  ...object,
  spec: { ...specOf(object), template: templateDefaults(objectAt(specOf(object), 'template')) },
});

/** Drops fields of disabled features from a pod template. */
export const enabledTemplate = (template: JsonObject, { world }: WriteContext): JsonObject =>
  asObject(dropDisabledFields(asPod(template), world.features));

/** Drops fields of disabled features from `spec.template`. */
export const withEnabledTemplate = (object: JsonObject, context: WriteContext): JsonObject => ({
  ...object,
  spec: { ...specOf(object), template: enabledTemplate(objectAt(specOf(object), 'template'), context) },
});

const options: PodValidationOptions = { imageReferenceRequired: false, hostPortsRequired: false };

/**
 * Validates a pod template. Follows Kubernetes `ValidatePodTemplateSpec`.
 *
 * @param field the path of the template
 */
export function* templateFaults(field: string, template: JsonObject): Faults {
  const pod = asPod(template);
  yield* labels(`${field}.labels`, pod.metadata?.labels);
  yield* annotations(`${field}.annotations`, pod.metadata?.annotations);
  yield* validatePodAnnotations(`${field}.annotations`, pod);
  // the rules that need the metadata of a pod do not apply to the one of a template
  const bare: Pod = pod.spec ? { spec: pod.spec } : {};
  yield* below(field, validatePodSpec(bare, options));
  yield* below(field, validateProfileAnnotations(pod));
  if (objectsAt(specOf(template), 'ephemeralContainers').length > 0)
    yield forbidden(`${field}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template');
}

/** Moves errors below a path. */
export function* below(field: string, errors: Iterable<FieldError>): Faults {
  for (const error of errors) yield { ...error, field: `${field}.${error.field}` };
}

/** Returns warnings about a pod template. */
export const templateWarnings = (field: string, template: JsonObject): readonly string[] =>
  podWarnings(template).map((warning) => `${field}.${warning}`);

/** Warns of the name of a workload that is not a DNS label, since the names of its pods begin with it. */
export function podNameWarnings(object: JsonObject): readonly string[] {
  const faults = dns1123Label(nameOf(object));
  return faults.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${faults.join(' ')}]`,
      ];
}

/** Returns warnings about the `spec.template` of a new object, or of one whose generation is incremented. */
export const changedTemplateWarnings = (
  object: JsonObject,
  old: JsonObject | undefined,
): readonly string[] =>
  old && metadataOf(object)['generation'] === metadataOf(old)['generation']
    ? []
    : templateWarnings('spec.template', objectAt(specOf(object), 'template'));
