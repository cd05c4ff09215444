import type { RuntimeCondition, StatusResponse, VersionResponse } from '../../provider/cri-messages.ts';
import type { RuntimeHealth } from '../../provider/powers.ts';

/** `NetworkReady=false reason:… message:…`, as the kubelet prints a condition. */
const conditionText = (condition: RuntimeCondition | undefined): string => {
  if (condition === undefined) return '<nil>';
  const { type = '', status = false, reason = '', message = '' } = condition;
  return `${type}=${String(status)} reason:${reason} message:${message}`;
};

/**
 * What the runtime's status says about pods: a condition that is missing counts as not met (R36, R143).
 * Follows kubelet `updateRuntimeUp`.
 */
export function runtimeHealthOf({ status }: StatusResponse): RuntimeHealth {
  const unmet = (wanted: string, words: string): string | undefined => {
    const condition = status?.conditions?.find(({ type }) => type === wanted);
    return condition?.status === true ? undefined : `container runtime ${words}: ${conditionText(condition)}`;
  };
  const runtimeError = unmet('RuntimeReady', 'not ready');
  const networkError = unmet('NetworkReady', 'network not ready');
  return {
    ...(runtimeError !== undefined && { runtimeError }),
    ...(networkError !== undefined && { networkError }),
  };
}

/** `containerd://1.6.20`, as a node's `containerRuntimeVersion` tells it (kubelet `nodestatus.VersionInfo`). */
export const runtimeVersionText = ({ runtimeName = '', runtimeVersion = '' }: VersionResponse): string =>
  `${runtimeName}://${runtimeVersion}`;
