import {
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  required,
  tooLong,
} from '../../../kube/validation/field-error.ts';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import {
  isObject,
  type JsonObject,
  objectAt,
  sameJson,
  specOf,
  statusOf,
  stringAt,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { numberAt } from '../validation/value-rules.ts';
import { driverName } from '../../../kube/validation/shared.ts';

const most = { metadata: 256 * 1024, message: 1024 } as const;
const exactlyOne = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';

function* sourceFaults(field: string, source: JsonObject): Faults {
  const { inlineVolumeSpec: inline, persistentVolumeName: volume } = source;
  if (inline === undefined && volume === undefined) yield required(field, exactlyOne);
  else if (inline !== undefined && volume !== undefined) yield forbidden(field, exactlyOne);
  else if (volume === '')
    yield required(`${field}.persistentVolumeName`, 'must specify non empty persistentVolumeName');
}

/** Validates the status, which an error of a driver may fill. */
function* statusFaults(attachment: JsonObject): Faults {
  const status = statusOf(attachment);
  const bytes = Object.entries(objectAt(status, 'attachmentMetadata')).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  if (bytes > most.metadata) yield tooLong('status.attachmentMetadata', most.metadata);
  for (const key of ['attachError', 'detachError']) {
    const error = objectAt(status, key);
    const code = numberAt(error, 'errorCode', 0);
    // the message names the limit of the metadata
    if (Buffer.byteLength(stringAt(error, 'message')) > most.message)
      yield tooLong(`status.${key}.message`, most.metadata);
    if (code < 0)
      yield invalid(`status.${key}.errorCode`, code, 'must be between 0 and 2147483647, inclusive');
  }
}

const shown = (spec: JsonObject): unknown => {
  const { inlineVolumeSpec, persistentVolumeName } = objectAt(spec, 'source');
  return {
    Attacher: spec['attacher'],
    Source: {
      PersistentVolumeName: persistentVolumeName ?? null,
      InlineVolumeSpec: isObject(inlineVolumeSpec) ? inlineVolumeSpec : null,
    },
    NodeName: spec['nodeName'],
  };
};

/** Validates an attachment. Follows Kubernetes `ValidateVolumeAttachment` (pkg/apis/storage/validation, v1.36). */
function* faults(attachment: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(attachment);
  yield* driverName('spec.attacher', stringAt(spec, 'attacher'));
  yield* sourceFaults('spec.source', objectAt(spec, 'source'));
  const node = stringAt(spec, 'nodeName');
  yield* invalidEach('spec.nodeName', node, dns1123Subdomain(node));
  yield* statusFaults(attachment);
  const volume = objectAt(spec, 'source')['persistentVolumeName'];
  if (typeof volume === 'string')
    yield* invalidEach('spec.source.persistentVolumeName', volume, dns1123Subdomain(volume));
  if (old && !sameJson(spec, specOf(old))) yield invalid('spec', shown(spec), 'field is immutable');
}

/** Strategy of volume attachments: the spec does not change. */
export const volumeAttachmentStrategy: Strategy = strategyOf(builtIn('volumeattachments', 'storage.k8s.io'), {
  faults,
  metadataChecks: ['whole'],
  status: { faults: statusFaults, frozenMetadata: 'all' },
});
