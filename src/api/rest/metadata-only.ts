import type { KubeObject } from '../../kube/types.ts';
import type { Resource } from '../resources.ts';

/** Returns the media type of metadata, as a server of any version has it. */
export const metadataOf = (as: 'PartialObjectMetadata' | 'PartialObjectMetadataList'): string =>
  `application/json;as=${as};g=meta.k8s.io;v=v1,application/json`;

/** Returns the metadata of an object under its own kind; a server without this representation sends the whole object. */
export function asKind<T extends KubeObject>(object: T, { group, version, kind }: Resource): T {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return { apiVersion, kind, metadata: object.metadata } as T;
}
