import type { Container, Pod, Volume } from './types.ts';

/** Every container of a pod: init, regular and ephemeral ones. */
export const allContainersOf = (pod: Pod): readonly Container[] => [
  ...(pod.spec?.initContainers ?? []),
  ...(pod.spec?.containers ?? []),
  ...((pod.spec?.ephemeralContainers ?? []) as readonly Container[]),
];

type Source = 'configMap' | 'secret';

function namesInContainer(container: Container, source: Source): readonly (string | undefined)[] {
  const fromEnv = (container.envFrom ?? []).map(
    (entry) => (source === 'secret' ? entry.secretRef : entry.configMapRef)?.name,
  );
  const values = (container.env ?? []).map(
    ({ valueFrom }) => (source === 'secret' ? valueFrom?.secretKeyRef : valueFrom?.configMapKeyRef)?.name,
  );
  return [...fromEnv, ...values];
}

function namesInVolume(volume: Volume, source: Source): readonly (string | undefined)[] {
  const projected = (volume.projected?.sources ?? []).map((part) => part[source]?.name);
  return [source === 'secret' ? volume.secret?.secretName : volume.configMap?.name, ...projected];
}

function namesOf(pod: Pod, source: Source): ReadonlySet<string> {
  const names = [
    ...allContainersOf(pod).flatMap((container) => namesInContainer(container, source)),
    ...(pod.spec?.volumes ?? []).flatMap((volume) => namesInVolume(volume, source)),
    ...(source === 'secret' ? (pod.spec?.imagePullSecrets ?? []).map(({ name }) => name) : []),
  ];
  return new Set(names.filter((name): name is string => name !== undefined && name !== ''));
}

/** Names of the config maps that a pod refers to, in its own namespace. Follows `podutil.VisitPodConfigmapNames`. */
export const referencedConfigMaps = (pod: Pod): ReadonlySet<string> => namesOf(pod, 'configMap');

/** Names of the secrets that a pod refers to, in its own namespace. Follows `podutil.VisitPodSecretNames`. */
export const referencedSecrets = (pod: Pod): ReadonlySet<string> => namesOf(pod, 'secret');
