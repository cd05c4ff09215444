import { AgentError } from '../../base/errors.ts';
import { cloneJson } from '../json-value.ts';
import type { Kind, KubeObject } from '../types.ts';
import type { AdmissionRequest } from './review.ts';

const apiVersionOf = ({ group, version }: Kind): string => (group === '' ? version : `${group}/${version}`);

/** Decodes the objects of admission requests. The results are copies, which may be changed. */
export const decoder = {
  /** Returns the object of a request. @throws {AgentError} `invalid_argument` when there is none, or one of another kind */
  decode<T extends KubeObject>(request: AdmissionRequest, kind: Kind<T>): T {
    return decoder.decodeRaw(request.object, kind);
  },

  /** Returns the stored object of an update or a deletion. @throws {AgentError} as {@link decoder.decode} does */
  decodeOld<T extends KubeObject>(request: AdmissionRequest, kind: Kind<T>): T {
    return decoder.decodeRaw(request.oldObject, kind);
  },

  /** Returns a copy of an object. @throws {AgentError} as {@link decoder.decode} does */
  decodeRaw<T extends KubeObject>(object: KubeObject | undefined, kind: Kind<T>): T {
    return cloneJson(checkedObject(object, kind));
  },
};

/** Returns an object itself. @throws {AgentError} as {@link decoder.decode} does */
export function checkedObject<T extends KubeObject>(object: KubeObject | undefined, kind: Kind<T>): T {
  if (object === undefined || (object as unknown) === null)
    throw new AgentError('invalid_argument', 'there is no content to decode');
  const apiVersion = apiVersionOf(kind);
  if (object.apiVersion !== apiVersion || object.kind !== kind.kind)
    throw new AgentError(
      'invalid_argument',
      `unable to decode ${object.apiVersion ?? ''}, Kind=${object.kind ?? ''} into ${apiVersion}, Kind=${kind.kind}`,
    );
  return object as T;
}
