import { namespaceOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { ProviderAdmission } from '../../provider/powers.ts';
import { resolvedVolumes, volumeKind } from './carried.ts';
import { backingNamespace } from './ownership.ts';
import { unmapped } from './placer.ts';
import type { KubernetesSettings } from './settings.ts';

/** The `status.reason` of a pod that asks for something of this node's cluster that cannot be carried along. */
export const unsupportedReason = 'UnsupportedByBackingCluster';

const defaultPassed: readonly string[] = ['emptyDir', 'image', 'nfs'];

/** Refuses pods of namespaces that are not mapped, and pods with volumes or devices that exist in this node's cluster only. */
export function admitBackingPod(pod: Pod, settings: KubernetesSettings): ProviderAdmission {
  if (backingNamespace(settings, namespaceOf(pod)) === undefined)
    return { admit: false, reason: 'NamespaceNotMapped', message: unmapped(namespaceOf(pod)) };
  const passed = new Set<string>([...resolvedVolumes, ...(settings.passedVolumes ?? defaultPassed)]);
  const faults = [
    ...(pod.spec?.volumes ?? [])
      .filter((volume) => !passed.has(volumeKind(volume)))
      .map(
        (volume) =>
          `volume "${volume.name}" of kind ${volumeKind(volume)} is of this node's cluster: use one of ${[...passed].join(', ')}, or add the kind to passedVolumes`,
      ),
    ...((pod.spec?.resourceClaims ?? []).length > 0
      ? ["spec.resourceClaims: devices are claimed in this node's cluster, and the pod runs in another"]
      : []),
  ];
  return faults.length > 0
    ? { admit: false, reason: unsupportedReason, message: faults.join('; ') }
    : { admit: true };
}
