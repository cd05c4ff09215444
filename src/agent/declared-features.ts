import { ownMember } from '../base/own.ts';
/** What of the features that nodes declare is really there. */
export interface DeclarableParts {
  /** The kubelet API takes exec, attach and port-forward over WebSockets. */
  readonly webSockets: boolean;
  /** Pods have containers here that the agent starts itself. */
  readonly containers: boolean;
  /** The runtime changes the resources of what runs. */
  readonly resizes: boolean;
}

/** The gate of each feature has its name; all are on by default. */
const partOf: Readonly<Record<string, keyof DeclarableParts>> = {
  ExtendWebSocketsToKubelet: 'webSockets',
  InPlacePodLevelResourcesVerticalScaling: 'resizes',
  InPlacePodVerticalScalingInitContainers: 'resizes',
  RestartAllContainersOnContainerExits: 'containers',
};

/**
 * What a node's `status.declaredFeatures` names: the scheduler and the API server count on it.
 *
 * Follows kubelet `discoverNodeDeclaredFeatures`, `nodedeclaredfeatures`.
 *
 * @param gates what the settings say of feature gates
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
