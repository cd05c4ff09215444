import { ownMember, tableOf } from '../../base/own.ts';
/**
 * A feature gate and its default in Kubernetes 1.36. A `locked` gate cannot be changed; a gate with a `stage` is also set by that stage's
 * gate.
 */
interface Gate {
  readonly on: boolean;
  readonly locked?: true;
  readonly stage?: 'Alpha' | 'Beta';
}

/** The feature gates that affect validation or the agent. */
const gates: Readonly<Record<string, Gate>> = tableOf({
  ClusterTrustBundle: { on: false, stage: 'Beta' },
  ClusterTrustBundleProjection: { on: false, stage: 'Beta' },
  ContainerCheckpoint: { on: true, stage: 'Beta' },
  ContainerStopSignals: { on: false, stage: 'Alpha' },
  CustomCPUCFSQuotaPeriod: { on: true },
  ExtendWebSocketsToKubelet: { on: true, stage: 'Beta' },
  GracefulNodeShutdown: { on: true, stage: 'Beta' },
  GracefulNodeShutdownBasedOnPodPriority: { on: true, stage: 'Beta' },
  InPlacePodLevelResourcesVerticalScaling: { on: true, stage: 'Beta' },
  InPlacePodVerticalScalingInitContainers: { on: true, stage: 'Beta' },
  KubeletCrashLoopBackOffMax: { on: true, stage: 'Beta' },
  KubeletEnsureSecretPulledImages: { on: true, stage: 'Beta' },
  KubeletTracing: { on: true, locked: true },
  MemoryQoS: { on: false, stage: 'Alpha' },
  NodeDeclaredFeatures: { on: true, stage: 'Beta' },
  NodeLogQuery: { on: true, locked: true },
  NodeSwap: { on: true, locked: true },
  PodLogsQuerySplitStreams: { on: false, stage: 'Alpha' },
  ReduceDefaultCrashLoopBackOffDecay: { on: false, stage: 'Alpha' },
  ReloadKubeletClientCAFile: { on: true, stage: 'Beta' },
  RestartAllContainersOnContainerExits: { on: true, stage: 'Beta' },
  RotateKubeletServerCertificate: { on: true, stage: 'Beta' },
  UserNamespacesSupport: { on: true, locked: true },
});

/** Gates that require another one. */
const needs: Readonly<Record<string, string>> = {
  ClusterTrustBundleProjection: 'ClusterTrustBundle',
  GracefulNodeShutdownBasedOnPodPriority: 'GracefulNodeShutdown',
};

/** Reports whether a gate is on: as set, otherwise as its stage is set (`AllAlpha`, `AllBeta`), otherwise by default. */
export function isGateOn(gate: string, set: Readonly<Record<string, boolean>> = {}): boolean {
  const { on = false, stage } = gates[gate] ?? {};
  return ownMember(set, gate) ?? (stage && set[`All${stage}`]) ?? on;
}

/** Reports whether a gate has an effect here; `AllAlpha` and `AllBeta` set those that do. */
export const isHonoured = (gate: string): boolean =>
  Object.hasOwn(gates, gate) || /^All(Alpha|Beta)$/.test(gate);

/** Returns the effective value of every gate that has an effect. */
export const gatesInForce = (
  set: Readonly<Record<string, boolean>> = {},
): Readonly<Record<string, boolean>> =>
  Object.fromEntries(Object.keys(gates).map((gate) => [gate, isGateOn(gate, set)]));

/** Returns the faults of a set of gates: a locked gate that is changed, or a gate without the one that it requires. */
export function gateFaults(set: Readonly<Record<string, boolean>> = {}): { gate: string; message: string }[] {
  const locked = Object.entries(set).flatMap(([gate, on]) => {
    const rule = gates[gate];
    if (!rule?.locked || rule.on === on) return [];
    return [{ gate, message: `cannot set feature gate ${gate} to ${on}, feature is locked to ${rule.on}` }];
  });
  const missing = Object.entries(needs).flatMap(([gate, need]) =>
    isGateOn(gate, set) && !isGateOn(need, set)
      ? [{ gate: need, message: `feature gate ${gate} is on and needs ${need}: turn both off, or neither` }]
      : [],
  );
  return [...locked, ...missing];
}
