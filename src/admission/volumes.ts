import { usedVolumes } from '../kube/references.ts';
import type { Pod } from '../kube/types.ts';
import { admitted, type AdmitResult, refused } from './admit-result.ts';

/** Volumes that need a CSI driver are refused by name: this agent speaks to none, and such a pod would wait for ever. */
export function admitVolumes(pod: Pod): AdmitResult {
  const needs = usedVolumes(pod).flatMap(({ name, csi }) =>
    csi ? [`volume "${name}" needs the CSI driver "${csi.driver}"`] : [],
  );
  if (needs.length === 0) return admitted;
  return refused('UnsupportedVolume', `${needs.join(', ')}; CSI volumes are not supported on this node.`);
}
