import { type JsonObject, objectAt, stringAt, withMetadata } from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { pathSegment } from '../../apimachinery/path-segment.ts';
import { badRequest, invalid, modified, StatusError } from '../../apimachinery/status-error.ts';
import { subjectOf } from './removal.ts';
import type { Strategy } from './strategy.ts';

/** Checks the namespace and name of an object, or of a collection without a name. @throws {StatusError} 400, 500 */
export function checkKey(kind: Kind, namespace: string, name?: string): void {
  if (name !== undefined && kind.namespaced && namespace === '')
    throw badRequest('Namespace parameter required.');
  if (name === '') throw badRequest('Name parameter required.');
  const faults = pathSegment(name ?? '', false);
  if (faults.length > 0)
    throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${faults.join(';')}`);
  if (!kind.namespaced || !/^\.\.?$/.test(namespace)) return;
  const key = [kind.resource, namespace, ...(name === undefined ? [] : [name])].join('/');
  throw new StatusError(500, '', `invalid key: "/${key}"`);
}

/** Returns the error for a resource version that is no number. */
export const unparsed = (version: string): StatusError =>
  new StatusError(500, '', `strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`);

/** Checks the resource version that an update has. @throws {StatusError} 409, 422, 500 */
export function checkVersion(
  changed: JsonObject,
  old: JsonObject,
  name: string,
  { kind, unconditionalUpdate }: Pick<Strategy, 'kind' | 'unconditionalUpdate'>,
): void {
  const [now, before] = [objectAt(changed, 'metadata'), objectAt(old, 'metadata')];
  const version = stringAt(now, 'resourceVersion');
  if (version && version !== '0' && version !== before['resourceVersion']) {
    if (!/^\d+$/.test(version)) throw unparsed(version);
    throw modified(subjectOf(kind, name));
  }
  if (!version && !unconditionalUpdate)
    throw invalid(kind.resource, kind.group, name, [
      {
        reason: 'FieldValueInvalid',
        field: 'metadata.resourceVersion',
        message: 'Invalid value: 0: must be specified for an update',
      },
    ]);
}

/** Returns a new object without the server-set fields. */
export function withoutServerFields(object: JsonObject, namespace: string | undefined): JsonObject {
  return withMetadata(object, {
    namespace,
    uid: undefined,
    creationTimestamp: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    selfLink: undefined,
    resourceVersion: undefined,
  });
}
