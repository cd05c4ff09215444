import { type JsonObject, objectAt, objectsAt, stringAt, withSpec } from '../../apimachinery/json.ts';
import { type AdmissionPlugin, isResource } from './plugin.ts';

const tolerated = (pod: JsonObject, key: string): boolean =>
  objectsAt(objectAt(pod, 'spec'), 'tolerations').some(
    (toleration) =>
      ['', key].includes(stringAt(toleration, 'key')) &&
      (!stringAt(toleration, 'effect') || toleration['effect'] === 'NoExecute'),
  );

function withTolerations(pod: JsonObject): JsonObject {
  const missing = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].filter(
    (key) => !tolerated(pod, key),
  );
  if (missing.length === 0) return pod;
  const added = missing.map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  }));
  return withSpec(pod, { tolerations: [...objectsAt(objectAt(pod, 'spec'), 'tolerations'), ...added] });
}

/** Adds tolerations for 300 s of not-ready and unreachable nodes to pods that have none. */
export const defaultTolerationSeconds: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  handles: (operation, kind, subresource) =>
    (operation === 'CREATE' || operation === 'UPDATE') && isResource(kind, 'pods') && subresource === '',
  admit: ({ object }) => object && withTolerations(object),
};
