import { ownMember, tableOf } from '../../base/own.ts';
/** A gate by its default in Kubernetes 1.36; a `locked` one cannot be changed, one with a `stage` goes with all of that stage. */
interface Gate {
  readonly on: boolean;
  readonly locked?: true;
  readonly stage?: 'Alpha' | 'Beta';
}

/** Gates that decide what settings are allowed, and what the agent does. */
const known: Readonly<Record<string, Gate>> = tableOf({
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

/** Gates that need another one. */
const needs: Readonly<Record<string, string>> = {
  ClusterTrustBundleProjection: 'ClusterTrustBundle',
  GracefulNodeShutdownBasedOnPodPriority: 'GracefulNodeShutdown',
};

/** Whether a gate is on: as set, else as all gates of its stage are set (`AllAlpha`, `AllBeta`), else by its default. */
export function isGateOn(gate: string, set: Readonly<Record<string, boolean>> = {}): boolean {
  const { on = false, stage } = known[gate] ?? {};
  return ownMember(set, gate) ?? (stage && set[`All${stage}`]) ?? on;
}

/** Whether setting a gate changes anything here; `AllAlpha` and `AllBeta` set those that do. */
export const isHonoured = (gate: string): boolean =>
  Object.hasOwn(known, gate) || /^All(Alpha|Beta)$/.test(gate);

/** The gates that are honoured, as they are in force. */
export const gatesInForce = (
  set: Readonly<Record<string, boolean>> = {},
): Readonly<Record<string, boolean>> =>
  Object.fromEntries(Object.keys(known).map((gate) => [gate, isGateOn(gate, set)]));

/** What is wrong with a set of gates: a locked one changed, or one on without the gate that it needs. */
export function gateFaults(set: Readonly<Record<string, boolean>> = {}): { gate: string; message: string }[] {
  const locked = Object.entries(set).flatMap(([gate, on]) => {
    const rule = known[gate];
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
