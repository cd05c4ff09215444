import { ownMember, setOwn } from '../../../base/own.ts';
import {
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  specOf,
  stringAt,
  valueAt,
  withMetadata,
} from '../../../apimachinery/json.ts';
import type { Kind } from '../../../apimachinery/kinds.ts';
import { conflict, fault, internalError, invalid } from '../../../apimachinery/status-error.ts';
import type { ScalePaths } from '../../apiextensions/custom-kinds.ts';
import { selectorText } from '../../printers/table-printer.ts';

/** Where a kind has the numbers of its scale, and how its pods are selected. */
export interface ScaleView {
  readonly spec: readonly string[];
  readonly status: readonly string[];
  /** Returns the selector of the pods as text; `''` where there is none. */
  readonly selectorOf: (object: JsonObject) => string;
  /** True where an object without the number in its spec has no scale. */
  readonly isOptional: boolean;
}

/** Formats the selector of a ReplicationController, which is a map. */
const mapText = (selector: JsonObject): string =>
  Object.entries(selector)
    .map(([key, value]) => `${key}=${String(value)}`)
    .sort()
    .join(',');

const podSelector = (object: JsonObject, { kind }: Kind): string => {
  const selector = objectAt(specOf(object), 'selector');
  return kind === 'ReplicationController' ? mapText(selector) : selectorText(selector);
};

/** Returns the scale of a built-in kind. */
export const builtInScale = (kind: Kind): ScaleView => ({
  spec: ['spec', 'replicas'],
  status: ['status', 'replicas'],
  selectorOf: (object) => podSelector(object, kind),
  isOptional: false,
});

/** Returns the scale of a custom kind, whose definition names the paths. */
export const customScale = ({ spec, status, selector }: ScalePaths): ScaleView => ({
  spec,
  status,
  selectorOf: (object) => {
    const text = selector && valueAt(object, ...selector);
    return typeof text === 'string' ? text : '';
  },
  isOptional: true,
});

const numberAt = (object: JsonObject, path: readonly string[]): number | undefined => {
  const value = valueAt(object, ...path);
  return typeof value === 'number' ? value : undefined;
};

/** Members of the object's metadata that its scale has. */
const sharedMetadata = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp'];

/** Returns the scale of an object. */
export function scaleOf(object: JsonObject, { spec, status, selectorOf }: ScaleView): JsonObject {
  const metadata = metadataOf(object);
  const shared = sharedMetadata.flatMap((key) =>
    ownMember(metadata, key) === undefined ? [] : [[key, ownMember(metadata, key)] as const],
  );
  const replicas = numberAt(object, spec) ?? 0;
  const selector = selectorOf(object);
  return {
    metadata: Object.fromEntries(shared),
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: numberAt(object, status) ?? 0, ...(selector !== '' && { selector }) },
  };
}

/** @throws {StatusError} 500 for an object without the number that its kind's scale is about */
export function checkScaled(object: JsonObject, { spec, isOptional }: ScaleView): void {
  if (isOptional && numberAt(object, spec) === undefined)
    throw internalError(`the spec replicas field ${JSON.stringify(`.${spec.join('.')}`)} does not exist`);
}

/** Returns an object with another value at a path. */
function withValue(object: JsonObject, [key = '', ...rest]: readonly string[], value: unknown): JsonObject {
  const copy: Record<string, unknown> = { ...object };
  setOwn(copy, key, rest.length === 0 ? value : withValue(objectAt(object, key), rest, value));
  return copy;
}

/**
 * Returns an object with the replicas of a scale.
 *
 * @throws {StatusError} 409 for a scale of another object of the name, 422 for one that is not valid
 */
export function rescaled(object: JsonObject, scale: JsonObject, view: ScaleView, kind: Kind): JsonObject {
  const name = nameOf(object);
  const replicas = numberAt(scale, ['spec', 'replicas']) ?? 0;
  // custom resources have a rule of their own for the field
  if (replicas < 0 && !kind.custom)
    throw invalid('Scale', 'autoscaling', name, [
      fault.invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  const [uid, own] = [stringAt(metadataOf(scale), 'uid'), stringAt(metadataOf(object), 'uid')];
  if (uid !== '' && uid !== own)
    throw conflict(
      { kind: `${kind.resource}/scale`, name, ...(kind.group && { group: kind.group }) },
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${own}`,
    );
  const version =
    stringAt(metadataOf(scale), 'resourceVersion') || stringAt(metadataOf(object), 'resourceVersion');
  return withMetadata(withValue(object, view.spec, replicas), { resourceVersion: version });
}

/** The kind of scales. */
export const scaleKind: Kind = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  resource: 'scales',
  singular: 'scale',
  namespaced: true,
  shortNames: [],
  categories: [],
  verbs: [],
  subresources: [],
  type: 'Scale',
  storage: '',
};
