import type { RuntimeCondition, StatusResponse, VersionResponse } from '../../provider/cri-messages.ts';
import type { RuntimeHealth } from '../../provider/powers.ts';

/** Formats a condition as the kubelet does: `NetworkReady=false reason:… message:…`. */
const conditionText = (condition: RuntimeCondition | undefined): string => {
  if (condition === undefined) return '<nil>';
  const { type = '', status = false, reason = '', message = '' } = condition;
  return `${type}=${String(status)} reason:${reason} message:${message}`;
};

/**
 * Converts the runtime's status to the runtime health; a missing condition counts as not met (R36, R143).
 * Follows kubelet `updateRuntimeUp`.
 */
export function runtimeHealthOf({ status }: StatusResponse): RuntimeHealth {
  const unmet = (conditionType: string, words: string): string | undefined => {
    const condition = status?.conditions?.find(({ type }) => type === conditionType);
    return condition?.status === true ? undefined : `container runtime ${words}: ${conditionText(condition)}`;
  };
  const runtimeError = unmet('RuntimeReady', 'not ready');
  const networkError = unmet('NetworkReady', 'network not ready');
  return {
    ...(runtimeError !== undefined && { runtimeError }),
    ...(networkError !== undefined && { networkError }),
  };
}

/** Formats the runtime version of the node status, such as `containerd://1.6.20` (kubelet `nodestatus.VersionInfo`). */
export const runtimeVersionText = ({ runtimeName = '', runtimeVersion = '' }: VersionResponse): string =>
  `${runtimeName}://${runtimeVersion}`;
