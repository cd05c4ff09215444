import { type JsonObject, objectAt, objectsAt, stringAt } from './json.ts';

const oldNodeLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region':
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone':
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type':
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
};

const containersOf = (spec: JsonObject): readonly (readonly [field: string, container: JsonObject])[] =>
  ['initContainers', 'containers'].flatMap((key) =>
    objectsAt(spec, key).map((container, i) => [`spec.${key}[${i}]`, container] as const),
  );

function annotations(pod: JsonObject): string[] {
  const given = objectAt(objectAt(pod, 'metadata'), 'annotations');
  return Object.keys(given)
    .sort()
    .filter((key) => key.startsWith('container.apparmor.security.beta.kubernetes.io/'))
    .map(
      (key) =>
        `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
    );
}

const nodeSelector = (spec: JsonObject): string[] =>
  Object.keys(objectAt(spec, 'nodeSelector'))
    .sort()
    .filter((key) => key in oldNodeLabels)
    .map((key) => `spec.nodeSelector[${key}]: ${oldNodeLabels[key] ?? ''}`);

function pullSecrets(spec: JsonObject): string[] {
  const names = objectsAt(spec, 'imagePullSecrets').map((secret) => stringAt(secret, 'name'));
  return names.flatMap((name, i) => {
    const field = `spec.imagePullSecrets[${i}].name`;
    if (name === '') return [`${field}: invalid empty name ""`];
    return names.indexOf(name) < i ? [`${field}: duplicate name "${name}"`] : [];
  });
}

const emptyProjections = (spec: JsonObject): string[] =>
  objectsAt(spec, 'volumes')
    .filter((volume) => 'projected' in volume)
    .filter((volume) =>
      // a source that names nothing is none
      objectsAt(objectAt(volume, 'projected'), 'sources').every((source) => Object.keys(source).length === 0),
    )
    .map((volume) => `volume "${stringAt(volume, 'name')}" (Projected) has no sources provided`);

const hiddenVariables = ([field, container]: readonly [string, JsonObject]): string[] => {
  const names = objectsAt(container, 'env').map((variable) => stringAt(variable, 'name'));
  return names.flatMap((name, i) =>
    name !== '' && names.indexOf(name) < i
      ? [`${field}.env[${i}]: hides previous definition of "${name}", which may be dropped when using apply`]
      : [],
  );
};

const portKey = (port: JsonObject): string =>
  ['protocol', 'containerPort', 'hostPort', 'hostIP'].map((key) => JSON.stringify(port[key])).join();

function duplicatePorts([field, container]: readonly [string, JsonObject]): string[] {
  const keys = objectsAt(container, 'ports').map(portKey);
  return keys.flatMap((key, i) => {
    const first = keys.indexOf(key);
    return first < i ? [`${field}.ports[${i}]: duplicate port definition with ${field}.ports[${first}]`] : [];
  });
}

/**
 * What a pod says that is allowed, and yet is old or likely a mistake; in the words of the API server's warnings.
 *
 * Follows Kubernetes `GetWarningsForPod` (pkg/api/pod, v1.36) for the fields that old manifests use.
 */
export function podWarnings(pod: JsonObject): readonly string[] {
  const spec = objectAt(pod, 'spec');
  const containers = containersOf(spec);
  return [
    ...nodeSelector(spec),
    ...annotations(pod),
    ...pullSecrets(spec),
    ...emptyProjections(spec),
    ...containers.flatMap(hiddenVariables),
    ...containers.flatMap(duplicatePorts),
  ];
}
