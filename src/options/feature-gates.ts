/** Gates that decide what settings are allowed, with their defaults in Kubernetes 1.36; `locked` ones cannot be changed. */
const known: Readonly<Record<string, { readonly on: boolean; readonly locked?: true }>> = {
  ClusterTrustBundle: { on: false },
  ClusterTrustBundleProjection: { on: false },
  CustomCPUCFSQuotaPeriod: { on: true },
  GracefulNodeShutdown: { on: true },
  GracefulNodeShutdownBasedOnPodPriority: { on: true },
  KubeletCrashLoopBackOffMax: { on: true },
  KubeletEnsureSecretPulledImages: { on: true },
  KubeletTracing: { on: true, locked: true },
  MemoryQoS: { on: false },
  NodeLogQuery: { on: true, locked: true },
  NodeSwap: { on: true, locked: true },
  RotateKubeletServerCertificate: { on: true },
  UserNamespacesSupport: { on: true, locked: true },
};

/** Gates that need another one. */
const needs: Readonly<Record<string, string>> = {
  ClusterTrustBundleProjection: 'ClusterTrustBundle',
  GracefulNodeShutdownBasedOnPodPriority: 'GracefulNodeShutdown',
};

/** Whether a gate is on, by its default and what the settings say; a gate that is not known is off unless set. */
export function isGateOn(gate: string, set: Readonly<Record<string, boolean>> = {}): boolean {
  return set[gate] ?? known[gate]?.on ?? false;
}

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
