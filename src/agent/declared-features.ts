import { ownMember } from '../base/own.ts';
/** The components on which the declarable features depend. */
export interface DeclarableParts {
  /** True when the kubelet API serves exec, attach and port-forward over WebSockets. */
  readonly webSockets: boolean;
  /** True when the agent itself starts the containers of pods. */
  readonly containers: boolean;
  /** True when the runtime supports in-place resizes. */
  readonly resizes: boolean;
}

/** The component that each feature needs. The feature gate has the feature's name; all are on by default. */
const partOf: Readonly<Record<string, keyof DeclarableParts>> = {
  ExtendWebSocketsToKubelet: 'webSockets',
  InPlacePodLevelResourcesVerticalScaling: 'resizes',
  InPlacePodVerticalScalingInitContainers: 'resizes',
  RestartAllContainersOnContainerExits: 'containers',
};

/**
 * Computes a node's `status.declaredFeatures`, on which the scheduler and the API server rely.
 *
 * Follows kubelet `discoverNodeDeclaredFeatures`, `nodedeclaredfeatures`.
 *
 * @param gates the feature gates in the settings
 */
export function declaredFeatures(
  parts: DeclarableParts,
  gates: Readonly<Record<string, boolean>> = {},
): readonly string[] {
  if (gates['NodeDeclaredFeatures'] === false) return [];
  return Object.entries(partOf)
    .filter(([name, part]) => parts[part] && ownMember(gates, name) !== false)
    .map(([name]) => name);
}
