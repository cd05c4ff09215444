import type { Container, Pod, Volume } from './types.ts';

/** Returns every container of a pod: init, regular and ephemeral ones. */
export const allContainersOf = (pod: Pod): readonly Container[] => [
  ...(pod.spec?.initContainers ?? []),
  ...(pod.spec?.containers ?? []),
  ...((pod.spec?.ephemeralContainers ?? []) as readonly Container[]),
];

/**
 * Returns the volumes that a container mounts or uses as a device; the others are not set up. Follows `util.GetPodVolumeNames`
 * (pkg/volume).
 */
export function usedVolumes(pod: Pod): readonly Volume[] {
  const volumes = pod.spec?.volumes ?? [];
  if (volumes.length === 0) return volumes;
  const used = new Set<string>();
  for (const { volumeMounts = [], volumeDevices = [] } of allContainersOf(pod))
    for (const { name } of [...volumeMounts, ...volumeDevices]) used.add(name);
  return volumes.filter(({ name }) => used.has(name));
}

/**
 * Returns the claim of a volume: the one that it names, or for a generic ephemeral volume the one created for this pod
 * (`ephemeral.VolumeClaimName`). `undefined` for other volumes.
 */
export const claimNameOf = (
  podName: string,
  { name, persistentVolumeClaim, ephemeral }: Volume,
): string | undefined => persistentVolumeClaim?.claimName ?? (ephemeral && `${podName}-${name}`);

type Source = 'configMap' | 'secret';

const none: ReadonlySet<string> = new Set();

/** Returns the names of one kind that a pod refers to. It is called in each sync of each pod, so it avoids allocations. */
function namesOf({ spec }: Pod, source: Source): ReadonlySet<string> {
  if (!spec) return none;
  let names: Set<string> | undefined;
  const add = (name: string | undefined): void => {
    if (name !== undefined && name !== '') (names ??= new Set()).add(name);
  };
  const {
    initContainers = [],
    containers,
    ephemeralContainers = [],
    volumes = [],
    imagePullSecrets = [],
  } = spec;
  for (const list of [initContainers, containers, ephemeralContainers])
    for (const container of list) addNamesInContainer(container, source, add);
  for (const volume of volumes) addNamesInVolume(volume, source, add);
  if (source === 'secret') for (const { name } of imagePullSecrets) add(name);
  return names ?? none;
}

type Add = (name: string | undefined) => void;

function addNamesInContainer({ env, envFrom }: Container, source: Source, add: Add): void {
  for (const entry of envFrom ?? []) add((source === 'secret' ? entry.secretRef : entry.configMapRef)?.name);
  for (const { valueFrom } of env ?? [])
    add((source === 'secret' ? valueFrom?.secretKeyRef : valueFrom?.configMapKeyRef)?.name);
}

function addNamesInVolume(volume: Volume, source: Source, add: Add): void {
  if (source === 'secret') addSecretOfVolume(volume, add);
  else add(volume.configMap?.name);
  for (const part of volume.projected?.sources ?? []) add(part[source]?.name);
}

/** Volume sources that may refer to a secret. */
const secretSources = ['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'] as const;

function addSecretOfVolume(volume: Volume, add: Add): void {
  add(volume.secret?.secretName);
  add(volume.azureFile?.secretName);
  add(volume.csi?.nodePublishSecretRef?.name);
  for (const source of secretSources) add(volume[source]?.secretRef?.name);
}

/** Returns the names of the config maps that a pod refers to, in its namespace. Follows `podutil.VisitPodConfigmapNames`. */
export const referencedConfigMaps = (pod: Pod): ReadonlySet<string> => namesOf(pod, 'configMap');

/** Returns the names of the secrets that a pod refers to, in its namespace. Follows `podutil.VisitPodSecretNames`. */
export const referencedSecrets = (pod: Pod): ReadonlySet<string> => namesOf(pod, 'secret');
